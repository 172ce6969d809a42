"""Checks and removal of the hooks that normalise a weight before each call."""

from __future__ import annotations

from typing import Any

from impl.nn.modules.module import Module
from impl.nn.parameter import is_lazy


def _numbers(module: Module, kind: type[Any], name: str) -> list[int]:
    """The numbers of the pre-hooks of a kind that normalise a parameter."""
    entries = module._forward_pre_hooks.items()
    return [n for n, e in entries if isinstance(e, kind) and e.name == name]


def refuse_second(module: Module, kind: type[Any], norm: str, name: str) -> None:
    """Raise RuntimeError if a hook of that kind normalises the parameter already."""
    if _numbers(module, kind, name):
        raise RuntimeError(f"Cannot register two {norm}_norm hooks on the same parameter {name}")


def refuse_lazy(weight, kind: type[Any], norm: str) -> None:
    """Raise ValueError for an uninitialized parameter."""
    if is_lazy(weight):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. "
            f"Make sure to run the dummy forward before applying {norm} normalization"
        )


def remove(module: Module, kind: type[Any], norm: str, name: str) -> Any:
    """Remove and return the hook that normalises the parameter; ValueError if there is none."""
    numbers = _numbers(module, kind, name)
    if not numbers:
        raise ValueError(f"{norm}_norm of '{name}' not found in {module}")
    hook = module._forward_pre_hooks.pop(numbers[0])
    hook.remove(module)
    return hook
