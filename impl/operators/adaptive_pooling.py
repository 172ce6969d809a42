"""Means over windows that are as many as asked for, whatever the input's size."""

from __future__ import annotations

import numpy as np

from impl.dtypes import REDUCED
from impl.operator import TAPED, Array, operator, written
from impl.precision import widened
from impl.refusals import refuse_complex
from impl.tensor import Tensor


def _windows(size: int, count: int) -> list[slice]:
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _shares(size: int, count: int, dtype) -> np.ndarray:
    """(count, size): how much each element counts in each window's mean."""
    result = np.zeros((count, size), dtype)
    for i, window in enumerate(_windows(size, count)):
        result[i, window] = 1 / (window.stop - window.start)
    return result


@operator(node="AdaptiveAvgPool2DBackward0", function=False, method=False)
def adaptive_avg_pool2d_op(self: Array, output_size) -> Array:
    refuse_complex(self, "adaptive_avg_pool2d")
    x = widened(self)
    rows, columns = (_shares(n, m, x.dtype) for n, m in zip(x.shape[-2:], output_size, strict=True))
    return np.matmul(np.matmul(rows, x), columns.T).astype(self.dtype, copy=False)


@operator(node="AdaptiveAvgPool2DBackwardBackward0", function=False, method=False)
def adaptive_avg_pool2d_backward(grad_output: Array, self: Array) -> Array:
    g = grad_output
    sizes = zip(self.shape[-2:], g.shape[-2:], strict=True)
    if g.dtype in REDUCED:
        return _spread(g, self.shape, *(_windows(n, m) for n, m in sizes))
    rows, columns = (_shares(n, m, g.dtype) for n, m in sizes)
    return np.matmul(np.matmul(rows.T, g), columns)


def _spread(grad, shape, rows, columns) -> np.ndarray:
    """Each gradient divided among its window, with a rounding for each step."""
    number = grad.dtype.type
    result = np.zeros(shape, grad.dtype)
    for i, down in enumerate(rows):
        for j, across in enumerate(columns):
            height, width = down.stop - down.start, across.stop - across.start
            share = grad[..., i, j] / number(height) / number(width)
            result[..., down, across] += share[..., None, None]
    return result


adaptive_avg_pool2d_op.gradient(
    self=lambda F, grad, self: F.adaptive_avg_pool2d_backward(grad, self)
).forward("linear")
adaptive_avg_pool2d_backward.gradient(
    grad_output=lambda F, grad, grad_output_shape: F.adaptive_avg_pool2d_op(
        grad, tuple(grad_output_shape[-2:])
    ),
    self=written(lambda F, grad, self_shape: F.new_zeros(grad, self_shape)),
)


def _sizes(output_size, shape) -> tuple[int, ...]:
    count = len(shape)
    if isinstance(output_size, int):
        output_size = (output_size,) * count
    return tuple(n if m is None else m for m, n in zip(output_size, shape, strict=True))


def adaptive_avg_pool2d(input, output_size) -> Tensor:
    """Means of as many windows over the last two dimensions as `output_size` says; None keeps a
    size (torch.nn.functional.adaptive_avg_pool2d). Raises RuntimeError unless 3-D or 4-D."""
    shape = input._raw.shape
    if len(shape) not in (3, 4):
        raise RuntimeError(f"adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {[*shape]}")
    size = _sizes(output_size, shape[-2:])
    if size == (1, 1):
        return input.mean((-1, -2), True)
    return adaptive_avg_pool2d_op(input, size)


def adaptive_avg_pool1d(input, output_size) -> Tensor:
    """`adaptive_avg_pool2d` over the last dimension of (N, C, L) or (C, L)
    (torch.nn.functional.adaptive_avg_pool1d)."""
    shape = input._raw.shape
    if len(shape) not in (2, 3):
        raise RuntimeError(
            "Expected 2 to 3 dimensions, but got "
            f"{len(shape)}-dimensional tensor for argument #1 'self' (while checking arguments "
            "for adaptive_avg_pool1d)"
        )
    if not isinstance(output_size, int):
        (output_size,) = output_size
    plane = TAPED.unsqueeze(input, -2)
    return TAPED.squeeze_dim(adaptive_avg_pool2d(plane, (1, output_size)), -2)
