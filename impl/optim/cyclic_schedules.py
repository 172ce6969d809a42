"""Cyclic schedules: learning rates that rise and fall, and momentum inversely to them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from impl.optim.schedule import (
    LRScheduler,
    check_anneal_strategy,
    check_optimizer,
    cosine_annealed,
    for_each_group,
    load_callable,
    saved_callable,
    set_rate,
)


class _MomentumSchedule(LRScheduler):
    """Base of the schedules that also set the momentum, or the first beta of Adam and its like."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, optimizer, base, largest, fresh: bool) -> None:
        """Check that the optimizer has a momentum; with `fresh`, set it to the largest."""
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


class CyclicLR(_MomentumSchedule):
    """Triangles from `base_lr` to `max_lr` and back (L. N. Smith, WACV 2017).

    Their height is constant ("triangular"), halved in each cycle ("triangular2"), multiplied by
    `gamma` in each step ("exp_range"), or by `scale_fn`. Raises ValueError for another mode, and
    for `cycle_momentum` with an optimizer that has no momentum.
    """

    _scale_fn_ref: Callable[[float], float]

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None,
                 mode="triangular", gamma=1.0, scale_fn=None, scale_mode="cycle",
                 cycle_momentum=True, base_momentum=0.8, max_momentum=0.9,
                 last_epoch=-1) -> None:  # fmt: skip
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
            self.use_beta1 = "betas" in optimizer.defaults
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
        """The factor of the height, of a cycle or of a step, by `scale_mode`."""
        own = self._scale_fn_custom
        return self._scale_fn_ref(x) if own is None else own(x)

    def get_lr(self) -> list:
        """The rates of this epoch; sets the momentum, too."""
        self._impl_check_within_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        position = 1.0 + self.last_epoch / self.total_size - cycle
        rising = position <= self.step_ratio
        height = position / self.step_ratio if rising else (position - 1) / (self.step_ratio - 1)
        x = cycle if self.scale_mode == "cycle" else self.last_epoch
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        rates = [low + (high - low) * height * self.scale_fn(x) for low, high in pairs]
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                self._set_momentum(group, high - (high - low) * height * self.scale_fn(x))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """The attributes without the optimizer; of `scale_fn`, a callable object's own."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        state["_scale_fn_custom"] = saved_callable(state.pop("_scale_fn_custom"))
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        saved = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        load_callable(self._scale_fn_custom, saved)
        self._init_scale_fn()


def _cosine(start, end, share: float):
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _linear(start, end, share: float):
    return (end - start) * share + start


class OneCycleLR(_MomentumSchedule):
    """Up to `max_lr` and down far below the initial rate, once (L. N. Smith and N. Topin, 2018).

    With `three_phase`, down to the initial rate first. Raises ValueError for arguments out of
    range, and by `step()` after `total_steps`.
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None,
                 pct_start=0.3, anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85,
                 max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
                 last_epoch=-1) -> None:  # fmt: skip
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check_anneal_strategy(anneal_strategy)
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
        """The rates of this step; sets the momentum, too."""
        self._impl_check_within_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        anneal = _cosine if self._anneal_func_type == "cos" else _linear
        start: float = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        share = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, anneal(*ends, share))
        return rates


def _total_steps(total: int | None, epochs: int | None, each: int | None) -> int:
    """The number of steps of one cycle, given as such or as epochs of `each` steps."""
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


_PHASE = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
_UP = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
_DOWN = ("max_lr", "min_lr", "base_momentum", "max_momentum")
_BACK = ("max_lr", "initial_lr", "base_momentum", "max_momentum")
_OUT = ("initial_lr", "min_lr", "max_momentum", "max_momentum")


def _phases(steps: int, share: float, three: bool) -> list[dict[str, Any]]:
    """The phases of one cycle: the last step, and the group's keys of rate and momentum."""
    first = (float(share * steps) - 1, *_UP)
    rows: list[tuple] = [first, (steps - 1, *_DOWN)]
    if three:
        rows = [first, (float(2 * share * steps) - 2, *_BACK), (steps - 1, *_OUT)]
    return [dict(zip(_PHASE, row, strict=True)) for row in rows]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the initial rate down to `eta_min`, the first in `T_0` epochs, each next
    one `T_mult` times as long (I. Loshchilov and F. Hutter, ICLR 2017).

    Raises ValueError for arguments out of range and for a negative epoch.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1) -> None:
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
        self._impl_check_within_step()
        t, period = self.T_cur, self.T_i
        return [cosine_annealed(base, self.eta_min, t, period) for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, which may be a fraction."""
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
        self.last_epoch = math.floor(epoch) - 1
        self._update_lr()

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
