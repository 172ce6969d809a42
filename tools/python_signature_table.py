"""The table of signatures of the functions and classes that torch writes in Python: its maker.

`python tools/python_signature_table.py` writes `conformance/signatures/python.txt` from the torch
that is installed, with the calls that are there; `--check` only prints the lines that would change.

A line is a signature as `inspect.signature` shows it, a call that torch accepts, and what follows
the call in a program (a module is applied, an optimiser's defaults are read), separated by tabs. A
default that has no source is written `...`. The functions that torch chooses by a flag
(`boolean_dispatch`) have the signature of those chosen. A new function is entered with an empty
call, and has no program until a call stands there.
"""

from __future__ import annotations

import argparse
import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

CALLED = Path(__file__).parent.parent / "conformance/signatures/python.txt"

F = torch.nn.functional
SCHEDULERS = torch.optim.lr_scheduler

EXCLUDED = {
    "nn.functional.assert_int_or_pair": "for the JIT",
    "nn.functional.boolean_dispatch": "for the JIT",
    "nn.functional.grouped_mm": "of CUDA",
    "nn.functional.scaled_grouped_mm": "of CUDA",
    "nn.functional.scaled_addmm": "of CUDA",
    "nn.functional.scaled_addmm_": "of CUDA",
    "nn.functional.scaled_mm": "of CUDA",
    "nn.functional.handle_torch_function": "of subclasses of tensors",
    "nn.functional.linear_cross_entropy": "in beta",
    "nn.LinearCrossEntropyLoss": "in beta",
    "nn.Container": "a name of old versions",
    "nn.NLLLoss2d": "a name of old versions",
    "nn.SyncBatchNorm": "of CUDA",
    "nn.utils.convert_conv2d_weight_memory_format": "of CUDA",
    "nn.utils.convert_conv3d_weight_memory_format": "of CUDA",
}


def main() -> None:
    """Write the table, or with `--check` print the lines that would change."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, print the differences")
    lines = signature_lines()
    present = CALLED.read_text().splitlines()
    signatures = [line.partition("\t")[0] for line in present]
    if parser.parse_args().check:
        print(*(f"- {line}" for line in signatures if line not in lines), sep="\n")
        print(*(f"+ {line}" for line in lines if line not in signatures), sep="\n")
        return
    calls = {line.partition("(")[0]: line.partition("\t")[2] for line in present}
    CALLED.write_text(
        "".join(f"{line}\t{calls.get(line.partition('(')[0], '')}\n" for line in lines)
    )


def signature_lines() -> list[str]:
    """The lines of the table without their calls."""
    return [
        f"{name}{shown(function)}"
        for name, function in sorted(functions())
        if name.removesuffix(".forward") not in EXCLUDED
    ]


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The names, without `torch`, and the functions, classes and methods `forward`."""
    yield from of_module("", torch.functional, torch.functional.__all__)
    yield from of_module("nn.functional.", F, dir(F))
    yield from of_module("nn.init.", torch.nn.init, dir(torch.nn.init))
    yield from of_module("nn.utils.", torch.nn.utils, dir(torch.nn.utils))
    yield from of_module("autograd.", torch.autograd, ("backward", "grad"))
    differentiation = ("hessian", "hvp", "jacobian", "jvp", "vhp", "vjp")
    yield from of_module("autograd.functional.", torch.autograd.functional, differentiation)
    for prefix, owner, base in (
        ("nn.", torch.nn, torch.nn.Module),
        ("optim.", torch.optim, torch.optim.Optimizer),
        ("optim.lr_scheduler.", SCHEDULERS, SCHEDULERS.LRScheduler),
    ):
        for name in (name for name in dir(owner) if not name.startswith("_")):
            found = getattr(owner, name)
            if inspect.isclass(found) and issubclass(found, base) and found is not base:
                yield f"{prefix}{name}", found
                forward = getattr(found, "forward", None)
                if inspect.isfunction(forward) and "unimplemented" not in forward.__name__:
                    yield f"{prefix}{name}.forward", forward


def of_module(prefix: str, owner: Any, names: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of a module that are written in Python."""
    for name in names:
        found = getattr(owner, name)
        if inspect.isfunction(found) and not name.startswith("_"):
            yield f"{prefix}{name}", found


def shown(function: Callable[..., Any]) -> str:
    """The signature of a function in the table: names, order and defaults, without types."""
    while inspect.isfunction(function):
        chosen = inspect.getclosurevars(function).nonlocals.get("if_false")
        if chosen is None:
            break
        function = chosen
    parts, keyword = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            keyword = True
            parts.append("*")
        keyword = keyword or parameter.kind is parameter.VAR_POSITIONAL
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={source(parameter.default)}"
        parts.append(f"{star}{parameter.name}{default}")
    return f"({', '.join(parts)})"


def source(default: object) -> str:
    """The source of a default, `...` where it has none."""
    if isinstance(default, float) and not math.isfinite(default):
        return f'float("{default}")'
    if isinstance(default, bool | int | float | str | tuple | list | dict | type(None)):
        return repr(default)
    return "..."


if __name__ == "__main__":
    main()
