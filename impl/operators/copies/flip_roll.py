"""Rearranging copies: flip, roll, rot90, and the triangles of a matrix (tril, triu)."""

from __future__ import annotations

import numpy as np

from impl.core.dims import require_dims, wrap_dim
from impl.core.memory_formats import contiguous_format, formatted_as
from impl.core.meta_functions import like_first
from impl.core.registry import tensor_ops
from impl.core.sizes import sizes_given
from impl.core.strides import contiguous_strides
from impl.dispatch.definition import OPERATORS, Array, function, operator
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.out import exact_dtype_out
from impl.dispatch.vmap_rules import fronted, hide
from impl.tensor.allocation import copied_layout, dense_strides


def _copies_as_is(args) -> bool:
    """Whether nothing is reversed: the tensor is copied."""
    self, dims = args
    sizes, strides = self._raw.shape, self.stride()
    return self._raw.size <= 1 or not any(sizes[d] > 1 and strides[d] for d in dims)


@operator(
    function=False,
    method=False,
    elementwise=True,
    node="FlipBackward0",
    writes=_copies_as_is,
    copies=lambda args: 0 if _copies_as_is(args) else None,
)
def flip(self: Array, dims) -> Array:
    axes: list[int] = []
    for dim in dims:
        axis = wrap_dim(dim, self.ndim)
        if axis in axes:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
        axes.append(axis)
    return np.flip(self, tuple(axes)).copy() if self.ndim else np.array(self)


flip.laid_out_as(copied_layout)
flip.gradient(self=lambda F, grad, dims: F.flip(grad, dims))
flip.forward("linear")


@function("flip")
def flip_(input, *dims, **named):
    """A copy with the elements reversed along some dimensions (torch.flip).

    Raises IndexError for a dimension out of range, RuntimeError for one named twice.
    """
    return tensor_ops.flip(input, sizes_given("dims", dims, named))


@function("fliplr")
def fliplr(input):
    """Columns reversed (torch.fliplr). Raises RuntimeError for less than two dimensions."""
    if input._raw.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return tensor_ops.flip(input, (1,))


@function("flipud")
def flipud(input):
    """Rows reversed (torch.flipud). Raises RuntimeError for a 0-dim tensor."""
    if input._raw.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return tensor_ops.flip(input, (0,))


@operator(function=False, method=False, fresh=True, node="RollBackward0", batching="dims")
def roll(self: Array, shifts, dims=()) -> Array:
    if len(shifts) == 0:
        raise RuntimeError("`shifts` required")
    if len(dims) == 0 and len(shifts) == 1:
        return np.asarray(np.roll(self, shifts[0]), order="C")
    if len(shifts) != len(dims):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    require_dims(dims[0], self.ndim)
    if not self.size:
        return np.array(self)
    rolled = np.roll(self, shifts, tuple(wrap_dim(d, self.ndim) for d in dims))
    return formatted_as(rolled, self)


roll.gradient(
    self=lambda F, grad, shifts, dims: F.roll(
        grad, tuple(-s for s in reversed(shifts)), tuple(reversed(dims))
    )
)
roll.forward("linear")


@roll.composes
def _roll_in_view(self, shifts, dims):
    if not dims and len(shifts) == 1:
        flat = self.contiguous().view(self._raw.size)
        return roll(flat, shifts, (0,)).view(self._raw.shape)
    if self._raw.size or len(dims) != len(shifts):
        return NotImplemented
    if len(dims) == 1:
        return self.clone()
    return roll(roll(self, shifts[:1], dims[:1]), shifts[1:], dims[1:])


@function("roll")
def roll_(input, shifts, dims=()):
    """A copy with the elements shifted cyclically along dimensions (torch.roll).

    Without `dims`, along the flattened tensor. Raises RuntimeError when shifts and dims differ in
    number.
    """
    return tensor_ops.roll(
        input,
        (shifts,) if isinstance(shifts, int) else tuple(shifts),
        (dims,) if isinstance(dims, int) else tuple(dims or ()),
    )


@operator(function=False, method=False, fresh=True, batching="dims")
def rot90(self: Array, k=1, dims=(0, 1)) -> Array:
    first, second = (wrap_dim(d, self.ndim) for d in dims)
    axes = ((), (second,), (first, second), (first,))[k % 4]
    flipped = np.flip(self, axes).copy("K" if axes else "C")
    return flipped.swapaxes(first, second) if k % 2 else flipped


@rot90.laid_out_as
def _flipped_layout(args):
    """That of a flipped copy with its dimensions swapped after odd turns, and of a row-major one
    after none."""
    input, k, dims = args
    if k % 4 == 0:
        return None
    strides = [*(dense_strides(input) or contiguous_strides(input._raw.shape))]
    if k % 2:
        first, second = (wrap_dim(d, len(strides)) for d in dims)
        strides[first], strides[second] = strides[second], strides[first]
    return tuple(strides)


@rot90.composes
def _turned(self, k, dims):
    first, second = dims
    if k % 4 == 0:
        return self.clone(memory_format=contiguous_format)
    if k % 4 == 2:
        return flip(self, dims)
    return flip(self, (second,) if k % 4 == 1 else (first,)).transpose_(first, second)


rot90.gradient(self=lambda F, grad, k, dims: F.rot90(grad, -k, dims))
rot90.forward("linear")


@function("rot90")
def rot90_(input, k=1, dims=(0, 1)):
    """A copy rotated by `k` quarter turns in the plane of two dimensions (torch.rot90)."""
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    ndim = input._raw.ndim
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = (wrap_dim(dim, ndim) for dim in dims)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    return tensor_ops.rot90(input, k, dims)


def _triangle(name: str, keep):
    def kernel(self: Array, diagonal=0) -> Array:
        if self.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        farthest = sum(self.shape[-2:])  # a diagonal that lies outside, which NumPy can count
        return np.ascontiguousarray(keep(self, min(max(diagonal, -farthest), farthest)))

    kernel.__name__ = name
    kernel.__annotations__ = {"self": "Array"}
    kernel.__doc__ = f"One triangle of the last two dimensions, zeros elsewhere (torch.{name})."
    op = operator(inplace=True, out=True, memory=MemoryOverlap(within=True), batching="dims")(
        kernel
    )
    op.gradient(self=lambda F, grad, diagonal: getattr(F, name)(grad, diagonal)).forward("linear")
    op.checks_out(exact_dtype_out)
    return op


tril = _triangle("tril", lambda value, k: np.tril(value, k))
triu = _triangle("triu", lambda value, k: np.triu(value, k))


@flip.batches
def _flip_of_batch(args, level):
    batch, dims = args
    rank = batch._raw.ndim
    return hide(flip(fronted(batch, level), tuple(wrap_dim(d, rank) + 1 for d in dims)), level)


@roll.batches
def _roll_of_batch(args, level):
    batch, shifts, dims = args
    value = fronted(batch, level)
    if len(dims) == 0:  # torch rolls over the batch where an example has no dimensions
        rows = value.flatten(1) if batch._raw.ndim else value.unsqueeze(0)
        return hide(roll(rows, shifts, (1,)).view(value._raw.shape), level)
    places = tuple(wrap_dim(d, batch._raw.ndim) + 1 for d in dims)
    return hide(roll(value, shifts, places), level)


for _name in ("roll", "tril", "triu"):
    OPERATORS[_name].on_large_meta(like_first)
