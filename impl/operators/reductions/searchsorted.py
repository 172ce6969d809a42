"""Searches in sorted sequences: `searchsorted` and `bucketize`; not differentiable."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import FLOATING, int32, int64, result_dtype
from impl.core.strides import unboxed
from impl.core.warning import warn_once
from impl.dispatch.definition import function
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import fit, write_out
from impl.tensor.tensor import Tensor, new

_NAME = "torch.searchsorted()"


_NON_CONTIGUOUS = (
    "torch.searchsorted(): {0} tensor is non-contiguous, this will lower the performance due to "
    "extra data copy when converting non-contiguous tensor to contiguous, please use contiguous "
    "{0} tensor if possible. This message will only appear once per program."
)


def _positions(rows: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """Binary search: the first or (`right`) the last insertion point of each value in its row.

    `rows` is (n,), or (..., n) with values (..., m). The comparisons and probes are those of torch,
    so that rows with NaN, which compares false, give the same positions.
    """
    size = rows.shape[-1]
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, size, np.int64)
    stands_before = np.greater if right else np.greater_equal
    while (searching := low < high).any():
        middle = low + (high - low) // 2
        probed = np.minimum(middle, size - 1)
        probes = rows[probed] if rows.ndim == 1 else np.take_along_axis(rows, probed, -1)
        after = stands_before(probes, values)
        low = np.where(searching & ~after, middle + 1, low)
        high = np.where(searching & after, middle, high)
    return low


def _sorted_by(sequence: Tensor, sorter) -> np.ndarray:
    rows = np.asarray(sequence._raw)
    if sorter is None:
        return rows
    order = np.asarray(sorter._raw)
    if rows.shape != order.shape:
        raise RuntimeError(
            f"{_NAME}: boundary and sorter must have the same size, but got boundary tensor "
            f"{list(rows.shape)}and got sorter tensor {list(order.shape)}"
        )
    if sorter.dtype is not int64:
        raise RuntimeError(
            f"{_NAME}: sorter must be a tensor of long dtype but got dtype {sorter.dtype.legacy}"
        )
    if order.size and not (order.min() >= 0 and order.max() < rows.shape[-1]):
        raise RuntimeError(f"{_NAME}: sorter index out of range")
    return np.take_along_axis(rows, order, -1)


def _check_sizes(rows: tuple[int, ...], values: tuple[int, ...]) -> None:
    if not values and len(rows) != 1:
        raise RuntimeError(
            f"{_NAME}: input value can be a scalar only when boundaries tensor dimension is 1, but "
            f"we got boundaries tensor dim({len(rows)}) and input value's dim(0) numel(1)"
        )
    if not rows:
        raise RuntimeError(
            f"{_NAME}: boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if len(rows) > 1 and (len(rows) != len(values) or rows[:-1] != values[:-1]):
        raise RuntimeError(
            f"{_NAME}: boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(rows)} and input value tensor {list(values)}"
        )


def _search(sequence: Tensor, values, out_int32: bool, right: bool, sorter, out) -> Tensor:
    raw = values._raw if isinstance(values, Tensor) else values
    common = result_dtype([sequence._raw, raw])
    rows = _sorted_by(sequence, sorter)
    _check_sizes(rows.shape, np.shape(raw))
    kind = int32 if out_int32 else int64
    if out is not None and out.dtype is not kind:
        raise RuntimeError(
            f"{_NAME}: output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
            "depending on whether out_int32 flag is True, but we got output tensor's dtype "
            f"{out.dtype.legacy} and out_int32 flag is {out_int32}"
        )
    if out is not None:
        fit(out, np.shape(raw))
    given = {"input value": values, "boundary": sequence, "sorter": sorter}
    for name, tensor in given.items():
        if np.size(raw) and isinstance(tensor, Tensor) and not tensor.is_contiguous():
            warn_once(_NON_CONTIGUOUS.format(name))
    if np.size(raw) and (common.category > FLOATING or common.numpy.kind == "b"):
        raise not_implemented("searchsorted_out_cpu", common)
    found = _positions(rows.astype(common.numpy), np.asarray(raw, common.numpy), right)
    found = found.astype(kind.numpy)
    if out is None:
        return new(unboxed(found))
    write_out(out, found)
    return out


@function("searchsorted", method=False, batching="by_example")
def searchsorted(
    sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None
):
    """The insertion points of values that keep a sequence sorted (torch.searchsorted).

    The sequence is (n,) for values of any shape, or (..., n) for values (..., m), searched row by
    row; `sorter` holds the indices that sort it. The result is int64, or int32, of the values'
    shape: the first insertion point, or with `right` (or `side="right"`) the last. Raises
    RuntimeError for sizes that do not fit, an unknown side and an invalid `sorter`.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{_NAME}: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            f"{_NAME}: side and right can't be set to opposites, got side of left while right was "
            "True"
        )
    return _search(sorted_sequence, input, out_int32, right or side == "right", sorter, out)


@function("bucketize", method=False, batching="by_example")
def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The index of the bucket of each value, between sorted boundaries (n,) (torch.bucketize).

    Bucket i is (boundaries[i - 1], boundaries[i]], or with `right` [boundaries[i - 1],
    boundaries[i]). Raises RuntimeError unless the boundaries are 1-D.
    """
    if boundaries._raw.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries._raw.ndim})"
        )
    return _search(boundaries, input, out_int32, right, None, out)
