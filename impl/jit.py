"""`torch.jit`: its decorators return their functions, and programs run unchanged.

There is no graph of a script, and no file of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from impl.nn.modules.module import Module

__all__ = [
    "Final",
    "ScriptModule",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "unused",
]


class ScriptModule(Module):
    """A module that a program wrote as a script (torch.jit.ScriptModule); it runs as it is."""


def script(obj: Any, *args: Any, **options: Any) -> Any:
    """The function, class or module itself (torch.jit.script)."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **options: Any) -> Any:
    """The function or module itself, without a call (torch.jit.trace)."""
    return func


def _itself(function: Callable) -> Callable:
    return function


script_method = script_if_tracing = export = unused = interface = _itself


def ignore(drop: Any = False, **options: Any) -> Callable:
    """The function itself, or a decorator that returns it (torch.jit.ignore)."""
    return drop if callable(drop) else _itself


def is_scripting() -> bool:
    """False (torch.jit.is_scripting)."""
    return False


def is_tracing() -> bool:
    """False (torch.jit.is_tracing)."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value (torch.jit.annotate)."""
    return the_value
