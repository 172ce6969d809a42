"""Programs about transforms, run on one library: the lines that they show, and their error."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pytest

import impl

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def lines(torch: Any, program: str) -> list[str]:
    """The values that a program passes to `show`, a line for each call, and its error."""
    found: list[str] = []
    names = {
        "torch": torch,
        "func": torch.func,
        "F": torch.nn.functional,
        "show": lambda *values: found.append(" ".join(shown(torch, value) for value in values)),
    }
    torch.default_generator.manual_seed(0)
    try:
        exec(textwrap.dedent(program), names)
    except Exception as error:
        found.append(f"{type(error).__name__}: {str(error)[:200]}")
    return found


def answers(program: str) -> tuple[list[str], list[str]]:
    """The lines a program shows on impl and on torch; without torch the test is skipped."""
    torch = pytest.importorskip("torch")
    return lines(impl, program), lines(torch, program)


def shown(torch: Any, value: Any) -> str:
    """A tensor with its shape, values, history and version; of others the text."""
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(shown(torch, entry) for entry in value) + "]"
    if not isinstance(value, torch.Tensor):
        return _ADDRESS.sub("", str(value))
    numbers = value.detach().clone().flatten().tolist()
    rounded = [round(x, 4) + 0.0 if isinstance(x, float) else x for x in numbers]
    node = "" if value.grad_fn is None else f" {type(value.grad_fn).__name__}"
    flag = " requires grad" if value.requires_grad else ""
    return f"{type(value).__name__} {[*value.shape]} {rounded}{flag}{node} {value._version}"
