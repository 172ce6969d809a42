"""`LRScheduler`, the base of learning-rate schedules, and checks that several schedules share.

A schedule's `state_dict` is its attributes; therefore they have torch's names and order.
"""

from __future__ import annotations

import functools
import math
import types
import warnings
import weakref
from typing import Any

from impl.optim.optimizer import Optimizer
from impl.tensor.tensor import Tensor

_READ_MORE = (
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_BEFORE_OPTIMIZER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
    "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
    "Failure to do this will result in PyTorch skipping the first value of the learning rate "
    f"schedule. {_READ_MORE}"
)
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
    f"{_READ_MORE}"
)
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)


def copied(value):
    """A rate that shares no memory with its source: a clone of a tensor, or the number."""
    return value.clone() if isinstance(value, Tensor) else value


def set_rate(group: dict[str, Any], value) -> None:
    """Set a group's learning rate; one that is a tensor is filled in place."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(value)
    else:
        group["lr"] = value


def for_each_group(name: str, optimizer: Optimizer, value) -> list:
    """A setting, one for all groups or one for each, as a list. ValueError for another length."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {groups}."
        )
    return [copied(one) for one in value]


def check_optimizer(optimizer) -> None:
    """Raise TypeError for an argument that is not an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def check_anneal_strategy(strategy: str) -> None:
    """Raise ValueError for a strategy other than "cos" and "linear"."""
    if strategy not in ("cos", "linear"):
        raise ValueError(
            f"anneal_strategy must be one of 'cos' or 'linear', instead got {strategy}"
        )


def cosine_annealed(base, lowest, t, period):
    """The rate at time t of half a cosine, from `base` at 0 to `lowest` at `period`."""
    return lowest + (base - lowest) * (1 + math.cos(math.pi * t / period)) / 2


def saved_callable(function) -> dict[str, Any] | None:
    """The attributes of a callable object, for a state_dict; None for a plain function or None."""
    if function is None or isinstance(function, types.FunctionType):
        return None
    return dict(function.__dict__)


def load_callable(function, saved: dict[str, Any] | None) -> None:
    """Set the attributes of a callable object to those that `saved_callable` returned."""
    if saved is not None:
        function.__dict__.update(saved)


class LRScheduler:
    """Base of the schedules: a subclass defines `get_lr`, the rates of epoch `last_epoch`.

    It may also define `_get_closed_form_lr`, which `step(epoch)` uses instead. Raises TypeError if
    `optimizer` is none, and KeyError if resumed (`last_epoch` is not -1) without initial rates.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    base_lrs: list

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n1. You're "
                    "trying to resume training from a checkpoint but haven't properly loaded the "
                    "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run "
                    "(not recommended)"
                )
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of epoch 0, or of the epoch after the one resumed from."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """The attributes, without the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the attributes to those that `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list:
        """The rates that the last step set."""
        return self._last_lr

    def _impl_rates(self) -> list:
        """Copies of the groups' learning rates."""
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def get_lr(self) -> list:
        """The rates of epoch `last_epoch`, one for each group."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of `epoch`, which is deprecated.

        Warns if the optimizer has not stepped before.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_BEFORE_OPTIMIZER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            new = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, new, strict=True):
            set_rate(group, rate)
        self._last_lr = self._impl_rates()

    def _impl_check_within_step(self) -> None:
        """Warn if `get_lr` is called by other code than `step`."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=2,
            )


def _watch_steps(optimizer: Optimizer) -> None:
    """Wrap `optimizer.step` so that it sets `_opt_called`, for the warning about the order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    method, reference = optimizer.step.__func__, weakref.ref(optimizer)  # type: ignore[attr-defined]

    @functools.wraps(method)
    def step(*args, **kwargs):
        stepping: Any = reference()
        stepping._opt_called = True
        return method(stepping, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]
