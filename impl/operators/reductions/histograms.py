"""Histograms: `bincount` and `histc`; not differentiable."""

from __future__ import annotations

import math

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import no_derivative, not_implemented, require_floating
from impl.dispatch.out import write_out
from impl.tensor.tensor import new


@operator(node="NotImplemented", function=False, method=False)
def bincount_weighted(weights: Array, values, minlength) -> Array:
    kind = np.dtype(np.float32 if weights.dtype == np.float32 else np.float64)
    sums = np.zeros(max(int(values.max(initial=-1)) + 1, minlength), kind)
    np.add.at(sums, values, weights.real.astype(kind))
    return sums


bincount_weighted.gradient(weights=no_derivative("bincount"))


@function("bincount")
def bincount(input, weights=None, minlength=0):
    """The frequencies (int64) of the integers from 0 in a tensor (n,), of `minlength` at least
    (torch.bincount).

    With weights (n,) the sums of the weights: float64, or float32 for float32 weights; recorded,
    but the backward raises. Raises RuntimeError for negative integers and sizes that do not fit.
    """
    values = np.asarray(input._raw)
    if values.dtype.kind not in "iu":
        raise not_implemented("bincount_cpu", input.dtype)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if values.ndim == 1 and not values.size:
        return new(np.zeros(minlength, np.int64))
    if values.ndim != 1 or values.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return new(np.bincount(values, minlength=minlength).astype(np.int64, copy=False))
    if weights._raw.shape != values.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return bincount_weighted(weights, values, minlength)


@function("histc", batching="by_example")
def histc(input, bins=100, min=0, max=0, *, out=None):
    """The histogram of the elements in `bins` equal parts of [min, max] (torch.histc).

    Elements outside, and NaN, are not counted. Equal limits are replaced by the smallest and the
    largest element. The counts have the dtype of `input`. Raises RuntimeError for limits that are
    not finite or in the wrong order, NotImplementedError for all but floating dtypes.
    """
    if not isinstance(bins, int):
        raise TypeError(
            f"histc(): argument 'bins' (position 2) must be int, not {type(bins).__name__}"
        )
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    values = np.asarray(input._raw)
    low, high = _limits(values, min, max)
    require_floating(values, "histogram_cpu")
    kind = values.dtype.type
    if out is input:
        values = np.zeros_like(values)  # ATen clears the counts before it reads the elements
    within = values[(values >= kind(low)) & (values <= kind(high))]
    places = ((within - kind(low)) * kind(bins) / (kind(high) - kind(low))).astype(np.int64)
    counts = np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(values.dtype)
    if out is None:
        return new(counts)
    if out.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogram: input tensor and hist tensor should have the same dtype, but got "
            f"input {input.dtype.c_name} and hist {out.dtype.c_name}"
        )
    write_out(out, counts)
    return out


def _limits(values: np.ndarray, low, high) -> tuple[float, float]:
    if low == high and values.size:
        if BY_NUMPY[values.dtype].category > FLOATING:
            raise not_implemented("aminmax_cpu", BY_NUMPY[values.dtype])
        low, high = values.min().item(), values.max().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high
