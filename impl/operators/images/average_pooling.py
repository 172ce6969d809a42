"""Average pooling over one, two or three dimensions; each backward is the other's gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.dims import existing_dim
from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.memory_formats import formatted_as
from impl.core.registry import tensor_ops
from impl.core.strides import element_strides
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import CastPolicy
from impl.dispatch.not_implemented import (
    not_implemented,
    require_gradient_dtype,
    require_scalar_type,
)
from impl.dispatch.out import named_out
from impl.kernels.reduced_precision import widened
from impl.operators.images.pooling import zeros_of_self
from impl.operators.images.pooling_windows import Windows, check_sizes, sizes_for, sizes_for_one


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
        self: Array, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ) -> Array:
        windows = windows_of(self, kernel_size, stride, padding, ceil_mode)
        check_sizes(self, ndim, name)
        if ndim == 3:
            windows.check_kernel_fits()
        windows.check_output(self.shape)
        _check_dtype(self, ndim)
        result = _avg_pool(self, windows, count_include_pad, divisor_override)
        return formatted_as(result, self) if ndim == 2 else result

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
        if ndim == 2:
            require_gradient_dtype("gradOutput", grad_output, self.dtype)
        else:
            require_scalar_type(grad_output, self.dtype)
        windows = windows_of(self, kernel_size, stride, padding, ceil_mode)
        result = _avg_pool_backward(
            grad_output, self.shape, windows, count_include_pad, divisor_override
        )
        return formatted_as(result, self) if ndim == 2 else result

    forward.__name__ = name
    backward.__name__ = name + "_backward"
    node = f"AvgPool{ndim}DBackward"
    policy: CastPolicy | None = "fp32" if ndim == 3 else None
    settings: dict[str, Any] = {"function": False, "method": False, "fresh": ndim == 2}
    apply = operator(node=node + "0", autocast=policy, batching="merged", **settings)(forward)
    apply_backward = operator(node=node + "Backward0", batching="merged", **settings)(backward)

    @apply.structured
    def meta(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        windows = windows_of(self, kernel_size, stride, padding, ceil_mode)
        check_sizes(self, ndim, name)
        if ndim == 3:
            windows.check_kernel_fits()
        windows.check_output(self.shape)
        shape = (*self.shape[: self.ndim - ndim], *windows.output)
        if ndim == 3:
            return shape, self.dtype
        return shape, self.dtype, element_strides(formatted_as(np.empty(shape, self.dtype), self))

    window = "kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override"
    apply.gradient(self=f"F.{name}_backward(grad, self, {window})").forward("linear")
    apply_backward.gradient(grad_output=f"F.{name}(grad, {window})", self=zeros_of_self)
    return apply


_avg_pool2d = _avg_pool_operators(2)
_avg_pool3d = _avg_pool_operators(3)


@function(method=False)
def avg_pool1d(input, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True):
    """The means of windows over the last dimension of (N, C, L) or (C, L).

    Padding counts as zeros that are part of the mean unless `count_include_pad` is false. Raises
    RuntimeError for other ranks and windows that do not fit (torch.nn.functional.avg_pool1d).
    """
    sizes = sizes_for_one("avg_pool1d", input, kernel_size, stride, padding, 1)[:3]
    wide = tensor_ops.unsqueeze(input, -2)
    return tensor_ops.squeeze_dim(_avg_pool2d(wide, *sizes, ceil_mode, count_include_pad, None), -2)


def _avg_pool_nd(ndim: int, apply, doc: str):
    name = f"avg_pool{ndim}d"

    def avg_pool(
        input,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
        *,
        out=None,
    ):
        kernel, step, pad, _ = sizes_for(name, ndim, kernel_size, stride, padding, 1)
        if ndim == 3 and input._raw.ndim not in (4, 5):
            raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        if ndim == 2:
            existing_dim(-3, input._raw.ndim)
        arguments = input, kernel, step, pad, ceil_mode, count_include_pad, divisor_override
        return apply(*arguments) if out is None else apply.call_out(out, arguments)

    avg_pool.__name__ = avg_pool.__qualname__ = name
    avg_pool.__doc__ = doc
    return named_out(name)(avg_pool)


avg_pool2d = _avg_pool_nd(
    2,
    _avg_pool2d,
    """The means of windows over the last two dimensions; `divisor_override` replaces the count.

    See `avg_pool1d` (torch.nn.functional.avg_pool2d).
    """,
)
avg_pool3d = _avg_pool_nd(
    3,
    _avg_pool3d,
    """The means of windows over the last three dimensions; see `avg_pool2d`
    (torch.nn.functional.avg_pool3d).""",
)
