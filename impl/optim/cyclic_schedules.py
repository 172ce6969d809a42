"""Schedules in cycles: learning rates that rise and fall, with momentum the other way round.

L. N. Smith, WACV 2017 (cycles); L. N. Smith and N. Topin, 2018 (one cycle); I. Loshchilov and
F. Hutter, ICLR 2017 (restarts).
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

from impl.optim.optimizer import Optimizer
from impl.optim.schedule import (
    LRScheduler,
    check_optimizer,
    for_each_group,
    set_rate,
)


class _WithMomentum(LRScheduler):
    """A schedule of the momentum too, or of the first of two betas."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, optimizer: Optimizer, base, largest, fresh: bool) -> None:
        defaults = optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in defaults
        if fresh:
            for group, low, high in zip(optimizer.param_groups, base, largest, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low

    def _set_momentum(self, group: dict[str, Any], value) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Between `base_lr` and `max_lr` and back, in cycles that keep their height ("triangular"),
    halve it ("triangular2") or shrink by `gamma` each step ("exp_range"), or by `scale_fn`.

    Raises ValueError for another mode, and where momentum is cycled that the optimizer has not.
    """

    _scale_fn_ref: Callable[[float], float]

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr,
        max_lr,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        lowest = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, lowest, strict=True):
                set_rate(group, rate)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums = for_each_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = for_each_group("max_momentum", optimizer, max_momentum)
            fresh = last_epoch == -1
            self._begin_momentum(optimizer, self.base_momentums, self.max_momentums, fresh)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        if self.mode == "exp_range":
            self._scale_fn_ref = functools.partial(pow, self.gamma)
            self.scale_mode = "iterations"
        else:
            halved = self.mode == "triangular2"
            self._scale_fn_ref = (lambda x: 1 / 2.0 ** (x - 1)) if halved else (lambda x: 1.0)
            self.scale_mode = "cycle"

    def scale_fn(self, x) -> float:
        """The height of a cycle or at a step."""
        own = self._scale_fn_custom
        return self._scale_fn_ref(x) if own is None else own(x)

    def get_lr(self) -> list:
        """The rates on the way up or down; sets the momentum."""
        self._check_within_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        rising = place <= self.step_ratio
        share = place / self.step_ratio if rising else (place - 1) / (self.step_ratio - 1)
        counted = cycle if self.scale_mode == "cycle" else self.last_epoch
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        found = [low + (high - low) * share * self.scale_fn(counted) for low, high in pairs]
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                self._set_momentum(group, high - (high - low) * share * self.scale_fn(counted))
        return found

    def state_dict(self) -> dict[str, Any]:
        """What the schedule keeps; a function of one's own is not saved, a callable object is."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        own = state.pop("_scale_fn_custom")
        plain = own is None or isinstance(own, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else dict(own.__dict__)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` returned."""
        saved = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)
        self._init_scale_fn()


def _cosine(start, end, share: float):
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _linear(start, end, share: float):
    return (end - start) * share + start


class OneCycleLR(_WithMomentum):
    """Up to `max_lr` and down far below the first rate, once; with `three_phase` by way of the
    first rate. Raises ValueError for settings of no sense, and for a step too many."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        largest = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, largest, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            base = for_each_group("base_momentum", optimizer, base_momentum)
            most = for_each_group("max_momentum", optimizer, max_momentum)
            self._begin_momentum(optimizer, base, most, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        """The rates between the ends of the present phase; sets the momentum."""
        self._check_within_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        between = _cosine if self._anneal_func_type == "cos" else _linear
        start: float = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        share = (step - start) / (phase["end_step"] - start)
        found = []
        for group in self.optimizer.param_groups:
            found.append(between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, between(*ends, share))
        return found


def _total_steps(total: int | None, epochs: int | None, each: int | None) -> int:
    if total is not None:
        if total <= 0 or not isinstance(total, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total}")
        return total
    if epochs is None or each is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in (("epochs", epochs), ("steps_per_epoch", each)):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * each


def _phase(end: float, rates: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
    return {
        "end_step": end,
        "start_lr": f"{rates[0]}_lr",
        "end_lr": f"{rates[1]}_lr",
        "start_momentum": f"{momenta[0]}_momentum",
        "end_momentum": f"{momenta[1]}_momentum",
    }


def _phases(steps: int, share: float, three: bool) -> list[dict[str, Any]]:
    first = _phase(float(share * steps) - 1, ("initial", "max"), ("max", "base"))
    if not three:
        return [first, _phase(steps - 1, ("max", "min"), ("base", "max"))]
    second = _phase(float(2 * share * steps) - 2, ("max", "initial"), ("base", "max"))
    return [first, second, _phase(steps - 1, ("initial", "min"), ("max", "max"))]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to `eta_min` along half a cosine in `T_0` epochs, then again from above, each time
    `T_mult` times as long. Raises ValueError for settings of no sense."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        """The rates at the present place of the cosine."""
        self._check_within_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        lowest = self.eta_min
        return [lowest + (base - lowest) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to any place, also between two. ValueError below zero."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self._update_lr_at(math.floor(epoch))

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            factor = self.T_mult
            done = int(math.log(epoch / self.T_0 * (factor - 1) + 1, factor))
            self.T_cur = epoch - self.T_0 * (factor**done - 1) / (factor - 1)
            self.T_i = self.T_0 * factor**done

    def _update_lr_at(self, epoch: int) -> None:
        self.last_epoch = epoch - 1
        self._update_lr()
