"""Copies: clone, contiguous, copy_, fill_ and zero_, and the copies that the engine makes."""

from __future__ import annotations

import numpy as np

from impl.core import inference_mode, messages
from impl.core.memory_formats import contiguous_format, preserve_format
from impl.core.meta_arrays import MetaArray, like, meta_strided
from impl.core.named_types import type_name
from impl.core.registry import tensor_ops
from impl.core.sizes import broadcast_shapes, repeated_dims
from impl.core.strides import empty_strided, extent, is_dense
from impl.core.warning import warn_once
from impl.core.zero_arrays import refuse_copy
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.dispatch_modes import called_aten
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.vmap_rules import fronted, hide
from impl.kernels.casting import converted, discards, filled
from impl.tensor.aliases import alias
from impl.tensor.allocation import strides_in
from impl.tensor.batched_tensor import levels_of, repeated
from impl.tensor.geometry import Geometry
from impl.tensor.memory_overlap import check_shape, is_same_memory
from impl.tensor.tensor import Tensor, is_asked, new

# -- clone ------------------------------------------------------------------------------------


@operator(function=False, method=False, node="CloneBackward0", fresh=True, writes=1)
def clone_layout(self: Array, strides, memory_format=preserve_format) -> Array:
    if strides is None:
        return np.array(self, order="C")
    copy = empty_strided(self.shape, strides, self.dtype)
    copy[...] = self
    return copy


@clone_layout.on_meta
def _clone_on_meta(self, strides, memory_format):
    return meta_strided(self.shape, self.dtype, strides)


@clone_layout.batches
def _clone_of_batch(args, level):
    batch, strides, _ = args
    if strides is not None or batch._strides is None:
        return batch._over(batch._value.clone())
    return hide(fronted(batch, level).clone(memory_format=contiguous_format), level)


clone_layout.gradient(self=lambda F, grad: grad)
clone_layout.forward("linear")


@function(batching="physical")
def clone(input, *, memory_format=preserve_format):
    """A copy with its own storage, recorded as CloneBackward0 (torch.clone).

    A dense tensor's strides are kept; others become dense in the same order of dimensions.
    Row-major with `torch.contiguous_format`.
    """
    if inference_mode.records_copies(input):
        return new(np.empty(input._raw.shape, input._raw.dtype)).copy_(input)
    strides = strides_in(input, memory_format)
    result = clone_layout(input, strides, memory_format)
    if strides is not None and type(result) is Tensor:
        result._strides = strides
    return result


def _clone_of_aten(self, strides, memory_format):
    usual = memory_format in (None, preserve_format)
    return (self,), {} if usual else {"memory_format": memory_format}


clone_layout.as_aten(_clone_of_aten, clone)


@function("contiguous", torch=False)
def contiguous(self, memory_format=contiguous_format):
    """The tensor itself if it is row-major, else a row-major clone (torch.Tensor.contiguous).

    The same for other memory formats. Raises RuntimeError for a rank that the format excludes.
    """
    if self.is_contiguous(memory_format=memory_format):
        return self
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return clone(self, memory_format=memory_format)


# -- copying into -----------------------------------------------------------------------------


@operator(
    function=False,
    method=False,
    node="CopyBackwards",
    memory=MemoryOverlap(resolves=False),
    batching="pointwise",
)
def copy(self: Array, src: Array) -> Array:
    """`src` in the shape and dtype of `self`. Raises RuntimeError when it does not broadcast."""
    refuse_copy(self)
    if src.shape != self.shape:
        check_shape(self.shape, broadcast_shapes(self.shape, src.shape))
    if discards(src.dtype, self.dtype) and self.size:
        warn_once(messages.DISCARDED)
    value = converted(src, self.dtype)
    # A copy, because source and target may overlap.
    return np.array(np.broadcast_to(value, self.shape))


@operator(
    function=False,
    method=False,
    node="CopyBackwards",
    memory=MemoryOverlap(within=True, resolves=False),
)
def copy_onto_itself(self: Array, src: Array) -> Array:
    """`src`, which is the same memory: torch writes nothing, so elements may share memory."""
    return np.array(self)


copy.iterates = True
copy.checks_devices = False
copy.on_meta(lambda self, src: np.broadcast_to(src, self.shape).astype(self.dtype))
for _op in (copy, copy_onto_itself):
    _op.gradient(
        self=lambda F, grad: F.new_zeros(grad, grad.shape),
        src=lambda F, grad, src_dtype, src_device: F.cast_gradient(grad, src_dtype, src_device),
    )
    _op.forward(lambda F, self_t, self, src_t: _passed_on(self_t, self, src_t), writes=True)


def _passed_on(own, self, tangent):
    """The tangent of copy_: the source's `tangent`, written to the target's tangent `own` if it
    exists."""
    if own is not None:
        return own.fill_(0) if tangent._zero else own.copy_(tangent)
    if tangent._raw.shape == self._raw.shape:
        return tangent.clone()
    return tensor_ops.expand(tangent, self._raw.shape)


@function("copy_", torch=False)
def copy_(self, src, non_blocking=False):
    """Write `src`, broadcast and cast, into the tensor (torch.Tensor.copy_).

    Raises RuntimeError when the shapes do not fit, and the errors of in-place operations.
    """
    if isinstance(src, (bool, int, float, complex)):
        src = new(np.array(src))
    if not isinstance(src, Tensor):
        raise TypeError(
            f"copy_(): argument 'other' (position 1) must be Tensor, not {type_name(src)}"
        )
    if src.is_meta and not self.is_meta:
        raise NotImplementedError(messages.NO_DATA)
    return (copy_onto_itself if is_same_memory(self, src) else copy).inplace(self, src)


# -- filling ----------------------------------------------------------------------------------


@operator(function=False, method=False, elementwise=True, node="FillBackward0")
def fill_scalar(self: Array, value) -> Array:
    return filled(self.shape, value, self.dtype)


@operator(function=False, method=False, elementwise=True, node="FillBackward1")
def fill_tensor(self: Array, value: Array) -> Array:
    if discards(value.dtype, self.dtype):
        warn_once(messages.DISCARDED)
    return np.full(self.shape, converted(value, self.dtype), self.dtype)


@operator(
    function=False,
    method=False,
    node="FillBackward2",
    memory=MemoryOverlap(within=True),
    batching="dims",
)
def fill_scalar_inplace(self: Array, value) -> Array:
    return filled(self.shape, value, self.dtype)


@operator(
    function=False,
    method=False,
    node="FillBackward3",
    memory=MemoryOverlap(operands="none"),
    batching="pointwise",
)
def fill_tensor_inplace(self: Array, value: Array) -> Array:
    return fill_tensor.kernel(self, value)


@operator(
    function=False,
    method=False,
    node="ZeroBackward0",
    memory=MemoryOverlap(within=True),
    batching="dims",
)
def zero(self: Array) -> Array:
    return np.zeros(self.shape, self.dtype)


for _op in (fill_scalar, fill_scalar_inplace, fill_tensor, fill_tensor_inplace, zero):
    _op.on_meta(lambda self, *value: like(self, order="C"))
    _op.checks_devices = False
for _op in (fill_scalar, fill_scalar_inplace, zero):
    _op.gradient(self=lambda F, grad: F.zeros_like(grad))
for _op in (fill_tensor, fill_tensor_inplace):
    _op.gradient(
        self=lambda F, grad: F.zeros_like(grad),
        value=lambda F, grad: F.sum_all(grad),
    )
for _op in (fill_scalar, fill_scalar_inplace):
    _op.forward("reapplied", value=0)
for _op in (fill_tensor, fill_tensor_inplace, zero):
    _op.forward("reapplied")


def _fill_value(name: str, value):
    if not isinstance(value, Tensor):
        if not isinstance(value, (bool, int, float, complex, np.generic)):
            kind = type(value).__name__
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({kind}), but "
                "expected one of:\n * (Tensor value)\n      didn't match because some of the "
                f"arguments have invalid types: (!{kind}!)\n * (Number value)\n      didn't match "
                f"because some of the arguments have invalid types: (!{kind}!)\n"
            )
        return value
    if value._raw.ndim:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value._raw.ndim} dimensions."
        )
    return value


@function("fill", method=False)
def fill(input, value):
    """A copy with every element set to a number or a 0-dim tensor (torch.fill)."""
    value = _fill_value("fill", value)
    if isinstance(value, Tensor):
        return fill_tensor(input, value)
    return inference_mode.count_made(input, fill_scalar(input, value))


@function("fill_")
def fill_(input, value):
    """Set every element to a number or a 0-dim tensor (torch.Tensor.fill_).

    Raises RuntimeError for a value with dimensions, and the errors of in-place operations.
    """
    value = _fill_value("fill_", value)
    op = fill_tensor_inplace if isinstance(value, Tensor) else fill_scalar_inplace
    return op.inplace(input, value)


@function("zero_")
def zero_(input):
    """Set every element to zero (torch.Tensor.zero_)."""
    return zero.inplace(input)


# -- the engine's own copies ------------------------------------------------------------------


def _clone_strided(gradient: Tensor, shape, strides, **options) -> Tensor:
    """A recorded copy with the given strides, into which CopySlices writes the slice's gradient."""
    if is_asked(gradient):
        sizes = list(shape), list(strides)
        return called_aten("new_empty_strided", gradient, *sizes, **options).copy_(gradient)
    count, dtype = (extent(shape, strides),), gradient._raw.dtype
    if levels := levels_of(gradient):
        return copy_(repeated(np.empty(count, dtype), shape, strides, 0, levels), gradient)
    flat = new(MetaArray(count, dtype) if gradient.is_meta else np.empty(count, dtype))
    whole = alias(flat, Geometry(tuple(shape), tuple(strides), 0))
    return copy_(whole, gradient)


def _clone_for_leaf(gradient: Tensor, leaf: Tensor) -> Tensor:
    """A recorded copy as a leaf's first gradient, with the leaf's strides if the leaf is dense."""
    shape, strides = leaf._raw.shape, leaf.stride()
    if is_dense(shape, strides):
        options = {"dtype": gradient.dtype, "layout": leaf.layout, "device": gradient.device}
        return _clone_strided(gradient, shape, strides, **options)
    return clone(gradient, memory_format=contiguous_format)


def _rewritten(tangent: Tensor) -> Tensor:
    """A copy at version 1. torch copies a tangent if the result's storage is larger than the
    result, so that the tangent's storage is, too."""
    return tensor_ops.zeros_like(tangent).copy_(tangent)


tensor_ops.rewritten = _rewritten
tensor_ops.clone_strided = _clone_strided
tensor_ops.clone_for_leaf = _clone_for_leaf


def _sum_to(value: Tensor, shape) -> Tensor:
    """The sum over the dimensions along which `shape` was broadcast (ATen's sum_to)."""
    if not shape:
        return value.sum()
    dims = repeated_dims(tuple(shape), value._raw.shape)
    if dims:
        value = tensor_ops.sum_dim(value, dims, True)
    return tensor_ops.view(value, tuple(shape)) if value._raw.ndim > len(shape) else value


tensor_ops.sum_to = _sum_to
