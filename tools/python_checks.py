"""The table of the C++ functions that `torch.nn.functional` hands its arguments to: its maker.

`python tools/python_checks.py > impl/arg_parser/functional.txt` writes it from the source of the
torch that is installed. A line has the function in Python, the signature of the last function with
a parser that it calls, and for each parameter of that the parameter of the Python function that is
handed on, or `-`. A parameter that the Python function uses in another way before is `-` too: its
own code refuses it first.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator

import torch
from signature_table import texts

F = torch.nn.functional
USED_ON_CUDA_ONLY = {"pad": {"input", "pad", "mode"}}
"""Parameters that the Python function uses itself, but only for tensors on CUDA."""
_CALLED = re.compile(r"(torch|torch\._C\._nn|_VF)\.(\w+)")


def main() -> None:
    """Write the table to standard output."""
    print(*lines(), sep="\n")


def lines() -> Iterator[str]:
    """Yield the lines of the table, by name."""
    written = texts()
    for name in sorted(dir(F)):
        function = getattr(F, name)
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        while (chosen := inspect.getclosurevars(function).nonlocals.get("if_false")) is not None:
            function = chosen
        checked = handed_on(function, written)
        excluded = "_mm" in name  # of CUDA
        if checked is not None and not excluded and set(checked[1]) != {"-"}:
            yield f"{name}\t{checked[0]}\t{', '.join(checked[1])}"


def handed_on(function, written: dict[str, list[str]]) -> tuple[str, list[str]] | None:
    """The signature that reads a function's arguments last, and the parameters handed to it."""
    body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    own = set(inspect.signature(function).parameters)
    calls = [
        node for node in ast.walk(body) if isinstance(node, ast.Call) and parsed(node, written)
    ]
    if not calls:
        return None
    last = max(calls, key=lambda call: (call.lineno, call.col_offset))
    base = _CALLED.fullmatch(ast.unparse(last.func))
    assert base is not None
    found = [t for t in written[base[2]] if "deprecated" not in t and "Tensor" in t]
    found = [t for t in found if re.match(r"\(Tensor(\|Number)? ", t)]
    if len(found) != 1:
        return None
    plain = {id(argument) for call in calls for argument in given(call)}
    guards = {id(n) for node in ast.walk(body) if guard(node) for n in ast.walk(node)}
    loads = [
        node
        for node in ast.walk(body)
        if isinstance(node, ast.Name) and id(node) not in plain | guards
    ]
    used = {node.id for node in loads if isinstance(node.ctx, ast.Load | ast.Store)}
    used -= USED_ON_CUDA_ONLY.get(function.__name__, set())
    names = re.findall(r"(\w+)(?:=[^,)]*)?(?:,|\)$)", found[0])
    by_name = {k.arg: k.value for k in last.keywords}
    handed = []
    for place, name in enumerate(names):
        value = last.args[place] if place < len(last.args) else by_name.get(name)
        own_name = value.id if isinstance(value, ast.Name) else "-"
        handed.append(own_name if own_name in own - used else "-")
    return f"{base[2]}{found[0]}", handed


def parsed(call: ast.Call, written: dict[str, list[str]]) -> bool:
    """Whether a call is that of a function with a parser."""
    match = _CALLED.fullmatch(ast.unparse(call.func))
    return match is not None and match[2] in written


def given(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def guard(node: ast.AST) -> bool:
    """Whether a statement hands the call to a subclass of tensors, and does nothing else."""
    return isinstance(node, ast.If) and "has_torch_function" in ast.unparse(node.test)


if __name__ == "__main__":
    main()
