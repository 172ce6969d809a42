"""Warnings of C++ code during a backward pass, of which torch tells Python after the pass."""

from __future__ import annotations

import warnings

from impl.core.state import STATE


def warn_after_pass(message: str, stacklevel: int) -> None:
    """Warn at the end of the pass that is running, or at once where none is."""
    if STATE.graph_task is None:
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
    else:
        STATE.graph_task.warnings.append(message)
