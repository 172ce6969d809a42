"""Combinations of a vector's elements, and Cartesian products of vectors."""

from __future__ import annotations

import itertools

import numpy as np

from impl.core.registry import tensor_ops
from impl.dispatch.definition import function, native
from impl.operators.copies.cat_stack import meshgrid, stack
from impl.tensor.tensor import Tensor, new


def _check_vector(value: Tensor) -> None:
    if value._raw.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {[*value._raw.shape]}")


@function(method=False)
def combinations(input, r=2, with_replacement=False):
    """The combinations of `r` elements of a vector (n,), one a row (torch.combinations).

    With replacement an element may occur repeatedly. Raises RuntimeError unless the input is 1-D,
    and for a negative `r`.
    """
    _check_vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return tensor_ops.new_zeros(input, (0,))
    chosen = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = [*chosen(range(input._raw.size), r)]
    return tensor_ops.index(input, [new(np.array(places, np.int64).reshape(-1, r))])


@native()
def cartesian_prod(tensors):
    """The Cartesian product of vectors, one tuple a row.

    Raises RuntimeError unless all are 1-D.
    """
    for tensor in tensors:
        _check_vector(tensor)
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.flatten() for grid in meshgrid(tensors, indexing="ij")], 1)
