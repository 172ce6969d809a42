"""Dropout as layers."""

from __future__ import annotations

from impl.nn import functional as F
from impl.nn.modules.module import Module
from impl.tensor import Tensor


class _Dropout(Module):
    name: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.name)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Elements dropped with probability `p` (torch.nn.Dropout)."""

    name = "dropout"


class Dropout1d(_Dropout):
    """Channels of (N, C, L) dropped (torch.nn.Dropout1d)."""

    name = "dropout1d"


class Dropout2d(_Dropout):
    """Channels of (N, C, H, W) dropped (torch.nn.Dropout2d)."""

    name = "dropout2d"


class Dropout3d(_Dropout):
    """Channels of (N, C, D, H, W) dropped (torch.nn.Dropout3d)."""

    name = "dropout3d"


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance (torch.nn.AlphaDropout)."""

    name = "alpha_dropout"


class FeatureAlphaDropout(_Dropout):
    """Dropout of channels that keeps mean and variance (torch.nn.FeatureAlphaDropout)."""

    name = "feature_alpha_dropout"
