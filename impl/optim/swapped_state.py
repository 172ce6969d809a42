"""`swap_in_optimizer_params_and_state`: other parameters and state in an optimizer for a block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from impl.optim.optimizer import Optimizer
from impl.tensor.tensor import Tensor

_NAME = "swap_in_optimizer_params_and_state requires "


def _checked_state(state: Any) -> dict:
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME}swapin_optim_state['state'] to be a dict mapping packed parameter ids to "
            f"per-param state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(
            f"{_NAME}optimizer.state_dict()-style state keyed by packed parameter ids."
        )
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise RuntimeError(f"{_NAME}per-parameter optimizer state entries to be dictionaries.")
    return state


def _checked_groups(optimizer: Optimizer, groups: Any) -> list[Any]:
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME}swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    if len(optimizer.param_groups) != len(groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live optimizer."
        )
    return groups


def _checked_numbers(index: int, live: dict, given: Any) -> list[int]:
    """The numbers of a group's parameters."""
    if not isinstance(given, dict):
        raise RuntimeError(f"{_NAME}each optimizer param group to be a dictionary.")
    numbers = given.get("params")
    if not isinstance(numbers, list) or not all(isinstance(n, int) for n in numbers):
        raise RuntimeError(
            f"{_NAME}optimizer.state_dict()-style param_groups[*]['params'] entries keyed by "
            "packed parameter ids."
        )
    if len(live["params"]) != len(numbers):
        raise RuntimeError(
            f"swapin_optim_state param group {index} has a different number of params than the "
            "live optimizer param group."
        )
    extra = [key for key in given if key not in live]
    missing = [key for key in live if key not in given]
    if extra or missing:
        raise RuntimeError(
            f"{_NAME}optimizer.state_dict()-style param group keys to exactly match the live "
            f"optimizer group keys for group {index}. Keys only in swap-in: {extra}. Keys only in "
            f"live: {missing}."
        )
    return numbers


def _taken(optimizer: Optimizer, parameters: dict, given: Any) -> tuple[dict, list[tuple]]:
    """The state to swap in, and for each group the one to swap in with its parameters."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME}initialized optimizer state.")
    if not isinstance(given, dict):
        raise RuntimeError(f"{_NAME}a DCP-style optimizer state_dict.")
    state = _checked_state(given.get("state"))
    groups = _checked_groups(optimizer, given.get("param_groups"))
    left = list(parameters.values())
    taken, known = [], set()
    for index, (live, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        numbers = _checked_numbers(index, live, group)
        known.update(numbers)
        if len(numbers) > len(left):
            raise RuntimeError(
                f"{_NAME}the explicit parameter state to match optimizer.param_groups ordering."
            )
        taken.append((live, group, left[: len(numbers)]))
        del left[: len(numbers)]
    extra = [key for key in state if key not in known]
    if extra:
        raise RuntimeError(
            f"{_NAME}swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return state, taken


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """A block in which an optimizer has other parameters, by order, and the options and state of a
    state dict (torch.optim.swap_in_optimizer_params_and_state).

    Raises RuntimeError for a state dict of another form than the optimizer's.
    """
    state, taken = _taken(optimizer, swapin_parameters, swapin_optim_state)
    before, groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        swapped: Any = defaultdict(dict)
        for live, group, parameters in taken:
            live.update(group, params=parameters)
            for parameter, number in zip(parameters, group["params"], strict=True):
                swapped[parameter] = dict(state.get(number, {}))
        optimizer.state = swapped
        yield
    finally:
        for live, group in zip(optimizer.param_groups, groups, strict=True):
            live.clear()
            live.update(group)
        optimizer.state = before
