"""Gradient scaling: losses are multiplied by a scale so that gradients do not underflow in half
precision, and steps with overflowed gradients are skipped (Micikevicius et al., Mixed Precision
Training, 2018).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import numpy as np

from impl.core.dtypes import float16, float32, int32
from impl.core.grad_mode import no_grad
from impl.core.warning import warn
from impl.factories.creation import tensor as unpack_tensor
from impl.tensor.tensor import Tensor

_UNSTARTED = (
    "Attempted {} but _scale is None.  This may indicate your script did not use "
    "scaler.scale(loss or outputs) earlier in the iteration."
)
_NEW_SCALE = (
    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
    "requires_grad=False."
)


class _Stage(enum.Enum):
    UNSCALED = enum.auto()
    STEPPED = enum.auto()


class GradScaler:
    """Multiplies losses by a dynamically adjusted scale (torch.amp.GradScaler).

    The scale is multiplied by `growth_factor` after `growth_interval` consecutive steps without an
    infinity or NaN in any gradient, and by `backoff_factor` after a step with one. For CUDA, which
    is never available, the scaler warns and is disabled. Raises AssertionError for a growth factor
    of at most 1 or a backoff factor of at least 1.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._init_growth_tracker = 0
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        # 0-dim tensors, created at the first loss.
        self._scale: Any = None
        self._growth_tracker: Any = None
        # By the id of an optimizer: its stage since the last update, and whether any gradient was
        # infinite or NaN.
        self._stages: dict[int, _Stage] = {}
        self._found: dict[int, bool] = {}

    # -- an iteration -------------------------------------------------------------------------

    def scale(self, outputs):
        """Multiply a tensor, or the tensors in nested iterables, by the scale, with a graph.

        Raises ValueError for anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = unpack_tensor(float(self._init_scale), dtype=float32)
                self._growth_tracker = unpack_tensor(self._init_growth_tracker, dtype=int32)
            return outputs * self._scale
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled  # type: ignore[call-arg]

    def unscale_(self, optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place.

        Raises RuntimeError if they are unscaled already, ValueError for gradients in float16,
        AssertionError before the first `scale`.
        """
        if not self._enabled:
            return
        scale, _ = self._started("unscale_")
        stage = self._stages.get(id(optimizer))
        if stage is _Stage.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if stage is _Stage.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = float(np.float32(1 / scale.item()))
        gradients = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.grad.dtype is float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                gradients.append(parameter.grad)
        if gradients:
            self._found[id(optimizer)] = not all(g.isfinite().all().item() for g in gradients)
        for gradient in gradients:
            gradient.data.mul_(inverse)  # the version stays, as in ATen
        self._stages[id(optimizer)] = _Stage.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """Unscale the gradients if needed, and call `optimizer.step()` if all of them are finite.

        Returns the step's result, or None if it was skipped. Raises RuntimeError for a closure and
        for a second step without `update`, AssertionError if there were no gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._started("step")
        stage = self._stages.get(id(optimizer))
        if stage is _Stage.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage is None:
            self.unscale_(optimizer)
        if id(optimizer) not in self._found:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = _Stage.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adjust the scale by the gradients found since the last update, or set it to `new_scale`.

        Raises AssertionError if no step was made, and for a `new_scale` of several elements.
        """
        if not self._enabled:
            return
        scale, tracker = self._started("update")
        with no_grad():
            if new_scale is None:
                self._adjust(scale, tracker)
            elif isinstance(new_scale, float):
                scale.fill_(new_scale)
            elif new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(_NEW_SCALE)
            else:
                scale.copy_(new_scale)
        self._stages, self._found = {}, {}

    def _adjust(self, scale, tracker) -> None:
        if not self._found:
            raise AssertionError("No inf checks were recorded prior to update.")
        version, tracker = scale._storage.version, tracker.data
        if any(self._found.values()):
            scale.mul_(self._backoff_factor)
            tracker.fill_(0)
        elif tracker.item() + 1 < self._growth_interval:
            tracker.add_(1)
        else:
            tracker.fill_(0)
            grown = scale * self._growth_factor
            if grown.isfinite().item():
                scale.copy_(grown)
        # A kernel writes both tensors, which counts as one write, of the scale.
        scale._storage.version = version + 1

    def _started(self, name: str) -> tuple[Any, Any]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(_UNSTARTED.format(name))
        return self._scale, self._growth_tracker

    # -- settings and state -------------------------------------------------------------------

    def is_enabled(self) -> bool:
        """Whether scaling is enabled."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale as a number; 1 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else tracker.item()

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of consecutive steps without overflow after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of consecutive steps without overflow after which the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The settings, the scale and the number of steps without overflow; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`. Raises RuntimeError if it is empty."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._stages:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state
