"""Power-average pooling: windows reduced to the p-th root of their summed p-th powers."""

from __future__ import annotations

import math

from impl.nn.activation import relu
from impl.operators.average_pooling import avg_pool1d, avg_pool2d, avg_pool3d
from impl.operators.pooling import max_pool1d, max_pool2d, max_pool3d
from impl.tensor import Tensor


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of a (N, C, L) or (C, L) input, with p of `norm_type`.

    The root is taken of the size of the sum, and its sign goes with it. An infinite p takes the
    largest (or smallest) size (torch.nn.functional.lp_pool1d).
    """
    pools = max_pool1d, avg_pool1d
    return _pooled(pools, input, norm_type, kernel_size, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of a (N, C, H, W) or (C, H, W) input; see `lp_pool1d`."""
    count, pools = _elements(kernel_size, 2), (max_pool2d, avg_pool2d)
    return _pooled(pools, input, norm_type, kernel_size, count, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of a (N, C, D, H, W) or (C, D, H, W) input; see `lp_pool1d`."""
    count, pools = _elements(kernel_size, 3), (max_pool3d, avg_pool3d)
    return _pooled(pools, input, norm_type, kernel_size, count, stride, ceil_mode)


def _elements(kernel_size, dims: int) -> int:
    return kernel_size**dims if isinstance(kernel_size, int) else math.prod(kernel_size)


def _pooled(pools, input, norm_type, kernel_size, count, stride, ceil_mode) -> Tensor:
    largest, averaged = pools
    if norm_type == math.inf:
        return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -math.inf:
        return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    mean = averaged(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * relu(mean.abs())).mul(count).pow(1.0 / norm_type)
