"""Maxima put back where they were, as layers."""

from __future__ import annotations

from impl.nn import functional as F
from impl.nn.modules.module import Module
from impl.tensor import Tensor


class _MaxUnpool(Module):
    spatial: int
    unpool: str

    def __init__(self, kernel_size, stride=None, padding=0) -> None:
        super().__init__()
        self.kernel_size = self._each(kernel_size)
        self.stride = self._each(kernel_size if stride is None else stride)
        self.padding = self._each(padding)

    def _each(self, value):
        return (value,) * self.spatial if isinstance(value, int) else tuple(value)

    def forward(self, input: Tensor, indices: Tensor, output_size=None) -> Tensor:
        unpool = getattr(F, self.unpool)
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Over the last dimension (torch.nn.MaxUnpool1d)."""

    spatial, unpool = 1, "max_unpool1d"


class MaxUnpool2d(_MaxUnpool):
    """Over the last two dimensions (torch.nn.MaxUnpool2d)."""

    spatial, unpool = 2, "max_unpool2d"


class MaxUnpool3d(_MaxUnpool):
    """Over the last three dimensions (torch.nn.MaxUnpool3d)."""

    spatial, unpool = 3, "max_unpool3d"
