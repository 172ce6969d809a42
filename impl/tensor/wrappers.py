"""The wrappers that transforms of torch.func put around tensors in torch. Here a tensor is its own
wrapper: the running transforms know which of them hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from impl.core import messages
from impl.core.state import STATE

if TYPE_CHECKING:
    from impl.tensor.tensor import Tensor


def hides_history(tensor: Tensor) -> bool:
    """Whether the innermost transform of differentiation that holds a tensor did not record it, so
    that it shows no history: that of the transforms outside, and of the caller, is out of sight.
    """
    for transform in reversed(STATE.transforms):
        if transform.holds(tensor):
            return not transform.tracks(tensor)
    return False


def is_captured(target: Tensor) -> bool:
    """Whether the function that a transform runs has neither made a tensor nor been given it."""
    return bool(STATE.transforms) and not STATE.transforms[-1].owns(target)


def refuse_captured(target: Tensor, name: str | Callable[[], str]) -> None:
    """Raise RuntimeError for a write to a captured tensor; `name`, or its result, is ATen's name of
    the operator."""
    if not is_captured(target):
        return
    if STATE.transforms[-1].has(target):
        STATE.spelled = None  # a transform outside refuses the operator that the alias stands for
    raise RuntimeError(messages.CAPTURED.format(name if isinstance(name, str) else name()))


def refuse_pointer() -> None:
    """Raise RuntimeError within a transform of differentiation, where code that reads the memory of
    a tensor meets a wrapper, which has none."""
    if any(transform.wraps for transform in STATE.transforms):
        raise RuntimeError(messages.NO_POINTER)


def is_wrapped(tensor: Tensor) -> bool:
    """Whether a tensor is a wrapper in torch: one that was made in a transform of differentiation
    that runs, or is an argument of it."""
    return any(transform.holds(tensor) for transform in STATE.transforms)
