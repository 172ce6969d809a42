"""Copies: clone, contiguous, copy_, fill_ and zero_, and the copies the engine makes."""

from __future__ import annotations

import warnings

import numpy as np

from impl import inference, messages
from impl.allocation import strides_in
from impl.dtypes import BY_NUMPY
from impl.geometries import Geometry, alias
from impl.layouts import contiguous_format, preserve_format
from impl.operator import TAPED, Array, function, new, operator
from impl.sizes import broadcast_shapes, repeated_dims
from impl.storage import empty_strided, extent, is_dense
from impl.tensor import Tensor
from impl.zeros import refuse_copy

# -- clone ------------------------------------------------------------------------------------


@operator(function=False, method=False, node="CloneBackward0", fresh=True)
def clone_layout(self: Array, strides) -> Array:
    if strides is None:
        return np.array(self, order="C")
    copy = empty_strided(self.shape, strides, self.dtype)
    copy[...] = self
    return copy


clone_layout.gradient(self=lambda F, grad: grad)
clone_layout.forward("linear")


@function()
def clone(input, *, memory_format=preserve_format):
    """A copy with its own storage, recorded as an operation (torch.clone).

    A dense tensor's strides are kept, others become dense in the same order of dimensions;
    row-major with `torch.contiguous_format`.
    """
    if inference.records_copies(input):
        return new(np.empty(input._raw.shape, input._raw.dtype)).copy_(input)
    strides = strides_in(input, memory_format)
    result = clone_layout(input, strides)
    if strides is not None:
        result._strides = strides
    return result


@function("contiguous", torch=False)
def contiguous(self, memory_format=contiguous_format):
    """The tensor itself if it is row-major, else a row-major clone (torch.Tensor.contiguous).

    Another memory format counts as row-major does. Raises RuntimeError for a rank it does not suit.
    """
    if self.is_contiguous(memory_format=memory_format):
        return self
    return clone(self, memory_format=memory_format)


# -- copying into -----------------------------------------------------------------------------


@operator(function=False, method=False, node="CopyBackwards")
def copy(self: Array, src: Array) -> Array:
    """`src` in the shape and dtype of `self`. Raises RuntimeError when it does not broadcast."""
    refuse_copy(self)
    if src.shape != self.shape:
        shape = broadcast_shapes(self.shape, src.shape)
        if shape != self.shape:
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                f"{list(shape)}"
            )
    if src.dtype.kind == "c" and self.dtype.kind not in "cb":
        warnings.warn(messages.DISCARDED, UserWarning, stacklevel=4)
    value = converted(src, self.dtype)
    # A copy: what is written may be what is read.
    return np.array(np.broadcast_to(value, self.shape))


copy.gradient(
    self=lambda F, grad: F.new_zeros(grad, grad.shape),
    src=lambda F, grad, src_dtype: F.cast_gradient(grad, src_dtype),
)
copy.forward(lambda F, self_t, self, src_t: _passed_on(self_t, self, src_t), writes=True)


def _passed_on(own, self, tangent):
    """The tangent of what is copied, written to `own`, that of what it is copied to, if any."""
    if own is not None:
        return own.fill_(0) if tangent._zero else own.copy_(tangent)
    if tangent._raw.shape == self._raw.shape:
        return tangent.clone()
    return TAPED.expand(tangent, self._raw.shape)


@operator(function=False, method=False, node="CopyBackwards")
def copy_itself(self: Array, src: Array) -> Array:
    return np.array(self)


copy_itself.overlaps = True  # nothing is written, whatever the elements share
copy.resolves = copy_itself.resolves = False
copy_itself.gradient(
    self=lambda F, grad: F.zeros_like(grad),
    src=lambda F, grad: grad,
)
copy_itself.forward(lambda F, self_t: self_t.copy_(self_t), writes=True)


def converted(raw, dtype: np.dtype):
    """A raw value in another dtype, the imaginary part dropped where it has no place."""
    if raw.dtype == dtype:
        return raw
    if raw.dtype.kind == "c" and dtype.kind not in "cb":
        raw = raw.real
    return raw.astype(dtype)


@function("copy_", torch=False)
def copy_(self, src, non_blocking=False):
    """Write `src`, broadcast and cast, into the tensor (torch.Tensor.copy_).

    Raises RuntimeError when the shapes do not fit, and as every in-place operation does.
    """
    if isinstance(src, (bool, int, float, complex)):
        src = new(np.array(src))
    if not isinstance(src, Tensor):
        raise TypeError(
            f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}"
        )
    return (copy_itself if src is self else copy).inplace(self, src)


# -- filling ----------------------------------------------------------------------------------


def _filled(self: Array, value) -> Array:
    return np.full(self.shape, storable(value, self.dtype), self.dtype)


# Where a number is converted, torch writes these as they stand in its source.
_FIXED_WIDTHS = {name: f"{name}_t" for name in ("uint8", "int8", "int16", "int64")}


def storable(value, dtype: np.dtype):
    """A number as an element of `dtype` takes it: without its imaginary part where that has no
    place. Raises RuntimeError when the part left out is not zero; a bool takes any number."""
    if not isinstance(value, complex) or dtype.kind == "c":
        return value
    if dtype.kind == "b":
        return value != 0
    if value.imag:
        d = BY_NUMPY[dtype]
        raise RuntimeError(
            f"value cannot be converted to type {_FIXED_WIDTHS.get(d.name, d.c_name)} without "
            "overflow"
        )
    return value.real


@operator(function=False, method=False, node="FillBackward0")
def fill_scalar(self: Array, value) -> Array:
    return _filled(self, value)


@operator(function=False, method=False, node="FillBackward1")
def fill_tensor(self: Array, value: Array) -> Array:
    return _filled(self, value)


@operator(function=False, method=False, node="FillBackward2")
def fill_scalar_inplace(self: Array, value) -> Array:
    return _filled(self, value)


@operator(function=False, method=False, node="FillBackward3")
def fill_tensor_inplace(self: Array, value: Array) -> Array:
    return _filled(self, value)


@operator(function=False, method=False, node="ZeroBackward0")
def zero(self: Array) -> Array:
    return np.zeros(self.shape, self.dtype)


for _op in (fill_scalar, fill_scalar_inplace, zero):
    _op.gradient(self=lambda F, grad: F.zeros_like(grad))
for _op in (fill_tensor, fill_tensor_inplace):
    _op.gradient(
        self=lambda F, grad: F.zeros_like(grad),
        value=lambda F, grad: F.sum_all(grad),
    )
# Writing one value everywhere gives the same result however the elements overlap.
for _op in (fill_scalar_inplace, zero):
    _op.overlaps = True
for _op in (fill_scalar, fill_scalar_inplace):
    _op.forward("reapplied", value=0)
for _op in (fill_tensor, fill_tensor_inplace, zero):
    _op.forward("reapplied")
fill_tensor_inplace.guarded = ()  # one element is read before any is written


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
            f"{name} only supports 0-dimension value tensor but got tensor with "
            f"{value._raw.ndim} dimensions."
        )
    return value


@function("fill", method=False)
def fill(input, value):
    """A copy with every element set to a number or a 0-dim tensor (torch.fill)."""
    value = _fill_value("fill", value)
    return (fill_tensor if isinstance(value, Tensor) else fill_scalar)(input, value)


@function("fill_")
def fill_(input, value):
    """Set every element to a number or a 0-dim tensor (torch.Tensor.fill_).

    Raises RuntimeError for a value with dimensions, and as every in-place operation does.
    """
    value = _fill_value("fill_", value)
    op = fill_tensor_inplace if isinstance(value, Tensor) else fill_scalar_inplace
    return op.inplace(input, value)


@function("zero_")
def zero_(input):
    """Set every element to zero (torch.Tensor.zero_)."""
    return zero.inplace(input)


# -- the engine's own copies ------------------------------------------------------------------


def _clone_strided(gradient: Tensor, shape, strides) -> Tensor:
    """A recorded copy with the given strides, as torch makes one to write a slice into."""
    flat = new(np.empty(extent(shape, strides), gradient._raw.dtype))
    whole = alias(flat, Geometry(tuple(shape), tuple(strides), 0))
    return copy_(whole, gradient)


def _clone_for_leaf(gradient: Tensor, leaf: Tensor) -> Tensor:
    """A recorded copy to become a leaf's first gradient: dense leaves pass their strides on."""
    shape, strides = leaf._raw.shape, leaf.stride()
    if is_dense(shape, strides):
        return _clone_strided(gradient, shape, strides)
    return clone(gradient, memory_format=contiguous_format)


def _rewritten(tangent: Tensor) -> Tensor:
    """A copy written once. torch makes one where a result's memory is larger than the result, for
    then the tangent's has to be, too."""
    return TAPED.zeros_like(tangent).copy_(tangent)


TAPED.rewritten = _rewritten
TAPED.clone_strided = _clone_strided
TAPED.clone_for_leaf = _clone_for_leaf


def _sum_to(value: Tensor, shape) -> Tensor:
    """The sum over the dimensions along which `shape` was broadcast (ATen's sum_to)."""
    if not shape:
        return value.sum()
    dims = repeated_dims(tuple(shape), value._raw.shape)
    if dims:
        value = TAPED.sum_dim(value, dims, True)
    return TAPED.view(value, tuple(shape)) if value._raw.ndim > len(shape) else value


TAPED.sum_to = _sum_to
