"""Views and reshapes: view, reshape, flatten, unflatten, squeeze, unsqueeze."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from impl.core.dims import existing_dim, wrap_dim
from impl.core.dtypes import dtype as element_type
from impl.core.memory_formats import contiguous_format
from impl.core.registry import array_ops, tensor_ops
from impl.core.sizes import infer_size, restride, sizes_given, sizes_of
from impl.core.sparse_array import SparseArray
from impl.core.strides import element_strides, is_contiguous
from impl.dispatch import view_operator
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.vmap_rules import hide, hide_at
from impl.operators.views.view_dtype import reinterpreted
from impl.tensor.geometry import Geometry
from impl.tensor.tensor import Tensor

_NO_DIM = "Dimension is out of range (expected to be in range of [-1, 0], but got {}"

# -- other sizes ------------------------------------------------------------------------------


@view_operator.view(node="ViewBackward0", function=False, method=False)
def view_(self: Geometry, size) -> Geometry:
    shape = infer_size(size, math.prod(self.shape))
    strides = restride(self.shape, self.strides, shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return Geometry(shape, strides, self.offset)


view_.gradient(self=lambda F, grad, self_shape: F.reshape(grad, self_shape))


@view_operator.view(node="ReshapeAliasBackward0", function=False, method=False)
def reshape_alias(self: Geometry, size, stride) -> Geometry:
    return Geometry(tuple(size), tuple(stride), self.offset)


reshape_alias.gradient(self=lambda F, grad, self_shape: F.reshape(grad, self_shape))


@operator(function=False, method=False, batching="dims")
def unsafe_view(self: Array, size) -> Array:
    """Other sizes for a temporary: not a view to autograd, though its memory is not copied."""
    return self.reshape(size)


unsafe_view.gradient(self=lambda F, grad, self_shape: F.reshape(grad, self_shape))
unsafe_view.forward("linear")


_VIEW_OF_NOTHING = (
    "view() received an invalid combination of arguments - got (), but expected one of:\n"
    " * (torch.dtype dtype)\n * (tuple of ints size)\n"
)


@function("view", torch=False)
def view(self, *shape, size=None, dtype=None):
    """A view with other sizes, one of which may be -1; with a dtype instead, the same memory as
    elements of that dtype (torch.Tensor.view).

    Raises RuntimeError when the sizes do not fit or the strides do not allow it.
    """
    if dtype is not None or (shape and isinstance(shape[0], element_type)):
        return reinterpreted(self, shape[0] if dtype is None else dtype)
    if not shape and size is None:
        raise TypeError(_VIEW_OF_NOTHING)
    return tensor_ops.view(self, sizes_of(shape if size is None else (size,)))


def _reshape(self: Tensor, shape) -> Tensor:
    if self.is_sparse:
        raise RuntimeError("reshape is not implemented for sparse tensors")
    strides = self._strides
    if strides is None or is_contiguous(self._raw.shape, strides):
        return tensor_ops.view(self, shape)
    shape, strides = _restrided(self._raw.shape, strides, tuple(shape))
    if strides is not None:
        if tensor_ops.is_subclass_like(self):
            return tensor_ops.view(self, shape)
        return tensor_ops.reshape_alias(self, shape, strides)
    return unsafe_view(self.clone(memory_format=contiguous_format), shape)


@functools.lru_cache(2048)
def _restrided(shape, strides, target):
    """The sizes `target` with -1 inferred, and the strides of such a view, None if impossible."""
    sizes = infer_size(target, math.prod(shape))
    return sizes, restride(shape, strides, sizes)


tensor_ops.reshape = _reshape


def needs_copy(shape, strides, target) -> bool:
    """Whether `reshape` to the sizes `target` copies a tensor of these sizes and strides."""
    return not is_contiguous(shape, strides) and _restrided(shape, strides, target)[1] is None


def _reshaped(value, shape):
    """`reshape` of a raw value; a copy owns its memory (NumPy's is a view of a temporary)."""
    if not isinstance(value, (np.ndarray, SparseArray)):
        value = np.asarray(value)
    if value.flags.c_contiguous:
        return value.reshape(shape)
    sizes, strides = _restrided(value.shape, element_strides(value), tuple(shape))
    if strides is None:
        result = np.empty(sizes, value.dtype)
        result.reshape(value.shape)[...] = value
        return result
    result = value.reshape(sizes)
    if 1 in sizes:  # NumPy has strides of its own in dimensions of size one
        result = as_strided(result, strides=[s * value.itemsize for s in strides])
    return result


array_ops.reshape = _reshaped


@function("reshape")
def reshape(input, *shape, **named):
    """A view with other sizes where the strides allow it, else a copy (torch.reshape)."""
    return _reshape(input, sizes_given("shape", shape, named))


@function("view_as", torch=False)
def view_as(self, other):
    """`self.view(other.size())` (torch.Tensor.view_as)."""
    return tensor_ops.view(self, other._raw.shape)


@function("reshape_as", torch=False)
def reshape_as(self, other):
    """`self.reshape(other.size())` (torch.Tensor.reshape_as)."""
    return _reshape(self, other._raw.shape)


@function("flatten")
def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions start_dim to end_dim merged; the tensor itself if nothing changes (torch.flatten).

    Raises IndexError for dimensions out of range, RuntimeError when they are in the wrong order.
    """
    shape = input._raw.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return _reshape(input, (1,))
    if start == end:
        return input
    return _reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@function("ravel")
def ravel(input):
    """The elements in one dimension, a view if contiguous (torch.ravel)."""
    return input.contiguous().view(-1)


@function("unflatten", method=False)
def unflatten(input, dim, sizes):
    """One dimension split into several, one of which may be -1 (torch.unflatten).

    Raises RuntimeError unless the product of the sizes is the size of the dimension.
    """
    shape = input._raw.shape
    dim = wrap_dim(dim, len(shape))
    sizes = tuple(sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inferred = infer_size(sizes, shape[existing_dim(dim, len(shape))])
    except (IndexError, RuntimeError) as error:
        if "is invalid" not in str(error):
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim "
            f"{dim} ({shape[dim]}) in the input tensor"
        ) from None
    return tensor_ops.view(input, (*shape[:dim], *inferred, *shape[dim + 1 :]))


# -- dimensions of size one -------------------------------------------------------------------


def _without(self: Geometry, dims) -> Geometry:
    kept = [i for i, n in enumerate(self.shape) if n != 1 or i not in dims]
    return Geometry(
        tuple(self.shape[i] for i in kept), tuple(self.strides[i] for i in kept), self.offset
    )


@view_operator.view(
    node="SqueezeBackward0", inplace_node="SqueezeBackward3", function=False, method=False
)
def squeeze_all(self: Geometry) -> Geometry:
    return _without(self, range(len(self.shape)))


@view_operator.view(
    node="SqueezeBackward1", inplace_node="SqueezeBackward4", function=False, method=False
)
def squeeze_dim(self: Geometry, dim) -> Geometry:
    return _without(self, (wrap_dim(dim, len(self.shape)),))


@view_operator.view(
    node="SqueezeBackward2", inplace_node="SqueezeBackward5", function=False, method=False
)
def squeeze_dims(self: Geometry, dim) -> Geometry:
    dims: list[int] = []
    for d in dim:
        d = wrap_dim(d, len(self.shape))
        if d in dims:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        dims.append(d)
    return _without(self, dims)


def _unsqueezed(F, grad, shape, dims):
    for d in sorted(dims):
        if shape[d] == 1:
            grad = F.unsqueeze(grad, d)
    return grad


@squeeze_all.batches
def _squeeze_all_of_batch(args, level):
    value, place = args[0]._value, args[0]._dim
    shape = value._raw.shape
    if len(shape) == 1:
        return hide(tensor_ops.alias(value), level)
    kept = [n for d, n in enumerate(shape) if n != 1 or d == place]
    before = sum(n != 1 for n in shape[:place])
    return hide_at(tensor_ops.view(value, tuple(kept)), before, level)


def _squeeze_of_batch(args, level):
    """The dimensions are counted without the mapped one, which stays in its place."""
    batch, dim = args
    value, place = batch._value, batch._dim
    dims = [*dim] if isinstance(dim, tuple) else [dim]
    if not batch._raw.ndim:
        if any(dims):
            raise RuntimeError(_NO_DIM.format(dims))
        return hide(tensor_ops.alias(value), level)
    dims = [wrap_dim(d, batch._raw.ndim) for d in dims]
    dims = [d + (d >= place) for d in dims]
    dropped = sum(d < place and value._raw.shape[d] == 1 for d in dims)
    return hide_at(squeeze_dims(value, tuple(dims)), place - dropped, level)


squeeze_dim.batches(_squeeze_of_batch)
squeeze_dims.batches(_squeeze_of_batch)


squeeze_all.gradient(
    self=lambda F, grad, self_shape: _unsqueezed(F, grad, self_shape, range(len(self_shape)))
)
squeeze_dim.gradient(
    self=lambda F, grad, self_shape, dim: _unsqueezed(
        F, grad, self_shape, (wrap_dim(dim, len(self_shape)),) if self_shape else ()
    )
)
squeeze_dims.gradient(
    self=lambda F, grad, self_shape, dim: _unsqueezed(
        F, grad, self_shape, [wrap_dim(d, len(self_shape)) for d in dim] if self_shape else ()
    )
)


@function("squeeze")
def squeeze(input, dim=None, *more):
    """The tensor without dimensions of size one, all or those in `dim` (torch.squeeze).

    Raises IndexError for a dimension out of range.
    """
    if dim is None:
        return tensor_ops.squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return tensor_ops.squeeze_dims(input, tuple(dim))
    if more:
        return tensor_ops.squeeze_dims(input, (dim, *more))
    return tensor_ops.squeeze_dim(input, dim)


@function("squeeze_", torch=False)
def squeeze_(self, dim=None):
    """Drop dimensions of size one in place (torch.Tensor.squeeze_)."""
    if dim is None:
        return squeeze_all.inplace(self)
    if isinstance(dim, (tuple, list)):
        return squeeze_dims.inplace(self, tuple(dim))
    return squeeze_dim.inplace(self, dim)


@view_operator.view(node="UnsqueezeBackward0", inplace_node="UnsqueezeBackward1", inplace=True)
def unsqueeze(self: Geometry, dim) -> Geometry:
    """A new dimension of size one at `dim` (torch.unsqueeze). Raises IndexError out of range."""
    shape, strides = self.shape, self.strides
    dim = wrap_dim(dim, len(shape) + 1)
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return Geometry(
        (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:]), self.offset
    )


unsqueeze.gradient(self=lambda F, grad, dim: F.squeeze_dim(grad, dim))
tensor_ops.unsqueeze_ = unsqueeze.inplace  # in-place as in torch's formula, visible in the graph
array_ops.unsqueeze_ = array_ops.unsqueeze
