"""The state that an optimizer keeps: dtypes, and what files of older versions lack."""

from __future__ import annotations

from typing import Any

from impl.core.dtypes import float32, float64, get_default_dtype
from impl.factories import creation
from impl.tensor.tensor import Tensor


def number_tensor(value: float, fused: Any = False) -> Tensor:
    """A number, such as the count of steps, as a state keeps it: in float32, or in float64 if that
    is the default dtype and the update is not that of a fused kernel."""
    wide = get_default_dtype() is float64 and not fused
    return creation.tensor(value, dtype=float64 if wide else float32)


def complete(optimizer) -> None:
    """Add to the groups of an optimizer the options that they lack, and turn the numbers of its
    states into tensors.

    So `__setstate__` reads what older versions of the optimizer saved. Raises KeyError for a
    state without a number that the optimizer keeps as a tensor.
    """
    if not optimizer._impl_added_options:
        return
    for group in optimizer.param_groups:
        for name, value in optimizer._impl_added_options.items():
            group.setdefault(name, value)
        for param in group["params"]:
            state = optimizer.state.get(param, {})
            for name in optimizer._impl_numbers_in_tensors if state else ():
                _turn(state, name, group)


def _turn(state: dict[str, Any], name: str, group: dict[str, Any]) -> None:
    """Replace a number in the state of a parameter by a tensor of its value."""
    value = state[name]
    if not isinstance(value, Tensor):
        state[name] = number_tensor(float(value) if name == "step" else value, group.get("fused"))
