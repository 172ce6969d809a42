"""Distinct elements and slices: `unique` and `unique_consecutive`.

torch records a node for each of them, and its backward raises.
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.dims import existing_dim
from impl.core.dtypes import BY_NUMPY
from impl.dispatch.batching_rules import RULES, in_aten
from impl.dispatch.definition import Array, native, operator
from impl.dispatch.not_implemented import not_differentiated, not_implemented, not_on_meta
from impl.kernels import introsort
from impl.kernels.reduced_precision import widened
from impl.tensor.tensor import new

_OUTPUTS = ("output", "inverse", "counts")


def _runs(rows: np.ndarray, order: np.ndarray):
    """The mask of the positions in `order` whose row differs from the previous row."""
    if not len(order):
        return np.zeros(0, bool)
    sorted_rows = rows[order]
    differs = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    return np.concatenate([[True], differs])


def _distinct(rows: np.ndarray, order: np.ndarray):
    """The index of the first row of each run, the run of each row, and the lengths of the runs."""
    first = _runs(rows, order)
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    return order[starts], inverse, np.diff(np.append(starts, len(order)))


def _of_elements(raw: Array, order) -> tuple:
    array = np.asarray(raw)
    if array.dtype.kind == "c":
        raise not_implemented("unique", BY_NUMPY[array.dtype])
    flat = array.reshape(-1)
    chosen, inverse, counts = _distinct(flat[:, None], order(flat))
    return flat[chosen], inverse.reshape(array.shape), counts


def _of_slices(raw: Array, dim: int, order) -> tuple:
    """unique of the slices along `dim`, which is the outermost dimension of the result's memory."""
    array = np.asarray(raw)
    if array.dtype.kind == "c":
        raise not_implemented("unique_dim", BY_NUMPY[array.dtype])
    empty = array.shape.count(0)
    if empty > 1:
        raise RuntimeError(
            "Number of zero sized dimensions is more than one, so unique cannot be applied "
        )
    if empty and array.shape[dim]:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    moved = np.moveaxis(array, dim, 0)
    rows = moved.reshape(len(moved), math.prod(moved.shape[1:]))
    chosen, inverse, counts = _distinct(rows, order(rows))
    return np.moveaxis(moved[chosen].copy(order="C"), 0, dim), inverse, counts


def _as_they_are(values: np.ndarray) -> np.ndarray:
    return np.arange(len(values))


def _in_order(values: np.ndarray) -> np.ndarray:
    if values.ndim == 1:  # NumPy would not put the NaN of bfloat16 last
        return np.argsort(widened(values), kind="stable")
    if not values.shape[1]:
        return _as_they_are(values)
    if (values != values).any():
        return _in_order_of_numbers(values)
    return np.lexsort(values.T[::-1])


def _in_order_of_numbers(rows: np.ndarray) -> np.ndarray:
    """The order of rows of which some have NaN, which is neither less nor greater than a number."""
    items = [*range(len(rows))]

    def less(a: int, b: int) -> bool:
        unequal = np.flatnonzero((rows[a] < rows[b]) | (rows[a] > rows[b]))
        return bool(unequal.size and rows[a, unequal[0]] < rows[b, unequal[0]])

    introsort.sort(items, less, 0, len(items))
    return np.array(items, np.int64)


# Primitives with the names of torch's, which its error messages contain.


def _writes_in_runs(args) -> tuple[int, int, int]:
    """How often the kernel for neighbours writes its results: elements and counts once more where
    they become fewer."""
    self, dim = args
    if not self._raw.size or dim is not None:
        return _writes_of_counts(args)
    elements = self._raw.reshape(-1)
    fewer = int(np.any(elements[1:] == elements[:-1]))
    return fewer, 1, 1 + fewer


def _writes_of_counts(args) -> tuple[int, int, int]:
    return 0, 0, int(args[0]._raw.size > 0)


@operator(
    node="Unique2Backward0",
    outputs=_OUTPUTS,
    function=False,
    method=False,
    writes=lambda args: int(args[0]._raw.size > 0),
)
def unique2(self: Array) -> tuple:
    return _of_elements(self, _in_order)


@operator(
    node="UniqueDimBackward0",
    outputs=_OUTPUTS,
    function=False,
    method=False,
    fresh=True,
    writes=_writes_of_counts,
)
def unique_dim(self: Array, dim) -> tuple:
    return _of_slices(self, dim, _in_order)


@operator(
    node="UniqueConsecutiveBackward0",
    outputs=_OUTPUTS,
    function=False,
    method=False,
    fresh=True,
    writes=_writes_in_runs,
)
def consecutive(self: Array, dim) -> tuple:
    if dim is None:
        return _of_elements(self, _as_they_are)
    return _of_slices(self, dim, _as_they_are)


for _op, _name in (
    (unique2, "_unique2"),
    (unique_dim, "unique_dim"),
    (consecutive, "unique_consecutive"),
):
    _op.differentiable("output").gradient(self=not_differentiated(_name))
    _op.forward("unsupported", name=_name, invited=True)
    _op.on_meta(not_on_meta(_name))


def _asked_for(results, return_inverse: bool, return_counts: bool) -> tuple:
    """Elements, inverse and counts, empty where they are not asked for."""
    output, inverse, counts = results
    nothing = new(np.zeros(0, np.int64))
    return output, inverse if return_inverse else nothing, counts if return_counts else nothing


@native("_unique2")
@RULES["dynamic"]
def _unique2(input, sorted=True, return_inverse=False, return_counts=False):
    """The distinct elements in ascending order."""
    return _asked_for(unique2(input), return_inverse, return_counts)


@native("unique_dim")
@RULES["dynamic"]
@in_aten("unique_dim")
def _unique_dim(input, dim, sorted=True, return_inverse=False, return_counts=False):
    """The distinct slices along `dim`, in the order of their elements; with inverse and counts,
    asked for or not."""
    return unique_dim(input, existing_dim(dim, input._raw.ndim))


@native()
@RULES["dynamic"]
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along `dim`, that differ from the one before; of slices with inverse
    and counts, asked for or not."""
    if dim is not None and (dim, input._raw.ndim) != (0, 1):
        return consecutive(input, existing_dim(dim, input._raw.ndim))
    return _asked_for(consecutive(input, None), return_inverse, return_counts)
