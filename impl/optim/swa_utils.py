"""`torch.optim.swa_utils`: the average of a model's parameters over a training.

P. Izmailov et al., UAI 2018 (equal weights); B. T. Polyak and A. B. Juditsky, 1992.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from impl.creation import tensor
from impl.dtypes import int64
from impl.modes import no_grad
from impl.nn.modules.module import Module
from impl.nn.modules.normalization import _BatchNorm
from impl.operator import FUNCTIONS
from impl.optim.optimizer import Optimizer
from impl.optim.schedule import LRScheduler, for_each_group

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _has_fractions(value) -> bool:
    return value.is_floating_point() or value.is_complex()


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """A function that weighs the average by `decay` and the rest by what it leaves. ValueError for
    a decay outside [0, 1]."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """The like of `get_ema_avg_fn` that writes to lists of tensors."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _) -> None:
        if _has_fractions(ema_param_list[0]):
            FUNCTIONS["_foreach_lerp_"](ema_param_list, current_param_list, 1 - decay)
            return
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_avg_fn() -> Callable:
    """A function that gives all that was averaged the same weight."""

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> Callable:
    """The like of `get_swa_avg_fn` that writes to lists of tensors."""

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged) -> None:
        weight = 1 / (num_averaged + 1)
        if _has_fractions(averaged_param_list[0]):
            FUNCTIONS["_foreach_lerp_"](averaged_param_list, current_param_list, weight)
            return
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            average.add_((current - average) / (num_averaged + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model with the average of the parameters that `update_parameters` is given, and
    of the buffers with `use_buffers`, which are copied else.

    Equal weights by default, else by `avg_fn(average, current, count)`, or `multi_avg_fn` that
    writes to lists. Raises AssertionError for both (torch.optim.swa_utils.AveragedModel).
    """

    def __init__(
        self,
        model: Module,
        device=None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", tensor(0, dtype=int64))
        self.avg_fn, self.multi_avg_fn = avg_fn, multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> Iterable[Any]:
        if self.use_buffers:
            return itertools.chain(model.parameters(), model.buffers())
        return model.parameters()

    def update_parameters(self, model: Module) -> None:
        """Take a model's present parameters into the average; the first ones are copied."""
        kept = zip(self._averaged(self.module), self._averaged(model), strict=False)
        pairs = [(average.detach(), current.detach()) for average, current in kept]
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
    """Compute the running statistics of a model's batch normalisations anew, over all that a loader
    gives, or the first parts of it (torch.optim.swa_utils.update_bn)."""
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
    """From the present rates to `swa_lr` in `anneal_epochs`, along a cosine or a line. ValueError
    for another strategy or number of epochs (torch.optim.swa_utils.SWALR)."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        wanted = for_each_group("swa_lr", optimizer, swa_lr)
        for group, rate in zip(optimizer.param_groups, wanted, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
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
        """The next rates, from what the last ones tell of the first."""
        self._check_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, share = self._share(step - 1), self._share(step)
        found = []
        for group in self.optimizer.param_groups:
            rate, wanted = group["lr"], group["swa_lr"]
            first = wanted if before == 1 else (rate - before * wanted) / (1 - before)
            found.append(wanted * share + first * (1 - share))
        return found

    def state_dict(self) -> dict[str, Any]:
        """All that the schedule keeps, but for its optimizer and its function."""
        return {key: value for key, value in super().state_dict().items() if key != "anneal_func"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` returned."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
