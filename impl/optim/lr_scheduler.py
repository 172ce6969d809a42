"""`torch.optim.lr_scheduler`: learning rates that change from epoch to epoch.

The schedules of this file are formulas: the rate γₜ of epoch t as a recurrence from γₜ₋₁, which
`step()` follows, and in closed form from the initial rate γ₀, which `step(epoch)` takes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from typing import Any

from impl.core.method_names import owns_methods_of
from impl.core.registry import name_home
from impl.optim.composed_schedules import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from impl.optim.cyclic_schedules import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from impl.optim.schedule import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    cosine_annealed,
    load_callable,
    saved_callable,
)

__all__ = [
    "EPOCH_DEPRECATION_WARNING", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip


class _LRScheduler(LRScheduler):
    """The old name of `LRScheduler`, for classes that derive from it."""


def _functions(optimizer, lr_lambda) -> list:
    """A function for each group. Raises ValueError for a list of another length."""
    groups = len(optimizer.param_groups)
    if not isinstance(lr_lambda, (list, tuple)):
        return [lr_lambda] * groups
    if len(lr_lambda) != groups:
        raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
    return list(lr_lambda)


class _FunctionSchedule(LRScheduler):
    """Base of the schedules with functions of the epoch."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1) -> None:
        self.optimizer = optimizer
        self.lr_lambdas = _functions(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """The attributes without the optimizer; of `lr_lambdas`, only callable objects' own."""
        state = super().state_dict()
        del state["lr_lambdas"]
        return state | {"lr_lambdas": [saved_callable(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the attributes to those that `state_dict` returned, also those of callable objects.

        Raises KeyError without the entry of these objects, IndexError if it has too many.
        """
        saved = state_dict.pop("lr_lambdas")
        super().load_state_dict(state_dict)
        state_dict["lr_lambdas"] = saved
        for i, attributes in enumerate(saved):
            if attributes is not None:
                load_callable(self.lr_lambdas[i], attributes)


@owns_methods_of(_FunctionSchedule)
class LambdaLR(_FunctionSchedule):
    """γₜ = γ₀ · f(t), with one function `lr_lambda` for all groups or one for each."""

    def get_lr(self) -> list:
        self._impl_check_within_step()
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]


@owns_methods_of(_FunctionSchedule)
class MultiplicativeLR(_FunctionSchedule):
    """γₜ = γₜ₋₁ · f(t), with one function `lr_lambda` for all groups or one for each.

    Raises TypeError for an object that is not callable.
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1) -> None:
        for function in _functions(optimizer, lr_lambda):
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list:
        self._impl_check_within_step()
        if self._is_initial:
            return self._impl_rates()
        pairs = zip(self.lr_lambdas, self._impl_rates(), strict=True)
        return [rate * function(self.last_epoch) for function, rate in pairs]


class _FactorSchedule(LRScheduler):
    """Base of the schedules that multiply all rates by one factor."""

    def _impl_factor(self, t):
        """γₜ / γₜ₋₁, or None if the rates stay as they are."""
        raise NotImplementedError

    def _impl_total_factor(self, t):
        """γₜ / γ₀."""
        raise NotImplementedError

    def get_lr(self) -> list:
        self._impl_check_within_step()
        factor, rates = self._impl_factor(self.last_epoch), self._impl_rates()
        return rates if factor is None else [rate * factor for rate in rates]

    def _get_closed_form_lr(self) -> list:
        factor = self._impl_total_factor(self.last_epoch)
        return [base * factor for base in self.base_lrs]


@owns_methods_of(_FactorSchedule)
class StepLR(_FactorSchedule):
    """Multiply by `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _impl_factor(self, t):
        return None if t == 0 or t % self.step_size != 0 else self.gamma

    def _impl_total_factor(self, t):
        return self.gamma ** (t // self.step_size)


@owns_methods_of(_FactorSchedule)
class MultiStepLR(_FactorSchedule):
    """Multiply by `gamma` at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _impl_factor(self, t):
        return self.gamma ** self.milestones[t] if t in self.milestones else None

    def _impl_total_factor(self, t):
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), t)


@owns_methods_of(_FactorSchedule)
class ExponentialLR(_FactorSchedule):
    """Multiply by `gamma` every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _impl_factor(self, t):
        return None if self._is_initial else self.gamma

    def _impl_total_factor(self, t):
        return self.gamma**t


@owns_methods_of(_FactorSchedule)
class ConstantLR(_FactorSchedule):
    """Multiply by `factor`, and undo it at epoch `total_iters`. ValueError for a factor outside
    [0, 1]."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _impl_factor(self, t):
        if t == 0:
            return self.factor
        return 1.0 / self.factor if t == self.total_iters else None

    def _impl_total_factor(self, t):
        return self.factor + (t >= self.total_iters) * (1 - self.factor)


@owns_methods_of(_FactorSchedule)
class LinearLR(_FactorSchedule):
    """Multiply by a factor that goes linearly from `start_factor` to `end_factor` in `total_iters`
    epochs. ValueError for factors outside (0, 1] and [0, 1]."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5,
                 last_epoch=-1) -> None:  # fmt: skip
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _impl_factor(self, t):
        if t == 0:
            return self.start_factor
        if self._is_initial or t > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (t - 1) * rise)

    def _impl_total_factor(self, t):
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, t) / self.total_iters


@owns_methods_of(_FactorSchedule)
class PolynomialLR(_FactorSchedule):
    """γₜ = γ₀ (1 - t / T)^power, which is zero from epoch T, `total_iters`, on."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _impl_factor(self, t):
        if self._is_initial or t > self.total_iters:
            return None
        now, before = 1.0 - t / self.total_iters, 1.0 - (t - 1) / self.total_iters
        return (now / before) ** self.power

    def _impl_total_factor(self, t):
        return (1.0 - min(self.total_iters, t) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """γₜ = η + (γ₀ - η) (1 + cos(π t / T)) / 2, with η = `eta_min` and T = `T_max`.

    I. Loshchilov and F. Hutter, ICLR 2017, without the restarts.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._impl_check_within_step()
        rates, lowest, t = self._impl_rates(), self.eta_min, self.last_epoch
        if self._is_initial:
            return rates
        if self._step_count == 1 and t > 0:
            return self._get_closed_form_lr()
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:  # from the lowest point, 0 / 0 otherwise
            rise = 1 - math.cos(math.pi / self.T_max)
            pairs = zip(rates, self.base_lrs, strict=True)
            return [rate + (base - lowest) * rise / 2 for rate, base in pairs]
        now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (t, t - 1))
        return [now / before * (rate - lowest) + lowest for rate in rates]

    def _get_closed_form_lr(self) -> list:
        t, period = self.last_epoch, self.T_max
        return [cosine_annealed(base, self.eta_min, t, period) for base in self.base_lrs]


name_home(globals())
