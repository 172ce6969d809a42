"""Activations as layers."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from impl.core.registry import C
from impl.nn import functional as F
from impl.nn.init import constant_
from impl.nn.modules.function_layer import _FunctionLayer, layers_of
from impl.nn.modules.module import Module
from impl.nn.parameter import empty_parameter
from impl.tensor.tensor import Tensor


class PReLU(Module):
    """ReLU with a learnable slope, one for all channels or one for each (torch.nn.PReLU)."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None
    ) -> None:
        self.num_parameters = num_parameters  # set here, so a module is refused
        super().__init__()
        self.init = init
        self.weight = empty_parameter(num_parameters, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to their initial value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """ReLU with random slopes below 0 in training, else with their mean (torch.nn.RReLU)."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + ", inplace=True" * bool(self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x)) (torch.nn.Sigmoid)."""

    def forward(self, input: Tensor) -> Tensor:
        return C.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent (torch.nn.Tanh)."""

    def forward(self, input: Tensor) -> Tensor:
        return C.tanh(input)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W) (torch.nn.Softmax2d)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3)


class _Hardtanh(_FunctionLayer):
    """Raises AssertionError unless the larger bound is larger."""

    def _set_up(self, settings: dict[str, Any]) -> None:
        for name in ("min_val", "max_val"):
            value = settings.pop(f"{name}ue")
            if value is not None:
                warnings.warn(
                    f"keyword argument `{name}ue` is deprecated and renamed to `{name}`",
                    FutureWarning,
                    stacklevel=3,
                )
                settings[name] = value
        super()._set_up(settings)

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        low, high = settings["min_val"], settings["max_val"]
        if high <= low:
            raise AssertionError(f"max_val ({high}) must be greater than min_val ({low})")
        return settings


class _OfDim(_FunctionLayer):
    """Raises TypeError for a dimension that is neither an int nor None."""

    _impl_added_attributes: ClassVar[dict[str, Any]] = {"dim": None}

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        dim = settings["dim"]
        if dim is not None and (not isinstance(dim, int) or isinstance(dim, bool)):
            raise TypeError(f"dim must be an int or None, got {type(dim)}")
        return settings


_layer = layers_of(__name__)
_of_dim = layers_of(__name__, _OfDim)
_ALPHA = "alpha={alpha}"
_DIM = "dim={dim}"

ReLU = _layer("ReLU", "relu", inplace=False, text="")
LeakyReLU = _layer(
    "LeakyReLU",
    "leaky_relu",
    negative_slope=0.01,
    inplace=False,
    text="negative_slope={negative_slope}",
)
ELU = _layer("ELU", "elu", alpha=1.0, inplace=False, text=_ALPHA)
SELU = _layer("SELU", "selu", inplace=False, text="")
CELU = _layer("CELU", "celu", alpha=1.0, inplace=False, text=_ALPHA)
GELU = _layer("GELU", "gelu", approximate="none", text="approximate={approximate!r}")
SiLU = _layer("SiLU", "silu", inplace=False, text="")
Mish = _layer("Mish", "mish", inplace=False, text="")
LogSigmoid = _layer("LogSigmoid", "logsigmoid")
Hardtanh = layers_of(__name__, _Hardtanh)(
    "Hardtanh",
    "hardtanh",
    min_val=-1.0,
    max_val=1.0,
    inplace=False,
    min_value=None,
    max_value=None,
    text="min_val={min_val}, max_val={max_val}",
)


class ReLU6(Hardtanh):  # type: ignore[misc, valid-type]
    """The input within [0, 6] (torch.nn.ReLU6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


Hardsigmoid = _layer("Hardsigmoid", "hardsigmoid", inplace=False)
Hardswish = _layer("Hardswish", "hardswish", inplace=False)
Softplus = _layer(
    "Softplus", "softplus", beta=1.0, threshold=20.0, text="beta={beta}, threshold={threshold}"
)
Softsign = _layer("Softsign", "softsign")
Tanhshrink = _layer("Tanhshrink", "tanhshrink")
Softshrink = _layer("Softshrink", "softshrink", lambd=0.5, text="{lambd}")
Hardshrink = _layer("Hardshrink", "hardshrink", lambd=0.5, text="{lambd}")
Threshold = _layer(
    "Threshold",
    "threshold",
    "threshold",
    "value",
    inplace=False,
    text="threshold={threshold}, value={value}",
)
GLU = _layer("GLU", "glu", dim=-1, text=_DIM)
Softmax = _of_dim("Softmax", "softmax", dim=None, text=_DIM)
LogSoftmax = _of_dim("LogSoftmax", "log_softmax", dim=None, text=_DIM)
Softmin = _layer("Softmin", "softmin", dim=None, text=_DIM)
Softmin._impl_added_attributes = _OfDim._impl_added_attributes
