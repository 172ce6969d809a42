"""Average pooling over one, two or three dimensions; each backward is the other's gradient."""

from __future__ import annotations

import numpy as np

from impl.dtypes import BY_NUMPY, FLOATING, REDUCED
from impl.operator import TAPED, Array, operator
from impl.operators.windows import Windows, sizes_for


def _avg_pool(raw, windows: Windows, include_pad: bool, divisor):
    kind = raw.dtype
    array = raw.astype(np.float32) if kind in REDUCED else raw
    total = np.zeros((*array.shape[: array.ndim - windows.ndim], *windows.output), array.dtype)
    for _, inside, index in windows.steps():
        total = total + np.where(inside, array[index], array.dtype.type(0))
    count = windows.counts(include_pad, divisor)
    if BY_NUMPY[kind].category < FLOATING:
        return (np.sign(total) * (np.abs(total) // np.abs(count)) * np.sign(count)).astype(kind)
    return (total / count.astype(total.dtype)).astype(kind)


def _avg_pool_backward(grad, shape, windows: Windows, include_pad: bool, divisor):
    kind = grad.dtype
    wide = np.dtype(np.float32) if kind in REDUCED else kind
    share = grad.astype(wide) / windows.counts(include_pad, divisor).astype(wide)
    count = int(np.prod(shape[: len(shape) - windows.ndim]))
    plane = int(np.prod(shape[len(shape) - windows.ndim :]))
    flat = np.zeros((count, plane), wide)
    rows = np.arange(count)[:, None]
    share = share.reshape(count, -1)
    if share.size:
        for places, inside, _ in windows.steps():
            inside = np.broadcast_to(inside, windows.output).reshape(-1)
            at = np.broadcast_to(places, windows.output).reshape(-1)[inside]
            np.add.at(flat, (rows, at[None, :]), share[:, inside])
    return flat.astype(kind).reshape(shape)


def _avg_pool_operators(ndim: int):
    """The operators `avg_poolNd` and its backward, each the other's gradient."""
    name = f"avg_pool{ndim}d"

    def windows_of(raw, kernel_size, stride, padding, ceil_mode):
        return Windows.of(raw, name, ndim, kernel_size, stride, padding, (1,) * ndim, ceil_mode)

    def forward(
        self: Array,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    ) -> Array:
        windows = windows_of(self, kernel_size, stride, padding, ceil_mode)
        if ndim == 3:
            windows.check_kernel_fits()
        windows.check_output(self.shape)
        return _avg_pool(self, windows, count_include_pad, divisor_override)

    def backward(
        grad_output: Array,
        self: Array,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    ) -> Array:
        windows = windows_of(self, kernel_size, stride, padding, ceil_mode)
        return _avg_pool_backward(
            grad_output, self.shape, windows, count_include_pad, divisor_override
        )

    forward.__name__ = name
    backward.__name__ = name + "_backward"
    node = f"AvgPool{ndim}DBackward"
    apply = operator(node=node + "0", function=False, method=False)(forward)
    apply_backward = operator(node=node + "Backward0", function=False, method=False)(backward)
    apply.gradient(
        self=lambda F,
        grad,
        self,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override: getattr(F, name + "_backward")(
            grad,
            self,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
        )
    )
    apply_backward.gradient(
        grad_output=lambda F,
        grad,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override: getattr(F, name)(
            grad,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
        ),
        self=lambda F, self: F.zeros_like(self),
    )
    return apply


_avg_pool2d = _avg_pool_operators(2)
_avg_pool3d = _avg_pool_operators(3)


def avg_pool1d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
):
    """The means of windows over the last dimension of (N, C, L) or (C, L).

    Padding counts as zeros that are part of the mean unless `count_include_pad` is false. Raises
    RuntimeError for other ranks and windows that do not fit (torch.nn.functional.avg_pool1d).
    """
    ndim = input._raw.ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {ndim}-dimensional tensor for argument #1 "
            "'self' (while checking arguments for avg_pool1d)"
        )

    def single(name, value):
        if isinstance(value, int):
            return value
        if len(value) != 1:
            raise RuntimeError(
                f"avg_pool1d() argument '{name}' should contain one int (got {len(value)})"
            )
        return value[0]

    kernel = single("kernel_size", kernel_size)
    empty = stride is None or (not isinstance(stride, int) and len(stride) == 0)
    step = kernel if empty else single("stride", stride)
    pad = single("padding", padding)
    wide = TAPED.unsqueeze(input, -2)
    result = _avg_pool2d(
        wide, (1, kernel), (1, step), (0, pad), ceil_mode, count_include_pad, None
    )
    return TAPED.squeeze_dim(result, -2)


def _avg_pool_nd(ndim: int, input, kernel_size, stride, padding, *rest):
    name = f"avg_pool{ndim}d"
    kernel, step, pad, _ = sizes_for(name, ndim, kernel_size, stride, padding, 1)
    if rest[2] == 0:
        raise RuntimeError("divisor must be not zero")
    if input._raw.ndim not in (ndim + 1, ndim + 2):
        if ndim == 2 and input._raw.ndim < 3:
            n = max(input._raw.ndim, 1)
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got -3)"
            )
        raise RuntimeError(
            f"non-empty {ndim + 1}D or {ndim + 2}D (batch mode) tensor expected for input"
        )
    return (_avg_pool2d if ndim == 2 else _avg_pool3d)(input, kernel, step, pad, *rest)


def avg_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """The means of windows over the last two dimensions; `divisor_override` replaces the count.

    See `avg_pool1d` (torch.nn.functional.avg_pool2d).
    """
    return _avg_pool_nd(
        2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """The means of windows over the last three dimensions; see `avg_pool2d`."""
    return _avg_pool_nd(
        3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
