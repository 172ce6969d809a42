"""Tensors put together, repeated, and rearranged into copies."""

from __future__ import annotations

import numpy as np

from impl.dimensions import wrap_dim
from impl.dtypes import BY_NUMPY, CATEGORY, INTEGRAL, result_dtype
from impl.operator import TAPED, Array, function, operator
from impl.sizes import broadcast_shapes, sizes_of
from impl.tensor import Tensor

# -- joining ----------------------------------------------------------------------------------


def _is_legacy_empty(shape) -> bool:
    """A 1-d tensor without elements may be joined with anything, and is skipped."""
    return shape == (0,)


@operator(function=False, method=False, node="CatBackward0")
def cat(tensors: list[Array], dim=0) -> Array:
    shapes = [t.shape for t in tensors]
    for i, shape in enumerate(shapes):
        if not shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    d = result_dtype(tensors).numpy
    solid = [(i, t) for i, t in enumerate(tensors) if not _is_legacy_empty(t.shape)]
    if not solid:
        wrap_dim(dim, 1)
        return np.empty(0, d)
    first = solid[0][1].shape
    dim = wrap_dim(dim, len(first))
    for i, t in solid:
        _check_joins(first, t.shape, dim, i)
    return np.concatenate([t.astype(d, copy=False) for _, t in solid], dim)


def _check_joins(first, shape, dim: int, number: int) -> None:
    if len(shape) != len(first):
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
        )
    for a, b in zip(first[:dim] + first[dim + 1 :], shape[:dim] + shape[dim + 1 :], strict=True):
        if a != b:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but "
                f"got size {b} for tensor number {number} in the list."
            )


def _cat_gradient(F, grad, tensors_shape, tensors_dtype, dim):
    dim = wrap_dim(dim, grad.ndim)
    result, start = [], 0
    for shape, dtype in zip(tensors_shape, tensors_dtype, strict=True):
        if _is_legacy_empty(shape):
            result.append(F.zeros(shape, dtype))
            continue
        result.append(F.slice(grad, dim, start, start + shape[dim], 1))
        start += shape[dim]
    return result


cat.gradient(tensors=_cat_gradient)


def _tensor_list(name: str, tensors) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        )
    tensors = list(tensors)
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}"
            )
    return tensors


def _published_cat(name: str):
    def joined(tensors, dim=0, *, out=None):
        items = _tensor_list(name, tensors)
        if not items:
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        if out is not None:
            return cat.into(out, (items, dim))
        return cat(items, dim)

    joined.__name__ = name
    joined.__doc__ = f"Tensors joined along an existing dimension (torch.{name})."
    return function(name, method=False)(joined)


for _name in ("cat", "concat", "concatenate"):
    _published_cat(_name)


@operator(function=False, method=False, node="StackBackward0")
def stack(tensors: list[Array], dim=0) -> Array:
    first = tensors[0].shape
    for i, t in enumerate(tensors):
        if t.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(t.shape)} at entry {i}"
            )
    d = result_dtype(tensors).numpy
    dim = wrap_dim(dim, len(first) + 1)
    return np.stack([t.astype(d, copy=False) for t in tensors], dim)


stack.gradient(
    tensors=lambda F, grad, tensors_shape, dim: [
        F.select(grad, dim, i) for i in range(len(tensors_shape))
    ]
)


@function("stack", method=False)
def stack_(tensors, dim=0, *, out=None):
    """Tensors of one shape joined along a new dimension (torch.stack).

    Raises RuntimeError when the shapes differ, IndexError for a dimension out of range.
    """
    items = _tensor_list("stack", tensors)
    if not items:
        raise RuntimeError("stack expects a non-empty TensorList")
    return stack.into(out, (items, dim)) if out is not None else stack(items, dim)


def _at_least(tensor: Tensor, ndim: int) -> Tensor:
    if tensor._raw.ndim >= ndim:
        return tensor
    if tensor._raw.ndim == 0:
        return TAPED.reshape(tensor, (1,) * ndim)
    return TAPED.unsqueeze(tensor, 0)


@function("hstack", method=False)
def hstack(tensors):
    """Tensors joined side by side: along the second dimension, or the first if 1-d."""
    items = [_at_least(t, 1) for t in _tensor_list("hstack", tensors)]
    if not items:
        raise RuntimeError("hstack expects a non-empty TensorList")
    return cat(items, 0 if items[0]._raw.ndim == 1 else 1)


@function("vstack", method=False)
def vstack(tensors):
    """Tensors joined as rows (torch.vstack)."""
    items = [_at_least(t, 2) for t in _tensor_list("vstack", tensors)]
    if not items:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return cat(items, 0)


@function("dstack", method=False)
def dstack(tensors):
    """Tensors joined along the third dimension (torch.dstack)."""
    items = [atleast_3d(t) for t in _tensor_list("dstack", tensors)]
    if not items:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return cat(items, 2)


@function("column_stack", method=False)
def column_stack(tensors):
    """Vectors as columns of a matrix, matrices side by side (torch.column_stack)."""
    items = [
        TAPED.reshape(t, (t._raw.size, 1)) if t._raw.ndim <= 1 else t
        for t in _tensor_list("column_stack", tensors)
    ]
    if not items:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return hstack(items)


def _each(of, tensors):
    if len(tensors) == 1:
        if not isinstance(tensors[0], (tuple, list)):
            return of(tensors[0])
        tensors = tensors[0]
    return tuple(of(t) for t in tensors)


@function("atleast_1d", method=False)
def atleast_1d(*tensors):
    """Tensors with one dimension at least (torch.atleast_1d)."""
    return _each(lambda t: _at_least(t, 1), tensors)


@function("atleast_2d", method=False)
def atleast_2d(*tensors):
    """Tensors with two dimensions at least, vectors as rows (torch.atleast_2d)."""
    return _each(lambda t: _at_least(t, 2), tensors)


@function("atleast_3d", method=False)
def atleast_3d(*tensors):
    """Tensors with three dimensions at least (torch.atleast_3d)."""

    def of(t):
        if t._raw.ndim == 0:
            return TAPED.reshape(t, (1, 1, 1))
        if t._raw.ndim == 1:
            t = TAPED.unsqueeze(t, 0)
        return TAPED.unsqueeze(t, -1) if t._raw.ndim == 2 else t

    return _each(of, tensors)


@function("broadcast_tensors", method=False)
def broadcast_tensors(*tensors):
    """All tensors expanded to their common shape (torch.broadcast_tensors)."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes(*(t._raw.shape for t in tensors))
    return tuple(t if t._raw.shape == shape else TAPED.expand(t, shape) for t in tensors)


@function("broadcast_shapes", method=False)
def broadcast_shapes_(*shapes):
    """The shape to which the shapes broadcast (torch.broadcast_shapes)."""
    from impl.tensor import Size

    return Size(broadcast_shapes(*((s,) if isinstance(s, int) else tuple(s) for s in shapes)))


@function("meshgrid", method=False)
def meshgrid(*tensors, indexing="ij"):
    """Grids of coordinates: every 1-d tensor expanded along the others (torch.meshgrid)."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t._raw.size for t in tensors)
    grids = []
    for i, t in enumerate(tensors):
        view = TAPED.view(t, (1,) * i + (-1,) + (1,) * (len(tensors) - i - 1))
        grids.append(TAPED.expand(view, shape))
    if swap:
        grids = [TAPED.transpose(g, 0, 1) for g in (grids[1], grids[0], *grids[2:])]
    return tuple(grids)


# -- repeating --------------------------------------------------------------------------------


@operator(function=False, method=False, node="RepeatBackward0")
def repeat(self: Array, repeats) -> Array:
    if len(repeats) < self.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    sizes = (1,) * (len(repeats) - self.ndim) + self.shape
    shape = [n * r for n, r in zip(sizes, repeats, strict=True)]
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {shape}")
    return np.tile(self, tuple(repeats))


def _repeat_gradient(F, grad, self_shape, self_dtype, repeats):
    if 0 in repeats:
        return F.zeros(self_shape, self_dtype)
    lead = len(repeats) - len(self_shape)
    for _ in range(lead):
        grad = F.sum_dim(grad, (0,), False)
    sizes: list[int] = []
    summed: list[int] = []
    for n, r in zip(self_shape, repeats[lead:], strict=True):
        if r != 1:
            summed.append(len(sizes))
            sizes.append(r)
        sizes.append(n)
    if summed:
        grad = F.sum_dim(F.reshape(grad, tuple(sizes)), tuple(summed), False)
    return grad


repeat.gradient(self=_repeat_gradient)


@function("repeat", torch=False)
def repeat_(self, *repeats, **named):
    """The whole tensor again and again along each dimension (torch.Tensor.repeat).

    Raises RuntimeError for fewer repeats than dimensions, or negative ones.
    """
    return TAPED.repeat(self, sizes_of(repeats if not named else (named["repeats"],)))


@function("tile")
def tile(input, *dims, **named):
    """`repeat` with missing leading counts taken as one (torch.tile)."""
    counts = sizes_of(dims if not named else (named["dims"],))
    return TAPED.repeat(input, (1,) * (input._raw.ndim - len(counts)) + counts)


@function("repeat_interleave")
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element along a dimension repeated, equally or by its own count.

    Without `dim` the tensor is flattened first. Raises RuntimeError for negative counts and for a
    wrong number of them (torch.repeat_interleave).
    """
    if repeats is None:
        counts = input._raw
        return _indices_of(np.repeat(np.arange(counts.size), counts))
    if dim is None:
        input = input.flatten()
        dim = 0
    dim = wrap_dim(dim, input._raw.ndim)
    if isinstance(repeats, Tensor) and repeats._raw.size == 1 and repeats._raw.ndim <= 1:
        repeats = int(repeats._raw.reshape(())[()])
    if not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        from impl.operators.copies import contiguous_format

        spread = TAPED.unsqueeze(input, dim + 1)
        shape = list(spread._raw.shape)
        shape[dim + 1] = repeats
        return (
            TAPED.expand(spread, tuple(shape))
            .clone(memory_format=contiguous_format)
            .flatten(dim, dim + 1)
        )
    counts = repeats._raw
    if CATEGORY[counts.dtype] != INTEGRAL:
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{BY_NUMPY[counts.dtype].legacy}'"
        )
    if counts.size != input._raw.shape[dim]:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({dim}) = {input._raw.shape[dim]}"
        )
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return TAPED.index_select(input, dim, _indices_of(np.repeat(np.arange(counts.size), counts)))


def _indices_of(raw) -> Tensor:
    from impl.operator import new

    return new(raw.astype(np.int64))


# -- rearranging ------------------------------------------------------------------------------


@operator(function=False, method=False, elementwise=True, node="FlipBackward0")
def flip(self: Array, dims) -> Array:
    axes = [wrap_dim(d, self.ndim) for d in dims]
    for d in axes:
        if axes.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return np.flip(self, tuple(axes)).copy() if self.ndim else np.array(self)


flip.gradient(self=lambda F, grad, dims: F.flip(grad, dims))


@function("flip")
def flip_(input, *dims, **named):
    """The order of elements reversed along some dimensions, as a copy (torch.flip).

    Raises IndexError for a dimension out of range, RuntimeError for one named twice.
    """
    return TAPED.flip(input, sizes_of(dims if "dims" not in named else (named["dims"],)))


@function("fliplr")
def fliplr(input):
    """Columns reversed (torch.fliplr). Raises RuntimeError for less than two dimensions."""
    if input._raw.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return TAPED.flip(input, (1,))


@function("flipud")
def flipud(input):
    """Rows reversed (torch.flipud). Raises RuntimeError for a 0-dim tensor."""
    if input._raw.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return TAPED.flip(input, (0,))


@operator(function=False, method=False, node="RollBackward0")
def roll(self: Array, shifts, dims=()) -> Array:
    if len(shifts) == 0:
        raise RuntimeError("`shifts` required")
    if len(dims) == 0 and len(shifts) == 1:
        return np.roll(self, shifts[0])
    if len(shifts) != len(dims):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    axes = tuple(wrap_dim(d, self.ndim) for d in dims)
    return np.roll(self, shifts, axes) if self.ndim else np.array(self)


roll.gradient(
    self=lambda F, grad, shifts, dims: F.roll(
        grad, tuple(-s for s in reversed(shifts)), tuple(reversed(dims))
    )
)


@function("roll")
def roll_(input, shifts, dims=()):
    """Elements moved along dimensions, what falls off one end re-enters at the other.

    Without `dims` over the flattened tensor. Raises RuntimeError when shifts and dims differ in
    number (torch.roll).
    """
    return TAPED.roll(
        input,
        (shifts,) if isinstance(shifts, int) else tuple(shifts),
        (dims,) if isinstance(dims, int) else tuple(dims or ()),
    )


@operator(function=False, method=False)
def rot90(self: Array, k=1, dims=(0, 1)) -> Array:
    first, second = (wrap_dim(d, self.ndim) for d in dims)
    return np.rot90(self, k, (first, second)).copy()


rot90.gradient(self=lambda F, grad, k, dims: F.rot90(grad, -k, dims))


@function("rot90")
def rot90_(input, k=1, dims=(0, 1)):
    """Rotated by `k` quarter turns in the plane of two dimensions (torch.rot90)."""
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if dims[0] == dims[1]:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    return TAPED.rot90(input, k, dims)


def _triangle(name: str, keep):
    def kernel(self: Array, diagonal=0) -> Array:
        if self.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return keep(self, diagonal)

    kernel.__name__ = name
    kernel.__annotations__ = {"self": "Array"}
    kernel.__doc__ = f"One triangle of the last two dimensions, zeros elsewhere (torch.{name})."
    op = operator(inplace=True, out=True)(kernel)
    op.gradient(self=lambda F, grad, diagonal: getattr(F, name)(grad, diagonal))
    op.overlaps = True
    return op


tril = _triangle("tril", lambda value, k: np.tril(value, k))
triu = _triangle("triu", lambda value, k: np.triu(value, k))
