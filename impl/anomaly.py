"""Anomaly mode: where a node was recorded, and what is said when its backward fails.

The mode is one for the whole process. While it is on, every new node notes its traceback, and the
node whose backward is running then, which is how recorded backward passes are told apart.
"""

from __future__ import annotations

import traceback
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

from impl.modes import STATE, check_bool, count_everywhere

_MISSING = (
    "No forward pass information available. Enable detect anomaly during forward pass for more "
    "information."
)

MODE = SimpleNamespace(enabled=False, check_nan=True)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return MODE.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, when it is on, looks for NaN."""
    return MODE.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch the mode, and its search for NaN. Raises TypeError for anything but bools."""
    check_bool("set_anomaly_enabled", "enabled", 1, enabled)
    check_bool("set_anomaly_enabled", "check_nan", 2, check_nan)
    count_everywhere(enabled - MODE.enabled)
    MODE.enabled, MODE.check_nan = enabled, check_nan


class _Restoring:
    def __init__(self) -> None:
        self.prev = MODE.enabled
        self.prev_check_nan = MODE.check_nan

    def __exit__(self, *exc) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly(_Restoring):
    """Anomaly mode inside the block (torch.autograd.detect_anomaly); warns when it is made."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)


class set_detect_anomaly(_Restoring):
    """Sets the mode at once; as a context manager it also restores it
    (torch.autograd.set_detect_anomaly)."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__()
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass


# -- what is noted ----------------------------------------------------------------------------


def note(node) -> None:
    """Keep with a new node where it is recorded, and which node's backward records it."""
    node.metadata["traceback_"] = _traceback()
    if STATE.evaluating is not None:
        node.metadata["parent_"] = STATE.evaluating


def _traceback() -> list[str]:
    """The calls of other people's code that led here, outermost first."""
    frames = [entry for entry in traceback.walk_stack(None) if not _is_ours(entry[0])]
    return traceback.StackSummary.extract(reversed(frames)).format()


def _is_ours(frame) -> bool:
    """Whether a frame runs code of this package; code that it generated has no module."""
    module = frame.f_globals.get("__name__")
    return module is None or module == __package__ or module.startswith(f"{__package__}.")


# -- what is said -----------------------------------------------------------------------------


@contextmanager
def watch(node):
    """Know the node as the one whose backward runs; report it when that raises."""
    outer, STATE.evaluating = STATE.evaluating, node
    try:
        yield
    except BaseException:
        report(node)
        raise
    finally:
        STATE.evaluating = outer


def check(node, gradients) -> None:
    """Raise RuntimeError if a node returned NaN; `gradients` are arrays, tensors or None."""
    if not MODE.check_nan:
        return
    for position, gradient in enumerate(gradients):
        if gradient is None:
            continue
        raw = gradient if isinstance(gradient, (np.ndarray, np.generic)) else gradient._raw
        if np.isnan(raw).any():
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {position}th output."
            )


def report(node) -> None:
    """Warn that a node's backward failed, of where it was recorded, and so on for its parents."""
    _warn(node, "Error detected in", "caused the error")
    while (node := node.metadata.get("parent_")) is not None:
        _warn(node, "\n\nPrevious calculation was induced by", "induced the previous calculation")


def _warn(node, what: str, which: str) -> None:
    frames = node.metadata.get("traceback_")
    if frames is None:
        text = f"Error detected in {node.name()}. {_MISSING}"
    else:
        text = f"{what} {node.name()}. Traceback of forward call that {which}:\n{''.join(frames)}"
    warnings.warn(text, UserWarning, stacklevel=2)
