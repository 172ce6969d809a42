"""Anomaly mode: the traceback of each node's forward call, shown when its backward fails.

The mode is process-wide (csrc/autograd/anomaly_mode.h). While it is on, every new node stores the
traceback of its forward call and its parent, the node whose backward was running, if any: with
create_graph the nodes of a backward pass are recorded by other nodes.
"""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

from impl.core.grad_mode import check_bool
from impl.core.state import STATE, block_fast_path_everywhere
from impl.core.warning import warn, warn_after_pass

_MISSING = (
    "No forward pass information available. Enable detect anomaly during forward pass for more "
    "information."
)

MODE = SimpleNamespace(enabled=False, check_nan=True)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return MODE.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, when it is on, checks gradients for NaN."""
    return MODE.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch the mode and its check for NaN. Raises TypeError for anything but bools."""
    check_bool("set_anomaly_enabled", "enabled", 1, enabled)
    check_bool("set_anomaly_enabled", "check_nan", 2, check_nan)
    block_fast_path_everywhere(enabled - MODE.enabled)
    MODE.enabled, MODE.check_nan = enabled, check_nan


class _Restoring:
    def __init__(self) -> None:
        self.prev = MODE.enabled
        self.prev_check_nan = MODE.check_nan

    def __exit__(self, *exc) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly(_Restoring):
    """Anomaly mode within a block (torch.autograd.detect_anomaly); the constructor warns."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)


class set_detect_anomaly(_Restoring):
    """Sets anomaly mode on construction; leaving its block restores it (torch's function)."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__()
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass


# -- recording --------------------------------------------------------------------------------


def note(node) -> None:
    """Store the traceback and the parent of a new node in its metadata."""
    node.metadata["traceback_"] = _traceback()
    if STATE.current_node is not None:
        node.metadata["parent_"] = STATE.current_node


def _traceback() -> list[str]:
    """The formatted stack without frames of this package, outermost first."""
    frames = [entry for entry in traceback.walk_stack(None) if not _is_ours(entry[0])]
    return traceback.StackSummary.extract(reversed(frames)).format()


def _is_ours(frame) -> bool:
    """Whether a frame runs code of this package, which may be bound to torch's name; its generated
    code has no module."""
    module = frame.f_globals.get("__name__")
    return module is None or module.partition(".")[0] in (__package__.partition(".")[0], "torch")


# -- running ----------------------------------------------------------------------------------


@contextmanager
def watch(node):
    """Within the block `node` is the current node; an exception in it is reported."""
    outer, STATE.current_node = STATE.current_node, node
    try:
        yield
    except BaseException:
        report(node)
        raise
    finally:
        STATE.current_node = outer


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
    """Warn of a failed backward, with the traceback of the node and of each of its parents."""
    _warn(node, "Error detected in", "caused the error")
    while (node := node.metadata.get("parent_")) is not None:
        _warn(node, "\n\nPrevious calculation was induced by", "induced the previous calculation")


def _warn(node, what: str, which: str) -> None:
    frames = node.metadata.get("traceback_")
    if frames is None:
        text = f"Error detected in {node.name()}. {_MISSING}"
    else:
        text = f"{what} {node.name()}. Traceback of forward call that {which}:\n{''.join(frames)}"
    warn_after_pass(text)
