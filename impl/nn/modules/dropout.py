"""Dropout as layers."""

from __future__ import annotations

from impl.nn import functional as F
from impl.nn.modules.families import layer_class
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor


class _DropoutNd(Module):
    _function: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class _AlphaDropoutNd(_DropoutNd):
    """Dropout that has the option `inplace`, and does not heed it."""

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.p, self.training)


Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout = (
    layer_class(
        (_AlphaDropoutNd if "Alpha" in name else _DropoutNd,), name, text, _function=function
    )
    for name, function, text in (
        ("Dropout", "dropout", "Elements set to zero with probability `p`"),
        ("Dropout1d", "dropout1d", "Channels of (N, C, L) set to zero"),
        ("Dropout2d", "dropout2d", "Channels of (N, C, H, W) set to zero"),
        ("Dropout3d", "dropout3d", "Channels of (N, C, D, H, W) set to zero"),
        ("AlphaDropout", "alpha_dropout", "Dropout that keeps mean and variance"),
        ("FeatureAlphaDropout", "feature_alpha_dropout", "`AlphaDropout` of whole channels"),
    )
)
