"""Operators of integers: gcd, lcm, isin and unravel_index."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING, result_dtype
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import store_exactly
from impl.tensor.tensor import Tensor, new


def _require_integers(value, kernel: str) -> None:
    if value.dtype.kind not in "iu":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


@operator(promote="arithmetic", elementwise=True, inplace=True, out=True, numbers=False)
def gcd(self: Array, other: Array) -> Array:
    """The greatest common divisor (torch.gcd). NotImplementedError for all but integers."""
    _require_integers(self, "gcd_cpu")
    return np.gcd(self, other)


@operator(promote="arithmetic", elementwise=True, inplace=True, out=True, numbers=False)
def lcm(self: Array, other: Array) -> Array:
    """The least common multiple (torch.lcm). NotImplementedError for all but integers."""
    _require_integers(self, "lcm_cpu")
    return np.lcm(self, other)


@function(method=False, out=True, storing=store_exactly, batching="by_example")
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each of `elements` occurs in `test_elements`; either may be a number (torch.isin).

    Raises NotImplementedError for bools and complex numbers.
    """
    raws = [v._raw if isinstance(v, Tensor) else v for v in (elements, test_elements)]
    common = result_dtype(raws)
    for raw in raws:
        if isinstance(raw, (np.ndarray, np.generic, bool)):
            d = BY_NUMPY[np.asarray(raw).dtype]
            if d.category > FLOATING or d.name == "bool":
                raise NotImplementedError(
                    f"Unsupported input type encountered for isin(): {d.legacy}"
                )
    whole, others = (np.asarray(r).astype(common.numpy) for r in raws)
    found = np.isin(whole, others, invert=invert)
    return new(found if found.ndim else found[()])


@function(method=False)
def unravel_index(indices, shape):
    """The coordinates, one tensor for each dimension, of indices into a flattened tensor
    (torch.unravel_index).

    Raises TypeError for indices that are not integers, and ValueError for negative sizes, and for
    sizes of zero unless there are no indices.
    """
    if indices.is_complex() or indices.is_floating_point() or indices.dtype.name == "bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
        if size < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if sizes and indices.numel() and not all(sizes):
        raise ValueError(
            f"'shape' cannot have zero dimensions when 'indices' is non-empty, but got {sizes}"
        )
    steps = [math.prod(sizes[place:]) for place in range(1, len(sizes) + 1)]
    divisors, moduli = (new(np.array(numbers, np.int64)) for numbers in (steps, sizes))
    return ((indices.unsqueeze(-1) // divisors) % moduli).unbind(-1)
