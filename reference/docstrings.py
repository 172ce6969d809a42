"""The examples in torch's own docstrings, as programs: `python -m reference.docstrings FILE`.

They are read from the installed torch when they are run, and kept nowhere. The file that the
command writes has their numbers, by name, and the reason for each that is left out.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import doctest
import inspect
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.func

from conformance.execution.execute import ALLOWED, quiet
from conformance.program.program import Program
from conformance.suite.docstrings import AREA, PREFIX

SPACES = (
    "torch",
    "torch.Tensor",
    "torch.nn",
    "torch.nn.functional",
    "torch.autograd",
    "torch.autograd.forward_ad",
    "torch.autograd.functional",
    "torch.autograd.graph",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.optim",
    "torch.func",
)

# A trace has every element of every tensor: larger ones are left out.
LARGE = 50_000

# Names that examples use without importing them, and the import of each.
_ASSUMED = {
    "F": "import torch.nn.functional as F",
    "Function": "from torch.autograd import Function",
    "Tensor": "from torch import Tensor",
    "Variable": "from torch.autograd import Variable",
    "autograd": "from torch import autograd",
    "fwAD": "import torch.autograd.forward_ad as fwAD",
    "itertools": "import itertools",
    "linalg": "from torch import linalg",
    "math": "import math",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "optim": "from torch import optim",
    "rfftn": "from torch.fft import rfftn",
    "rnn_utils": "import torch.nn.utils.rnn as rnn_utils",
    **{
        name: f"from torch.func import {name}"
        for name in ("functional_call", "grad", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap")
    },
}
# Statements that are left out, with the reason and a pattern of their source.
_NEEDS = {
    "it needs an accelerator": r"cuda|\bmps\b|\bxpu\b|device\(type|use_gpu",
    "it needs files or a network": r"torch\.(save|load|hub)\b|from_file|tofile|\bopen\(",
    "it needs several processes": r"distributed|DataParallel|multiprocessing",
}
# Calls whose result is memory that nothing was written to.
_UNWRITTEN = re.compile(
    r"empty(_like|_strided|_permuted)?\((?!0)(?!.*\)\.(uniform|normal|fill|zero|random|copy)_\()|new_empty|(Tensor|Storage)\(\d"
)


@dataclass(frozen=True)
class Example:
    """A number of lines of one docstring that run by themselves, or the reason why they do not."""

    name: str
    number: int
    source: str
    left_out: str | None

    @property
    def id(self) -> str:
        """Such as `doc/torch.amax/1`."""
        return f"{PREFIX}{self.name}/{self.number}"


def program(identifier: str) -> Program:
    """The example of that ID as a program. Raises LookupError where this torch has none."""
    name, _, number = identifier.removeprefix(PREFIX).rpartition("/")
    for example in _examples(name):
        if str(example.number) == number and example.left_out is None:
            sentence = f"{name}: example {number} of its docstring"
            return Program(identifier, AREA, example.source, sentence)
    raise LookupError(f"torch {torch.__version__} has no example {identifier}")


def every() -> Iterator[Example]:
    """Every example, by name; a docstring that several names share is that of the first one."""
    seen = set()
    for space in SPACES:
        owner = _value(space)
        for name in sorted(dir(owner)):
            text = _docstring(f"{space}.{name}")
            if not name.startswith("_") and text and text not in seen:
                seen.add(text)
                yield from _examples(f"{space}.{name}")


def _value(path: str) -> Any:
    found: Any = torch
    for part in path.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def _docstring(path: str) -> str | None:
    value = _value(path)
    text = None if inspect.ismodule(value) else getattr(value, "__doc__", None)
    return text if isinstance(text, str) and ">>>" in text else None


@cache
def _examples(path: str) -> tuple[Example, ...]:
    text = _docstring(path) or ""
    try:
        blocks = list(_blocks(text))
    except ValueError:
        return (Example(path, 1, "", "its lines are not indented alike"),)
    return tuple(
        Example(path, number, *_program_of(source, path.rpartition(".")[0]))
        for number, source in enumerate(blocks, 1)
    )


def _blocks(text: str) -> Iterator[str]:
    """The sources between paragraphs of prose; one that uses another's names is joined to it."""
    found: list[str] = [""]
    for part in doctest.DocTestParser().parse(text):
        if isinstance(part, doctest.Example):
            found[-1] += part.source
        elif part.strip() and found[-1]:
            found.append("")
    joined: list[str] = []
    for source in filter(None, found):
        if joined and (_free(source) & _bound(joined[-1]) or _parsed(source) is None):
            joined[-1] += source
        else:
            joined.append(source)
    yield from joined


def _program_of(source: str, space: str) -> tuple[str, str | None]:
    """The source with the imports that it assumes, and the reason why it is no program.

    Statements that cannot be run are left out, and so are those that read the names they bind. The
    values of memory that nothing was written to, and what follows from them, are unspecified.
    """
    tree = _parsed(source)
    if tree is None:
        return source, "it does not parse"
    free = _free(source)
    assumed = {name: _import(name, space) for name in free}
    lost = {name for name, line in assumed.items() if line is None}
    unwritten: set[str] = set()
    lines, reasons = [], []
    for node in tree.body:
        text = ast.unparse(node)
        bound, read = _bound(text), _read(text)
        reason = _reason(node, text, read & lost)
        if reason is not None:
            reasons.append(reason)
            lost |= bound
            continue
        lost -= bound
        if read & unwritten or _UNWRITTEN.search(text):
            unwritten |= bound
            text += "  # unspecified"
        else:
            unwritten -= bound
        lines.append(text)
    if not lines or all(line.startswith(("import ", "from ")) for line in lines):
        return source, reasons[0] if reasons else "it only imports"
    left = _read("\n".join(lines))
    head = sorted(line for name, line in assumed.items() if line is not None and name in left)
    return "\n".join([*head, *lines]) + "\n", None


def _import(name: str, space: str) -> str | None:
    """The import of a name that an example of a module of torch assumes."""
    if name in _ASSUMED:
        return _ASSUMED[name]
    public = inspect.ismodule(_value(space)) and hasattr(_value(space), name)
    return f"from {space} import {name}" if public else None


def _reason(node: ast.stmt, text: str, lost: set[str]) -> str | None:
    """Why a statement is left out, if it is."""
    for reason, pattern in _NEEDS.items():
        if re.search(pattern, text):
            return reason
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [alias.name for alias in node.names]
        for module in names if isinstance(node, ast.Import) else [node.module or ""]:
            if (root := module.partition(".")[0]) not in {*ALLOWED, "torch"}:
                return f"it imports {root}"
    return f"it does not define {', '.join(sorted(lost))}" if lost else None


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def _bound(source: str) -> set[str]:
    names = set()
    tree = _parsed(source)
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                names.add(node.id)
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.arg():
                names.add(node.arg)
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
    return names


def _read(source: str) -> set[str]:
    names = set()
    tree = _parsed(source)
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Name(ctx=ast.Load(), id=name) | ast.AugAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def _free(source: str) -> set[str]:
    """The names that a source reads and never binds."""
    return _read(source) - _bound(source) - set(dir(builtins)) - {"torch"}


def entries() -> dict[str, Any]:
    """The content of the suite's list: numbers by name, and reasons by ID."""
    examples: dict[str, list[int]] = {}
    left_out = {}
    for example in every():
        reason = example.left_out or _too_large(example)
        if reason is None:
            examples.setdefault(example.name, []).append(example.number)
        else:
            left_out[example.id] = reason
    version = torch.__version__.partition("+")[0]
    return {"torch": version, "examples": examples, "left_out": left_out}


def _too_large(example: Example) -> str | None:
    """The reason to leave out an example whose tensors would make a trace of megabytes."""
    names: dict[str, Any] = {"torch": torch}
    largest = 0
    state, dtype = torch.get_rng_state(), torch.get_default_dtype()
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for statement in ast.parse(example.source).body:
            if largest > LARGE:
                break  # the statements below it take long, and change nothing
            with suppress(Exception):
                exec(ast.unparse(statement), names)
            for value in names.values():
                if isinstance(value, torch.Tensor):
                    largest = max(largest, value.numel())
    torch.set_rng_state(state)
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(True)
    # use_deterministic_algorithms does the same, but imports the compiler: two seconds.
    torch.set_deterministic_debug_mode(0)
    return f"its tensors have more than {LARGE:,} elements" if largest > LARGE else None


def written(found: dict[str, Any]) -> str:
    """The list as text, one name per line."""

    def lines(table: dict[str, Any]) -> str:
        return ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items())

    return (
        f'{{"torch": {json.dumps(found["torch"])}, "examples": {{\n{lines(found["examples"])}\n}}, '
        f'"left_out": {{\n{lines(found["left_out"])}\n}}}}\n'
    )


def main() -> None:
    """Write the list of this torch's examples."""
    parser = argparse.ArgumentParser(prog="python -m reference.docstrings", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.parse_args().file.write_text(written(entries()), "utf-8")


if __name__ == "__main__":
    main()
