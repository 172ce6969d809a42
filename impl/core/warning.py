"""Warnings, which name the program's own statement as torch's C++ code does, and once in a process.

Torch's Python code warns at a line of torch; there `impl` calls `warnings.warn` itself.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from impl.core.context import is_warn_always_enabled
from impl.core.state import STATE

_PASSED_OVER = (__name__.partition(".")[0], "torch", "contextlib", "functools")
"""Packages whose frames stand between a statement of the program and the warning; impl's modules
are torch's where they are bound to its name."""

_TOLD: set[str] = set()
"""The sites that have warned."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost statement that is not of this package (TORCH_WARN)."""
    frame = _program_frame()
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__", "<unknown>"),
        registry=names.setdefault("__warningregistry__", {}),
    )


def _program_frame() -> FrameType:
    """The innermost frame outside this package, or the outermost where there is none."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        if frame.f_back is None:
            return frame
        frame = frame.f_back
    return frame


def is_due(site: str) -> bool:
    """Whether a warning of that site, of TORCH_WARN_ONCE in C++, is given now: the first time in a
    process, and always with `set_warn_always`."""
    if is_warn_always_enabled():
        return True
    first = site not in _TOLD
    _TOLD.add(site)
    return first


def warn_once(message: str, site: str | None = None) -> None:
    """Give a UserWarning if it is due; `site` names the place of one whose text varies."""
    if is_due(site or message):
        warn(message)


def warn_once_of_python(message: str) -> None:
    """Give a UserWarning of torch's Python code, which `set_warn_always` does not concern, the
    first time in a process."""
    if message not in _TOLD:
        _TOLD.add(message)
        warn(message)


def warn_after_pass(message: str, once: str | None = None) -> None:
    """Warn at the end of the backward pass that is running, as torch tells Python then of warnings
    in C++, or at once where none is; with `once`, the name of a site, only if that is due."""
    if STATE.repeated or (once is not None and not is_due(once)):
        return
    if STATE.graph_task is None:
        warn(message)
    else:
        STATE.graph_task.warnings.append(message)


def deprecated(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions: each call warns of FutureWarning with that text, before Python
    looks at the arguments."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def warned(*args, **kwargs):
            warn(text, FutureWarning)
            return function(*args, **kwargs)

        return warned

    return decorate
