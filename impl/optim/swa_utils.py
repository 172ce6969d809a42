"""`torch.optim.swa_utils`: averages of a model's parameters over the steps of a training.

Stochastic weight averaging: P. Izmailov et al., UAI 2018. Exponential moving average: B. T. Polyak
and A. B. Juditsky, 1992.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from impl.core.dtypes import int64
from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.factories.creation import tensor
from impl.nn.modules.batchnorm import _BatchNorm
from impl.nn.modules.module import Module
from impl.optim.schedule import LRScheduler, check_anneal_strategy, for_each_group

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _has_fractions(value) -> bool:
    return value.is_floating_point() or value.is_complex()


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """A function that returns decay · average + (1 - decay) · current.

    Raises ValueError for a decay outside [0, 1].
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """The average of `get_ema_avg_fn` as a function that writes to a list of averages."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _) -> None:
        if _has_fractions(ema_param_list[0]):
            C._foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
            return
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_avg_fn() -> Callable:
    """A function that returns the mean of the `num_averaged` values so far and the current one."""

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> Callable:
    """The average of `get_swa_avg_fn` as a function that writes to a list of averages."""

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged) -> None:
        weight = 1 / (num_averaged + 1)
        if _has_fractions(averaged_param_list[0]):
            C._foreach_lerp_(averaged_param_list, current_param_list, weight)
            return
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            average.add_((current - average) / (num_averaged + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds averages of the parameters seen by `update_parameters`.

    The average is the mean, or that of `avg_fn(average, current, num_averaged)`, or of
    `multi_avg_fn`, which writes to lists. Buffers are averaged with `use_buffers`, else copied.
    Raises AssertionError for both functions.
    """

    def __init__(self, model: Module, device=None, avg_fn=None, multi_avg_fn=None,
                 use_buffers=False) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn = avg_fn, multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> Iterable[Any]:
        if self.use_buffers:
            return itertools.chain(model.parameters(), model.buffers())
        return model.parameters()

    def update_parameters(self, model: Module) -> None:
        """Include a model's current parameters in the averages; the first ones are copied."""
        both = zip(self._averaged(self.module), self._averaged(model), strict=False)
        pairs = [(average.detach(), current.detach()) for average, current in both]
        if self.n_averaged == 0:
            for average, current in pairs:
                average.copy_(current)
        elif self.multi_avg_fn is not None:
            for group in _by_dtype(pairs):
                averages, currents = map(list, zip(*group, strict=True))
                self.multi_avg_fn(averages, currents, self.n_averaged)
        else:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, current in pairs:
                average.copy_(average_of(average, current, self.n_averaged))
        if not self.use_buffers:
            buffers = zip(self.module.buffers(), model.buffers(), strict=True)
            for average, current in buffers:
                average.detach().copy_(current.detach())
        self.n_averaged += 1


def _by_dtype(pairs: list) -> Iterable[list]:
    groups: dict[Any, list] = {}
    for pair in pairs:
        groups.setdefault((pair[0].dtype, pair[1].dtype), []).append(pair)
    return groups.values()


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device=None) -> None:
    """Recompute the running statistics of a model's batch normalisations over a loader's inputs.

    Of a list or tuple, the input is the first element.
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for input in loader:
        model(input[0] if isinstance(input, (list, tuple)) else input)
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(training)


def _cosine(share: float) -> float:
    return (1 - math.cos(math.pi * share)) / 2


def _linear(share: float) -> float:
    return share


class SWALR(LRScheduler):
    """From the current rates to `swa_lr` in `anneal_epochs`, along half a cosine or a line.

    Raises ValueError for another strategy and for a negative number of epochs.
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos",
                 last_epoch=-1) -> None:  # fmt: skip
        wanted = for_each_group("swa_lr", optimizer, swa_lr)
        for group, rate in zip(optimizer.param_groups, wanted, strict=True):
            group["swa_lr"] = rate
        check_anneal_strategy(anneal_strategy)
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, strategy: str) -> None:
        self._anneal_strategy = strategy
        self.anneal_func = _cosine if strategy == "cos" else _linear

    def _share(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list:
        """The rates of this epoch; the initial rate follows from the last one and its share."""
        self._impl_check_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, share = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            rate, wanted = group["lr"], group["swa_lr"]
            first = wanted if before == 1 else (rate - before * wanted) / (1 - before)
            rates.append(wanted * share + first * (1 - share))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """The attributes, without the optimizer and the function."""
        return {key: value for key, value in super().state_dict().items() if key != "anneal_func"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
