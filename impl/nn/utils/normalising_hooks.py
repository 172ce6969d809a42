"""What the hooks that normalise a weight before each call have in common."""

from __future__ import annotations

from typing import Any

from impl.nn.modules.module import Module
from impl.nn.parameter import is_lazy


def refuse_second(module: Module, kind: type[Any], what: str, name: str) -> None:
    """Raise RuntimeError if a hook of that kind normalises the parameter already."""
    if any(isinstance(hook, kind) and hook.name == name for hook in module._hooks_before()):
        raise RuntimeError(f"Cannot register two {what}_norm hooks on the same parameter {name}")


def refuse_lazy(weight, kind: type[Any], what: str) -> None:
    """Raise ValueError for a parameter without values yet."""
    if is_lazy(weight):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. "
            f"Make sure to run the dummy forward before applying {what} normalization"
        )


def removed(module: Module, kind: type[Any], what: str, name: str) -> Any:
    """The hook that normalised the parameter, which is one again; ValueError if there is none."""
    hook = module._take_hook_before(lambda h: isinstance(h, kind) and h.name == name)
    if hook is None:
        raise ValueError(f"{what}_norm of '{name}' not found in {module}")
    hook.remove(module)
    return hook
