"""Elements repeated as copies: repeat, tile, repeat_interleave."""

from __future__ import annotations

import numpy as np

from impl.core.dims import existing_dim, wrap_dim
from impl.core.dtypes import CATEGORY, INTEGRAL, int32, int64
from impl.core.memory_formats import contiguous_format
from impl.core.registry import tensor_ops
from impl.core.sizes import negative_size, sizes_given
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.vmap_rules import fronted, hide
from impl.tensor.tensor import Tensor, new


@operator(
    function=False, method=False, node="RepeatBackward0", writes=lambda args: 0 not in args[1]
)
def repeat(self: Array, repeats) -> Array:
    if len(repeats) < self.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    sizes = (1,) * (len(repeats) - self.ndim) + self.shape
    shape = [n * r for n, r in zip(sizes, repeats, strict=True)]
    if any(n < 0 for n in shape):
        raise negative_size(shape)
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


@repeat.batches
def _repeat_of_batch(args, level):
    batch, repeats = args
    value = fronted(batch, level)
    for _ in range(len(repeats) - batch._raw.ndim):
        value = value.unsqueeze(1)
    return hide(repeat(value, (1, *repeats)), level)


@repeat.composes
def _repeat_in_view(self, repeats):
    result = repeat.computed(self, repeats)
    return result if 0 in repeats else result.view_as(result)


repeat.gradient(self=_repeat_gradient)
repeat.forward("linear")


@function("repeat", torch=False)
def repeat_(self, *repeats, **named):
    """A copy with the whole tensor repeated along each dimension (torch.Tensor.repeat).

    Raises RuntimeError for fewer repeats than dimensions, or negative ones.
    """
    return tensor_ops.repeat(self, sizes_given("repeats", repeats, named))


@function("tile")
def tile(input, *dims, **named):
    """`repeat` with missing leading counts taken as one (torch.tile)."""
    counts = sizes_given("dims", dims, named)
    return tensor_ops.repeat(input, (1,) * (input._raw.ndim - len(counts)) + counts)


@function("repeat_interleave")
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element along a dimension repeated, all equally often or by one count each.

    Without `dim` the tensor is flattened first. Raises RuntimeError for negative counts and for a
    wrong number of counts (torch.repeat_interleave).
    """
    if repeats is None:
        if input._raw.dtype.kind == "i" and input._raw.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return _indices_of(input, output_size)
    if dim is None:
        input = input.flatten()
        dim = 0
    wrap = existing_dim if isinstance(repeats, Tensor) else wrap_dim
    given, dim = dim, wrap(dim, input._raw.ndim)
    size = input._raw.shape[dim] if input._raw.ndim else 1
    if not isinstance(repeats, Tensor):
        return _equally_often(input, repeats, dim, size, output_size)
    if repeats._raw.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats._raw.size == 1:
        repeats = tensor_ops.expand(repeats.reshape(1), (size,))
    if repeats._raw.size != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._raw.size} and input.size({given}) = {size}"
        )
    if repeats.is_meta and output_size is None:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    indices = _indices_of(repeats, output_size)
    if indices.dtype not in (int32, int64):
        indices = indices.to(int64)
    return tensor_ops.index_select(input, dim, indices)


def _equally_often(input, times: int, dim: int, size: int, output_size):
    if times < 0:
        raise RuntimeError("Repeats must be non-negative")
    if output_size not in (None, size * times):
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {size * times} but got {output_size}"
        )
    spread = tensor_ops.unsqueeze(input, dim + 1)
    shape = list(spread._raw.shape)
    shape[dim + 1] = times
    return (
        tensor_ops.expand(spread, tuple(shape))
        .clone(memory_format=contiguous_format)
        .flatten(dim, dim + 1)
    )


def _indices_of(repeats: Tensor, output_size) -> Tensor:
    """Each index as often as its count says; `output_size` of them if that is given."""
    counts = repeats._raw
    if CATEGORY[counts.dtype] != INTEGRAL:
        raise not_implemented("repeat_interleave_cpu", repeats.dtype)
    if not counts.size:
        return new(np.zeros(0, counts.dtype))
    if output_size is not None and output_size < 0:
        raise negative_size([output_size])
    if output_size not in (None, counts.sum()):
        raise RuntimeError("allocated size does not match required size")
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return new(np.repeat(np.arange(counts.size), counts).astype(counts.dtype))
