"""Max pooling over one, two or three dimensions.

A window's maximum is the first element in scan order that is largest, and NaN counts as larger
than all before it, so the last NaN wins. One dimension is pooled as two when a gradient is needed,
as torch does. The windows' arithmetic is in `windows`.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.indices import check_gathered
from impl.core.memory_formats import channels_last, channels_last_3d, formatted_as, suggested_by
from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.dispatch.autocast import raised
from impl.dispatch.definition import Array, formula_operation, function, native, operator, written
from impl.dispatch.facts import USUAL_NAMES, NoComplex, SavedAs
from impl.dispatch.not_implemented import (
    not_implemented,
    refuse_bool,
    require_gradient_dtype,
    require_scalar_type,
)
from impl.kernels.reduced_precision import add_each_at, widened
from impl.operators.images.pooling_windows import (
    Windows,
    check_sizes,
    is_one_size,
    sizes_for,
    sizes_for_one,
)
from impl.tensor.forward_grad import has_tangent
from impl.tensor.tensor import requires_grad

# -- maxima -----------------------------------------------------------------------------------


def _check_rank(raw, ndim: int) -> None:
    """Raise RuntimeError unless there are channels and perhaps a batch before the windows."""
    if raw.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"non-empty {ndim + 1}D or {ndim + 2}D (batch mode) tensor expected for input"
        )


def _plain_maxima(array, windows: Windows):
    """Maxima and where they are, by comparing slices; None where padding or NaN may be the largest.

    Where several elements are largest, the first one in scan order is taken.
    """
    pad = windows.overhang()
    if not array.size or (any(map(any, pad)) and array.dtype.kind != "f"):
        return None
    if any(map(any, pad)):
        sides = [(0, 0)] * (array.ndim - windows.ndim) + pad
        array = np.pad(array, sides, constant_values=-np.inf)
    parts = [array[(..., *where)] for where in windows.slices()]
    best = parts[0].copy()
    small = np.min_scalar_type(len(parts)).type
    which = np.zeros(best.shape, small)
    for number, part in enumerate(parts[1:], 1):
        # The number of the last part that was larger than all before it.
        np.maximum(which, (part > best) * small(number), out=which)
        np.maximum(best, part, out=best)
    if array.dtype.kind == "f" and not (best > -np.inf).all():  # not so for NaN either
        return None
    return best, windows.first_offsets() + windows.offsets_in_plane().take(which)


def _first_places(raw, windows: Windows):
    """The place that a window of minus infinities keeps: its first, but by torch's kernel for
    channels last in three dimensions that of its first plane in the first."""
    first = windows.first_places()
    if raw.ndim == 5 and windows.ndim == 3 and suggested_by(raw) is channels_last_3d:
        return first % math.prod(raw.shape[-2:])
    return first


def _max_pool(raw, windows: Windows, name: str):
    refuse_bool(raw, name)
    array = widened(raw)
    if (quick := _plain_maxima(array, windows)) is not None:
        return quick[0].astype(raw.dtype, copy=False), quick[1]
    lead = array.shape[: array.ndim - windows.ndim]
    shape = (*lead, *windows.output)
    floating = BY_NUMPY[array.dtype].category >= FLOATING
    lowest = -np.inf if floating else np.iinfo(array.dtype).min
    best = np.full(shape, lowest, array.dtype)
    index = np.broadcast_to(_first_places(raw, windows), shape).copy()
    for places, inside, index_of in windows.steps():
        value = array[index_of]
        better = value > best
        if floating:
            better = better | np.isnan(value)
        better = better & inside
        best = np.where(better, value, best)
        index = np.where(better, places, index)
    return best.astype(raw.dtype), index


def _max_pool_operators(ndim: int):
    """The operators `max_poolNd_with_indices` and its backward."""

    def forward(self: Array, kernel_size, stride, padding, dilation, ceil_mode) -> Array:
        _check_rank(self, ndim)
        windows = Windows.of(self, ndim, kernel_size, stride, padding, dilation, ceil_mode)
        check_sizes(self, ndim, f"max_pool{ndim}d_with_indices_out_cpu_template")
        windows.check_output(self.shape)
        if ndim == 3 and suggested_by(self) is channels_last:
            raise RuntimeError(
                "Unsupported memory format. Supports only ChannelsLast3d, Contiguous"
            )
        values, indices = _max_pool(self, windows, f"max_pool{ndim}d")
        if self.ndim == ndim + 2:
            return formatted_as(values, self), formatted_as(indices, self)
        return values, indices

    def backward(
        grad_output: Array,
        self: Array,
        kernel_size,
        stride,
        padding,
        dilation,
        ceil_mode,
        indices: Array,
    ) -> Array:
        require_gradient_dtype("gradOutput", grad_output, self.dtype)
        result = scatter_plane(grad_output, indices, self.shape, ndim)
        return formatted_as(result, self) if self.ndim == ndim + 2 else result

    forward.__name__ = f"max_pool{ndim}d_with_indices"
    settings = "kernel_size, stride, padding, dilation, ceil_mode"
    refused, unshown = NoComplex(f"max_pool{ndim}d"), SavedAs(parts=())
    node = f"MaxPool{ndim}DWithIndices"
    facts = {"complex": refused, "writes": int(ndim == 3)}  # it resizes empty tensors in ATen
    return define_maxima(forward, backward, node, ndim, settings, True, unshown, **facts)


@written
def zeros_of_self(F, grad, self_shape):
    """The gradient of the operand of a backward that needs only its shape."""
    return F.new_zeros(grad, self_shape)


def define_maxima(
    forward,
    backward,
    node: str,
    ndim: int,
    settings: str = "",
    fresh=None,
    backward_saved_as=USUAL_NAMES,
    batching="fold",
    **facts,
):
    """Define the operator of a pooling of maxima, which returns values and indices, and its
    backward, which takes the operator's `settings` by these names; returns the operator.

    `fresh` and `batching` as in `operator`, `fresh` by default of two dimensions; `facts` are those
    of the operator.
    """
    name = backward.__name__ = f"{forward.__name__}_backward"
    hidden: dict[str, Any] = {"function": False, "method": False}
    hidden["fresh"] = ndim == 2 if fresh is None else fresh
    apply = operator(
        node=f"{node}Backward0",
        outputs=("result0", "result1"),
        batching=batching,
        **hidden,
        **facts,
    )(forward)
    arguments = f"grad, self, {settings}, result1" if settings else "grad, self, result1"
    apply.differentiable("result0").gradient(self=f"F.{name}({arguments})")
    apply.forward(result0=lambda F, self_t, result1: F.gather_plane(self_t, result1, ndim))
    hidden["saved_as"] = backward_saved_as
    hidden["batching"] = "fold" if batching == "merged" else batching
    operator(node=f"{node}BackwardBackward0", **hidden)(backward).gradient(
        grad_output=f"F.gather_plane(grad, indices, {ndim})", self=zeros_of_self
    )
    return apply


def scatter_plane(grad, indices, shape, ndim: int):
    """Add each gradient to the element its index names within the last `ndim` dimensions."""
    kind = grad.dtype
    lead = shape[: len(shape) - ndim]
    count = int(np.prod(lead))
    plane = int(np.prod(shape[len(shape) - ndim :]))
    result = np.zeros(shape, kind)  # in memory of its own, which later gradients are added to
    require_scalar_type(indices, np.dtype(np.int64))
    if grad.size:
        places = (indices.reshape(count, -1) + plane * np.arange(count)[:, None]).reshape(-1)
        add_each_at(result.reshape(-1), places, grad.reshape(-1))
    return result


@formula_operation
def gather_plane(grad, indices, ndim):
    """The gradient at each index within the last `ndim` dimensions (max_pool_double_backward)."""
    shape = indices.shape
    lead = shape[: len(shape) - ndim]
    count = int(np.prod(lead))
    if not indices.size:
        return np.zeros(shape, grad.dtype)
    check_gathered(indices, len(lead), int(np.prod(grad.shape[len(lead) :])))
    flat = np.take_along_axis(grad.reshape(count, -1), indices.reshape(count, -1), 1)
    return np.ascontiguousarray(flat).reshape(shape)


def _gather_plane_tensor(grad, indices, ndim):
    shape = indices._raw.shape
    if not indices._raw.size:
        return grad.new_zeros(shape)
    folded = (*shape[: len(shape) - ndim], -1)
    flat = tensor_ops.view(grad.contiguous(), folded)
    return tensor_ops.view(tensor_ops.gather(flat, -1, tensor_ops.view(indices, folded)), shape)


tensor_ops.gather_plane = _gather_plane_tensor

_max_pool2d = _max_pool_operators(2)
_max_pool3d = _max_pool_operators(3)


@operator(function=False, method=False, batching="fold")
def max_pool1d_values(self: Array, kernel_size, stride, padding, dilation, ceil_mode) -> Array:
    """Maxima without indices, when no gradient is needed."""
    windows = Windows(
        (1, self.shape[-1]), (1, kernel_size), (1, stride), (0, padding), (1, dilation), ceil_mode
    )
    return _max_pool(self[..., None, :], windows, "max_pool1d_impl")[0][..., 0, :]


def _given(stride):
    """The stride, None for an empty list, which stands for the kernel's size."""
    return None if stride == () or stride == [] else stride


@function(method=False)
def max_pool1d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last dimension, and where they are
    (torch.max_pool1d_with_indices).

    Arguments as `max_pool1d`, errors as `max_pool2d`, by which they are found.
    """
    sizes = sizes_for_one("max_pool1d", input, kernel_size, _given(stride), padding, dilation)
    values, indices = _max_pool2d(tensor_ops.unsqueeze(input, -2), *sizes, ceil_mode)
    return tensor_ops.squeeze_dim(values, -2), tensor_ops.squeeze_dim(indices, -2)


def _check_max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode):
    shape = input._raw.shape
    if len(shape) not in (2, 3) or 0 in shape[len(shape) - 2 :]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{[*shape]}"
        )

    def single(name, value, text):
        if is_one_size(value):
            return index(value)
        if len(value) != 1:
            raise RuntimeError(f"max_pool1d() {name} must be {text} but got size {len(value)}")
        return value[0]

    sizes = "an int, list of ints{} or tuple of ints of size 1"
    some, others = sizes.format(""), sizes.format(",")
    kernel = single("kernel_size", kernel_size, some)
    empty = stride is None or (not is_one_size(stride) and len(stride) == 0)
    step = kernel if empty else single("stride", stride, f"None, {others}")
    pad = single("padding", padding, others)
    gap = single("dilation", dilation, some)
    for name, value in (("kernel_size", kernel), ("stride", step)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if pad < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {pad}")
    if pad > kernel // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={pad} and kernel_size={kernel}"
        )
    if gap <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {gap}")
    if (kernel - 1) * gap + 1 >= 2**63:
        raise RuntimeError(
            f"effective kernel size overflows, but got kernel_size={kernel} and dilation={gap}"
        )
    windows = Windows((shape[-1],), (kernel,), (step,), (pad,), (gap,), ceil_mode)
    if windows.output[0] <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {windows.output[0]}")
    return kernel, step, pad, gap


@function(method=False)
def max_pool1d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last dimension of (N, C, L) or (C, L) (torch.max_pool1d).

    Raises RuntimeError for other ranks, and for windows that do not fit.
    """
    arguments = (kernel_size, _given(stride), padding, dilation, ceil_mode)
    kernel, step, pad, gap = _check_max_pool1d(input, *arguments)
    if (STATE.enabled and requires_grad(input)) or has_tangent(input):
        return max_pool1d_with_indices(input, *arguments)[0]
    if input.dtype.category != FLOATING:
        raise not_implemented("max_pool1d_impl", input.dtype)
    if input._raw.ndim == 3:
        return max_pool1d_values(input, kernel, step, pad, gap, ceil_mode)
    batch = max_pool1d_values(tensor_ops.unsqueeze(input, 0), kernel, step, pad, gap, ceil_mode)
    return batch.squeeze_(0)


@native()
def max_pool2d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last two dimensions, and where they are."""
    sizes = sizes_for("max_pool2d", 2, kernel_size, _given(stride), padding, dilation)
    return _max_pool2d(input, *sizes, ceil_mode)


@native()
def max_pool3d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last three dimensions, and where they are."""
    sizes = sizes_for("max_pool3d", 3, kernel_size, _given(stride), padding, dilation)
    return _max_pool3d(input, *sizes, ceil_mode)


@function(method=False)
def max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last two dimensions of (N, C, H, W) or (C, H, W)
    (torch.max_pool2d)."""
    return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@function(method=False)
def max_pool3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last three dimensions of (N, C, D, H, W) or (C, D, H, W)
    (torch.max_pool3d)."""
    if STATE.autocast is not None:
        (input,) = raised(input)
    return max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)[0]
