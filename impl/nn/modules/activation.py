"""Activations as layers."""

from __future__ import annotations

from impl.nn import functional as F
from impl.nn.init import constant_
from impl.nn.modules.families import nondefault
from impl.nn.modules.function_layer import layers_of
from impl.nn.modules.module import Module
from impl.nn.parameter import empty_parameter
from impl.tensor.tensor import Tensor


class PReLU(Module):
    """ReLU with a learnable slope, one for all channels or one for each (torch.nn.PReLU)."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = empty_parameter(num_parameters, dtype)
        constant_(self.weight, init)

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
        return f"lower={self.lower}, upper={self.upper}" + nondefault(self, inplace=False)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W) (torch.nn.Softmax2d)."""

    def forward(self, input: Tensor) -> Tensor:
        if input._raw.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input._raw.ndim}D instead"
            )
        return F.softmax(input, -3)


_layer = layers_of(__name__)

ReLU = _layer("ReLU", "relu", inplace=False)
ReLU6 = _layer("ReLU6", "relu6", inplace=False)
LeakyReLU = _layer("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
ELU = _layer("ELU", "elu", alpha=1.0, inplace=False)
SELU = _layer("SELU", "selu", inplace=False)
CELU = _layer("CELU", "celu", alpha=1.0, inplace=False)
GELU = _layer("GELU", "gelu", approximate="none")
SiLU = _layer("SiLU", "silu", inplace=False)
Mish = _layer("Mish", "mish", inplace=False)
Sigmoid = _layer("Sigmoid", "sigmoid")
Tanh = _layer("Tanh", "tanh")
LogSigmoid = _layer("LogSigmoid", "logsigmoid")
Hardtanh = _layer("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = _layer("Hardsigmoid", "hardsigmoid", inplace=False)
Hardswish = _layer("Hardswish", "hardswish", inplace=False)
Softplus = _layer("Softplus", "softplus", beta=1.0, threshold=20.0)
Softsign = _layer("Softsign", "softsign")
Tanhshrink = _layer("Tanhshrink", "tanhshrink")
Softshrink = _layer("Softshrink", "softshrink", lambd=0.5)
Hardshrink = _layer("Hardshrink", "hardshrink", lambd=0.5)
Threshold = _layer("Threshold", "threshold", "threshold", "value", inplace=False)
GLU = _layer("GLU", "glu", dim=-1)
Softmax = _layer("Softmax", "softmax", dim=None)
LogSoftmax = _layer("LogSoftmax", "log_softmax", dim=None)
Softmin = _layer("Softmin", "softmin", dim=None)
