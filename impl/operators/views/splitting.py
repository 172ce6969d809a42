"""Operators that return several views: split, chunk, tensor_split, unbind, and iteration."""

from __future__ import annotations

from impl.core.dims import require_dims, wrap_dim
from impl.core.dtypes import int64
from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.dispatch import view_operator
from impl.dispatch.batching_rules import RULES, in_aten
from impl.dispatch.definition import function, native
from impl.dispatch.facts import SavedAs
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import physical
from impl.tensor.geometry import Geometry
from impl.tensor.tensor import Tensor
from impl.tensor.wrappers import refuse_pointer


def _pieces(self: Geometry, dim: int, lengths) -> list[Geometry]:
    result, start = [], 0
    for n in lengths:
        result.append(
            Geometry(
                (*self.shape[:dim], n, *self.shape[dim + 1 :]),
                self.strides,
                self.offset + start * self.strides[dim],
            )
        )
        start += n
    return result


def _joined(F, grads, lengths, shape, dim, dtype):
    """The gradient of a split tensor: the concatenated gradients of the pieces, None as zeros."""
    pieces = [
        F.zeros((*shape[:dim], n, *shape[dim + 1 :]), dtype) if g is None else g
        for g, n in zip(grads, lengths, strict=True)
    ]
    return F.cat(pieces, dim)


def _even(size: int, length: int) -> list[int]:
    if length == 0:
        return [0]
    count = max((size + length - 1) // length, 1)
    return [length] * (count - 1) + [size - length * (count - 1)]


def _split(self: Geometry, split_size, dim) -> list[Geometry]:
    if not self.shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    dim = wrap_dim(dim, len(self.shape))
    size = self.shape[dim]
    if split_size == 0 and size != 0:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}"
        )
    return _pieces(self, dim, _even(size, split_size))


def _split_with_sizes(self: Geometry, split_sizes, dim) -> list[Geometry]:
    if not self.shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    given, dim = dim, wrap_dim(dim, len(self.shape))
    if any(n < 0 for n in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != self.shape[dim]:
        raise RuntimeError(
            "split_with_sizes expects split_sizes to sum exactly to "
            f"{self.shape[dim]} (input tensor's size at dimension {given}), but got "
            f"split_sizes={list(split_sizes)}"
        )
    return _pieces(self, dim, split_sizes)


def _split_gradient(F, grads, self_shape, self_dtype, split_size, dim):
    dim = wrap_dim(dim, len(self_shape))
    return _joined(F, grads, _even(self_shape[dim], split_size), self_shape, dim, self_dtype)


def _split_with_sizes_gradient(F, grads, self_shape, self_dtype, split_sizes, dim):
    dim = wrap_dim(dim, len(self_shape))
    return _joined(F, grads, split_sizes, self_shape, dim, self_dtype)


@view_operator.view(node="SplitBackward0", multiple=True, function=False, method=False)
def split_equal(self: Geometry, split_size, dim) -> list[Geometry]:
    return _split(self, split_size, dim)


@view_operator.view(node="SplitWithSizesBackward0", multiple=True, function=False, method=False)
def split_with_sizes_(self: Geometry, split_sizes, dim) -> list[Geometry]:
    return _split_with_sizes(self, split_sizes, dim)


@view_operator.view(node="UnsafeSplitBackward0", multiple=True, function=False, method=False)
def unsafe_split_equal(self: Geometry, split_size, dim) -> list[Geometry]:
    return _split(self, split_size, dim)


@view_operator.view(
    node="UnsafeSplitWithSizesBackward0", multiple=True, function=False, method=False
)
def unsafe_split_with_sizes_(self: Geometry, split_sizes, dim) -> list[Geometry]:
    return _split_with_sizes(self, split_sizes, dim)


split_equal.gradient(self=_split_gradient)
unsafe_split_equal.gradient(self=_split_gradient)
split_with_sizes_.gradient(self=_split_with_sizes_gradient)
unsafe_split_with_sizes_.gradient(self=_split_with_sizes_gradient)


@native()
def split(input, split_size, dim=0):
    """Views of `split_size` elements each (the last may be smaller), or of the given sizes.

    Returns a tuple of multi-output views, which may not be modified in place while recorded. Raises
    RuntimeError when the sizes do not add up.
    """
    if isinstance(split_size, (tuple, list)):
        return tensor_ops.split_with_sizes(input, tuple(split_size), dim)
    return tensor_ops.split_equal(input, split_size, dim)


@function("split_with_sizes")
def split_with_sizes(input, split_sizes, dim=0):
    """Views of the given sizes (torch.split_with_sizes)."""
    return tensor_ops.split_with_sizes(input, tuple(split_sizes), dim)


@function("unsafe_split")
def unsafe_split(tensor, split_size, dim=0):
    """As `split`, but the results may be modified in place (torch.unsafe_split)."""
    return _unrelated(tensor_ops.unsafe_split_equal(tensor, split_size, dim))


@function("unsafe_split_with_sizes")
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """As `split_with_sizes`, but the results may be modified in place."""
    return _unrelated(tensor_ops.unsafe_split_with_sizes(input, tuple(split_sizes), dim))


def _unrelated(results):
    if STATE.inference:  # in which torch's kernel makes them by slicing, as views
        return results
    for result in results:
        tensor = physical(result)
        for part in (tensor, *map(physical, forward_grad.tangents(tensor).values())):
            part._view = None
            part._storage = part._storage.sharing()
    return results


def _chunk_length(shape, chunks: int, dim: int) -> int:
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return (shape[wrap_dim(dim, len(shape))] + chunks - 1) // chunks


@function("chunk")
def chunk(input, chunks, dim=0):
    """At most `chunks` views of equal size; the last may be smaller (torch.chunk)."""
    shape = input._raw.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    length = _chunk_length(shape, chunks, dim)
    if length == 0:
        return tensor_ops.split_with_sizes(input, (0,) * chunks, dim)
    return tensor_ops.split_equal(input, length, dim)


@function("unsafe_chunk")
def unsafe_chunk(input, chunks, dim=0):
    """As `chunk`, but the results may be modified in place (torch.unsafe_chunk)."""
    shape = input._raw.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    length = _chunk_length(shape, chunks, dim)
    if length == 0:
        return unsafe_split_with_sizes(input, (0,) * chunks, dim)
    return unsafe_split(input, length, dim)


@view_operator.view(node="UnbindBackward0", multiple=True, saved_as=SavedAs(parts=()))
def unbind(self: Geometry, dim=0) -> list[Geometry]:
    """All slices along a dimension, as a tuple of views (torch.unbind).

    Multi-output views, which may not be modified in place while recorded. Raises IndexError.
    """
    dim = wrap_dim(dim, len(self.shape))
    require_dims(dim, len(self.shape))
    shape = (*self.shape[:dim], *self.shape[dim + 1 :])
    strides = (*self.strides[:dim], *self.strides[dim + 1 :])
    return [
        Geometry(shape, strides, self.offset + i * self.strides[dim])
        for i in range(self.shape[dim])
    ]


def _unbind_gradient(F, grads, self_shape, self_dtype, dim):
    dim = wrap_dim(dim, len(self_shape))
    shape = (*self_shape[:dim], *self_shape[dim + 1 :])
    return F.stack([F.zeros(shape, self_dtype) if g is None else g for g in grads], dim)


unbind.gradient(self=_unbind_gradient)


@function("tensor_split")
def tensor_split(input, indices_or_sections=None, dim=0, *, sections=None, indices=None):
    """Slices: `sections` of nearly equal size, or split at `indices` (torch.tensor_split).

    Each is an ordinary view, which may be modified in place.
    """
    shape = input._raw.shape
    if not shape:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    how = next(h for h in (indices_or_sections, sections, indices) if h is not None)
    if isinstance(how, Tensor):
        return split_at(input, how, dim)
    if isinstance(how, int):
        if how <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {how}")
        length, larger = divmod(size, how)
        ends, end = [], 0
        for i in range(how):
            end += length + (i < larger)
            ends.append(end)
        starts = [0, *ends[:-1]]
    else:
        starts, ends = [0, *how], [*how, size]
    return tuple(tensor_ops.slice(input, dim, s, e, 1) for s, e in zip(starts, ends, strict=True))


@RULES["composed_no_rule"]
@in_aten("tensor_split.tensor_indices_or_sections")
def split_at(input, places, dim):
    """`tensor_split` by the elements of a tensor."""
    if places.dtype is not int64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            f"{places.dtype.legacy}"
        )
    if places._raw.ndim > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
            f"one-dimensional tensor, but got a tensor with {places._raw.ndim} dims"
        )
    if places._raw.ndim:  # a number is asked for by `item`
        refuse_pointer()
    return tensor_split(input, places.tolist(), dim)


def _no_sections(name: str, given) -> TypeError:
    kind = type(given).__name__
    reason = f"didn't match because some of the arguments have invalid types: (Tensor, !{kind}!)"
    return TypeError(
        f"{name}() received an invalid combination of arguments - got (Tensor, {kind}), but "
        f"expected one of:\n * (Tensor input, int sections)\n      {reason}\n"
        f" * (Tensor input, tuple of ints indices)\n      {reason}\n"
    )


def _split_along(name: str, dim: int, least: int):
    def spelled(input, indices_or_sections=None, *, indices=None, sections=None):
        how = next(h for h in (indices_or_sections, sections, indices) if h is not None)
        if isinstance(how, str):
            raise _no_sections(name, how)
        ndim = input._raw.ndim
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                f"with {ndim} dimensions!"
            )
        axis = dim if ndim > 1 or dim == 0 else 0
        size = input._raw.shape[axis]
        if isinstance(how, int) and (how == 0 or size % how):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {axis}, but the size of the "
                f"dimension {size} is not divisible by the split_size {how}!"
            )
        return tensor_split(input, how, axis)

    spelled.__name__ = name
    spelled.__doc__ = f"`tensor_split` along dimension {dim} (torch.{name})."
    return function(name)(spelled)


hsplit = _split_along("hsplit", 1, 1)
vsplit = _split_along("vsplit", 0, 2)
dsplit = _split_along("dsplit", 2, 3)


def _iterate(self):
    if not self._raw.ndim:
        raise TypeError("iteration over a 0-d tensor")
    if self.is_sparse:
        return iter([tensor_ops.select(self, 0, i) for i in range(len(self))])
    return iter(unbind(self, 0))


Tensor.__iter__ = _iterate
