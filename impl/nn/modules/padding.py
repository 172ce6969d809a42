"""Padding as layers: constant, reflected, replicated from the edge, or circular."""

from __future__ import annotations

from collections.abc import Iterable

from impl.nn import functional as F
from impl.nn.modules.families import by_dimension, check_rank
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor


class _PadNd(Module):
    """Pads the last `_ndim` dimensions; one number stands for all sides."""

    _ndim: int
    _mode: str

    def __init__(self, padding) -> None:
        super().__init__()
        self._set_sides(padding)

    def _set_sides(self, padding) -> None:
        sides = 2 * self._ndim
        self.padding = tuple(padding) if isinstance(padding, Iterable) else (padding,) * sides

    def forward(self, input: Tensor) -> Tensor:
        if self._mode == "circular":
            check_rank(input, self._ndim + 1, self._ndim + 2)
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    _mode = "constant"

    def __init__(self, padding, value: float) -> None:
        Module.__init__(self)
        self.value = value
        self._set_sides(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


ConstantPad1d, ConstantPad2d, ConstantPad3d = by_dimension(
    _ConstantPadNd, "ConstantPad{}d", "{} padded with a value"
)
ZeroPad1d, ZeroPad2d, ZeroPad3d = [
    by_dimension((_ZeroPadNd, base), "ZeroPad{}d", "{} padded with zeros", (ndim,))[0]
    for ndim, base in enumerate((ConstantPad1d, ConstantPad2d, ConstantPad3d), 1)
]
CircularPad1d, CircularPad2d, CircularPad3d = by_dimension(
    _PadNd, "CircularPad{}d", "{} padded from the other end", _mode="circular"
)
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = by_dimension(
    _PadNd, "ReflectionPad{}d", "{} padded by reflection", _mode="reflect"
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = by_dimension(
    _PadNd, "ReplicationPad{}d", "{} padded with its edge", _mode="replicate"
)
