"""Average pooling over one, two or three dimensions; each backward is the other's gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.dimensions import wrap_dim
from impl.dtypes import BY_NUMPY, FLOATING
from impl.operator import TAPED, Array, operator, taking_out, written
from impl.operators.windows import Windows, check_sizes, sizes_for, sizes_for_one
from impl.precision import widened
from impl.refusals import not_implemented


def _avg_pool(raw, windows: Windows, include_pad: bool, divisor):
    kind = raw.dtype
    array = widened(raw)
    pad = windows.overhang()
    if any(map(any, pad)):
        array = np.pad(array, [(0, 0)] * (array.ndim - windows.ndim) + pad)
    lead = array.shape[: array.ndim - windows.ndim]
    total = np.zeros((*lead, *windows.output), array.dtype)
    for where in windows.slices():
        total += array[(..., *where)]
    count = windows.counts(include_pad, divisor)
    if BY_NUMPY[kind].category < FLOATING:
        return (np.sign(total) * (np.abs(total) // np.abs(count)) * np.sign(count)).astype(kind)
    return (total / count.astype(total.dtype)).astype(kind, copy=False)


def _avg_pool_backward(grad, shape, windows: Windows, include_pad: bool, divisor):
    kind = grad.dtype
    share = grad / windows.counts(include_pad, divisor).astype(kind)
    pad = windows.overhang()
    lead = len(shape) - windows.ndim
    sizes = [n + before + after for n, (before, after) in zip(shape[lead:], pad, strict=True)]
    total = np.zeros((*shape[:lead], *sizes), kind)
    # The last step of a window first: so the windows over an element come in their order, and half
    # precision rounds as torch does.
    for where in reversed([*windows.slices()]):
        total[(..., *where)] += share
    if any(map(any, pad)):
        sides = zip(shape[lead:], pad, strict=True)
        middle: Any = (..., *(slice(p, p + n) for n, (p, _) in sides))
        total = total[middle].copy()
    return total


def _check_dtype(raw, ndim: int) -> None:
    """Raise NotImplementedError for the dtypes that torch's loops leave out."""
    kind = BY_NUMPY[raw.dtype]
    if kind.name == "int64" or (kind.category == FLOATING and (ndim < 3 or kind.itemsize > 2)):
        return
    loop = "avg_pool2d" if ndim == 2 else "avg_pool3d_out_frame"
    raise not_implemented(loop, kind)


def _avg_pool_operators(ndim: int):
    """The operators `avg_poolNd` and its backward, each the other's gradient."""
    name = f"avg_pool{ndim}d"

    def windows_of(raw, kernel_size, stride, padding, ceil_mode):
        return Windows.of(raw, ndim, kernel_size, stride, padding, (1,) * ndim, ceil_mode)

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
        check_sizes(self, ndim, name)
        if ndim == 3:
            windows.check_kernel_fits()
        windows.check_output(self.shape)
        _check_dtype(self, ndim)
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

    def to_input(
        F, grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ):
        window = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return getattr(F, name + "_backward")(grad, self, *window)

    def to_gradient(
        F, grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ):
        window = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return getattr(F, name)(grad, *window)

    apply.gradient(self=to_input).forward("linear")
    apply_backward.gradient(
        grad_output=to_gradient,
        self=written(lambda F, grad, self_shape: F.new_zeros(grad, self_shape)),
    )
    return apply


_avg_pool2d = _avg_pool_operators(2)
_avg_pool3d = _avg_pool_operators(3)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The means of windows over the last dimension of (N, C, L) or (C, L).

    Padding counts as zeros that are part of the mean unless `count_include_pad` is false. Raises
    RuntimeError for other ranks and windows that do not fit (torch.nn.functional.avg_pool1d).
    """
    sizes = sizes_for_one("avg_pool1d", input, kernel_size, stride, padding, 1)[:3]
    wide = TAPED.unsqueeze(input, -2)
    return TAPED.squeeze_dim(_avg_pool2d(wide, *sizes, ceil_mode, count_include_pad, None), -2)


def _avg_pool_nd(ndim: int, input, kernel_size, stride, padding, *rest):
    name = f"avg_pool{ndim}d"
    kernel, step, pad, _ = sizes_for(name, ndim, kernel_size, stride, padding, 1)
    if ndim == 3 and input._raw.ndim not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    if rest[2] == 0:
        raise RuntimeError("divisor must be not zero")
    if ndim == 2:
        wrap_dim(-3, input._raw.ndim)
    return (_avg_pool2d if ndim == 2 else _avg_pool3d)(input, kernel, step, pad, *rest)


@taking_out
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


@taking_out
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
