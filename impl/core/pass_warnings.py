"""Warnings of C++ code during a backward pass, of which torch tells Python after the pass."""

from __future__ import annotations

import warnings

from impl.core.context import is_due
from impl.core.state import STATE


def warn_after_pass(message: str, stacklevel: int, once: str | None = None) -> None:
    """Warn at the end of the pass that is running, or at once where none is; with `once`, the name
    of a site, only if that is due."""
    if once is not None and not is_due(once):
        return
    if STATE.graph_task is None:
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
    else:
        STATE.graph_task.warnings.append(message)
