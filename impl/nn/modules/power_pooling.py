"""Power-average pooling as layers."""

from __future__ import annotations

from impl.nn import functional as F
from impl.nn.modules.module import Module
from impl.tensor import Tensor


class _PowerPool(Module):
    ndim: int

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"lp_pool{self.ndim}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_PowerPool):
    """The p-norms of windows of (N, C, L) or (C, L) (torch.nn.LPPool1d)."""

    ndim = 1


class LPPool2d(_PowerPool):
    """The p-norms of windows of (N, C, H, W) or (C, H, W) (torch.nn.LPPool2d)."""

    ndim = 2


class LPPool3d(_PowerPool):
    """The p-norms of windows of (N, C, D, H, W) or (C, D, H, W) (torch.nn.LPPool3d)."""

    ndim = 3
