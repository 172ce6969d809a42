"""Activations with parameters or with a form of their own."""

from __future__ import annotations

from impl.creation import empty
from impl.nn import functional as F
from impl.nn.init import constant_
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.tensor import Tensor


class PReLU(Module):
    """relu with a learnt slope, one or one for each channel (torch.nn.PReLU)."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, dtype=dtype))
        constant_(self.weight, init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """relu with slopes below 0 drawn from a range in training, else their mean (torch.nn.RReLU)."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        text = f"lower={self.lower}, upper={self.upper}"
        return text + (", inplace=True" if self.inplace else "")


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W) (torch.nn.Softmax2d)."""

    def forward(self, input: Tensor) -> Tensor:
        if input._raw.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input._raw.ndim}D instead"
            )
        return F.softmax(input, -3)
