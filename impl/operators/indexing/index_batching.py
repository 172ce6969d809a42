"""Batching rules of advanced indexing, and of writes at indices of one dimension
(ATen/functorch/BatchRulesScatterOps.cpp)."""

from __future__ import annotations

import functools

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.registry import FUNCTIONS
from impl.dispatch.vmap_rules import (
    along,
    ensured,
    fronted,
    hide,
    hide_at,
    indexed,
    merged,
    padded,
    unfolded,
)
from impl.operators.indexing.index_operators import index_, index_put
from impl.operators.indexing.index_writes import (
    index_add,
    index_copy,
    index_fill_scalar,
    index_fill_tensor,
)
from impl.tensor.batched_tensor import is_at

_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
    "batch over indexing with a boolean mask."
)


@index_.batches
def _index_of_batch(args, level):
    batch, indices = args
    present = [dim for dim, index in enumerate(indices) if index is not None]
    leading = present[0] if present[-1] - present[0] < len(present) else None
    given = [index for index in indices if index is not None]
    if any(is_at(index, level) for index in given):
        if any(index._raw.dtype == np.bool_ for index in given):
            raise RuntimeError(_MASK)
        return _at_batched_indices(batch, indices, leading, level)
    result = index_(fronted(batch, level), [None, *indices])
    # Dimensions of indices come first if these stand apart, and the examples after them.
    place = 0 if leading is not None else _rank(indices)
    return hide_at(result, place, level)


def _rank(indices) -> int:
    return max(index._raw.ndim for index in indices if index is not None)


def _at_batched_indices(batch, indices, leading: int | None, level):
    """Indices that differ between examples, with `leading` dimensions before them, or apart from
    each other. Where the values differ as well, each example has an index of its own."""
    rank = _rank(indices)
    if not is_at(batch, level):
        moved = [None if index is None else padded(index, rank, level) for index in indices]
        return hide_at(index_(batch, moved), leading or 0, level)
    result = index_(fronted(batch, level), _with_examples(indices, rank, level))
    if leading:  # which the index of the examples has moved behind those of the indices
        inner = range(rank + 1, rank + 1 + leading)
        rest = range(rank + 1 + leading, result._raw.ndim)
        result = FUNCTIONS["permute"](result, (0, *inner, *range(1, rank + 1), *rest))
    return hide(result, level)


def _with_examples(indices, rank: int, level) -> list:
    own = FUNCTIONS["arange"](level.size).view(level.size, *(1,) * rank)
    return [own, *(None if i is None else padded(i, rank, level) for i in indices)]


@index_put.batches
def _index_put_of_batch(args, level):
    target, indices, values, accumulate = args
    present = [dim for dim, index in enumerate(indices) if index is not None]
    masks = [indices[dim]._raw.dtype == np.bool_ for dim in present]
    rank = max(
        1 if mask else indices[dim]._raw.ndim for dim, mask in zip(present, masks, strict=True)
    )
    indexed = sum(
        indices[dim]._raw.ndim if mask else 1 for dim, mask in zip(present, masks, strict=True)
    )
    if any(is_at(index, level) for index in indices):
        if any(masks) or len(present) < len(indices):
            return NotImplemented
        places = _with_examples(indices, rank, level)
    elif present[-1] - present[0] >= len(present):  # the indexed dimensions come first
        return NotImplemented
    else:
        places = [None, *indices]
    written = ensured(values, level)
    missing = target._raw.ndim - indexed + rank - values._raw.ndim
    if missing > 0:
        written = written.view(level.size, *(1,) * missing, *values._raw.shape)
    return hide(index_put(ensured(target, level), places, written, accumulate), level)


index_add.batches(functools.partial(indexed, index_add))


@index_fill_scalar.batches
@index_fill_tensor.batches
def _index_fill_of_batch(args, level):
    """A copy, which is written in place: by one index for all examples where each has its own
    (ATen/functorch/BatchRulesScatterOps.cpp)."""
    input, dim, index, value = args
    rank, dim = input._raw.ndim, wrap_dim(dim, input._raw.ndim)
    copy = input._over(input._value.clone()) if is_at(input, level) else input.clone()
    whole = ensured(copy, level)
    if is_at(value, level):
        index, values = ensured(index, level), fronted(value, level)
        for i in range(level.size):
            whole.select(0, i).index_fill_(dim, index.select(0, i), values.select(0, i))
        return hide(whole, level)
    if not is_at(index, level):
        return hide(_filled_in_place(whole, rank, dim + 1, index, value), level)
    places = fronted(index, level)
    whole = whole if is_at(input, level) else whole.clone()
    if not rank:
        return hide(_filled_in_place(whole, rank, 1, places.reshape(-1), value), level)
    steps = FUNCTIONS["arange"](level.size, dtype=index.dtype).unsqueeze(-1)
    places = places if index._raw.ndim else places.unsqueeze(-1)
    places = places.add(steps, alpha=whole._raw.shape[dim + 1])
    whole = merged(whole, 0, dim).index_fill_(dim, merged(places, 0, 0), value)
    return hide_at(unfolded(whole, dim, level.size), dim, level)


def _filled_in_place(tensor, rank: int, dim: int, index, value):
    if rank:
        return tensor.index_fill_(dim, index, value)
    return tensor.unsqueeze_(-1).index_fill_(dim, index, value).squeeze_(-1)


@index_copy.batches
def _index_copy_of_batch(args, level):
    """`scatter` (ATen/functorch/BatchRulesScatterOps.cpp)."""
    input, dim, index, source = args
    if source._raw.ndim != input._raw.ndim:
        return NotImplemented
    return input.scatter(dim, along(index, dim, input), source)
