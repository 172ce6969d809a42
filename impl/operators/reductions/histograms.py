"""Histograms: `bincount`, `histc` and `histogram`; not differentiable."""

from __future__ import annotations

import math

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING, REDUCED, float64
from impl.core.registry import FUNCTIONS
from impl.core.return_types import return_type
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import (
    no_derivative,
    not_implemented,
    refuse_meta,
    require_floating,
    require_full_precision,
)
from impl.dispatch.out import fit, write_out
from impl.dispatch.record import store_underived
from impl.kernels.casting import storable
from impl.kernels.reduced_precision import widened
from impl.tensor import forward_grad
from impl.tensor.tensor import Tensor, new


@operator(node="NotImplemented", function=False, method=False)
def bincount_weighted(weights: Array, values, minlength) -> Array:
    kind = np.dtype(np.float32 if weights.dtype == np.float32 else np.float64)
    sums = np.zeros(max(int(values.max(initial=-1)) + 1, minlength), kind)
    np.add.at(sums, values, weights.real.astype(kind))
    return sums


bincount_weighted.gradient(weights=no_derivative("bincount"))


@function("bincount", batching="fallback")
def bincount(input, weights=None, minlength=0):
    """The frequencies (int64) of the integers from 0 in a tensor (n,), of `minlength` at least
    (torch.bincount).

    With weights (n,) the sums of the weights: float64, or float32 for float32 weights; recorded,
    but the backward raises. Raises RuntimeError for negative integers and sizes that do not fit.
    """
    refuse_meta("bincount", input, weights)
    values = np.asarray(input._raw)
    if values.dtype.kind not in "iu":
        forward_grad.refuse("bincount", input, weights)
        raise not_implemented("bincount_cpu", input.dtype)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if values.ndim == 1 and not values.size:
        return new(np.zeros(minlength, np.int64))
    if values.ndim != 1 or values.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    values = values.astype(np.int64, copy=False)
    if weights is None:
        return new(np.bincount(values, minlength=minlength).astype(np.int64, copy=False))
    if weights._raw.shape != values.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return bincount_weighted(weights, values, minlength)


@function("histc", batching="fallback")
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
    if out is not None:
        _check_histogram_out(input, (out,))
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if out is not None:
        forward_grad.refuse_out("histc", (input, out))
        fit(out, (bins,))
    values = np.asarray(input._raw)
    low, high = (storable(limit, float64.numpy).item() for limit in (min, max))
    low, high = _limits(values, low, high)
    if values.dtype == bool:
        raise not_implemented("linspace_cpu", BY_NUMPY[values.dtype])
    low, high = storable(low, values.dtype), storable(high, values.dtype)
    require_floating(values, "histogram_cpu")
    if out is input:
        values = np.zeros_like(values)  # ATen clears the counts before it reads the elements
    counted = (values >= low) & (values <= high)
    if not np.isfinite(widened(high) - widened(low)):  # nor is then the first edge
        counted = np.zeros_like(counted)
    within = values[counted]
    places = ((within - low) * values.dtype.type(bins) / (high - low)).astype(np.int64)
    # An overflow in half precision converts to the least integer, which counts as the first bin.
    counts = np.bincount(np.clip(places, 0, bins - 1), minlength=bins).astype(values.dtype)
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
    vectors = low == high and values.size > 1
    if low == high and values.size:
        if BY_NUMPY[values.dtype].category > FLOATING:
            raise TypeError(f"aminmax not implemented for {BY_NUMPY[values.dtype].legacy}")
        low, high = values.min().item(), values.max().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        # The NaN that ATen's vectors make of several elements has the sign bit.
        first, last = ("-nan", "-nan") if vectors and math.isnan(low) else (f"{low:g}", f"{high:g}")
        raise RuntimeError(f"torch.histc: range of [{first}, {last}] is not finite")
    if low == high:
        return _widened(low, values.dtype)
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high


def _widened(limit: float, dtype: np.dtype) -> tuple[float, float]:
    """The limits 1 around one number, and not the number itself where it is so large that
    float or double round back to it."""
    low, high = limit - 1, limit + 1
    if dtype in REDUCED or dtype.kind != "f":  # which is refused later
        return low, high
    most = np.finfo(dtype).max
    number = dtype.type(limit)
    return (
        min(low, float(np.nextafter(number, -most))),
        max(high, float(np.nextafter(number, most))),
    )


Histogram = return_type("histogram", "hist", "bin_edges")


@operator(
    node="NotImplemented", outputs=("hist", "bin_edges"), fresh=True, function=False, method=False
)
def histogram_within(self: Array, bins: Array, weight: Array | None, density, linear) -> tuple:
    values, edges = np.asarray(self).reshape(-1), np.array(bins)
    weights = None if weight is None else np.asarray(weight).reshape(-1)
    _check_binned(values, edges, weights)
    require_full_precision(values, "histogram_cpu")
    within = (values >= edges[0]) & (values <= edges[-1])
    find = _neighbouring_bounds if linear else _upper_bounds
    places = find(edges, values[within]) - 1
    counts = np.zeros(edges.size - 1, values.dtype)
    added = values.dtype.type(1) if weights is None else weights[within]
    np.add.at(counts, np.minimum(places, counts.size - 1), added)
    if density:
        counts = counts / counts.sum() / np.diff(edges)
    return counts, edges


def _upper_bounds(edges, values) -> np.ndarray:
    """The places of C++'s upper_bound, which halves the rest of edges that it takes for
    sorted."""
    first, left = (np.full(values.shape, n) for n in (0, edges.size))
    while left.any():
        half = left // 2
        beyond = (left > 0) & ~(values < edges[np.minimum(first + half, edges.size - 1)])
        first = np.where(beyond, first + half + 1, first)
        left = np.where(beyond, left - half - 1, half)
    return first


def _neighbouring_bounds(edges, values) -> np.ndarray:
    """Upper bounds among the edges next to the place that division gives, for edges of equal
    parts; the first place where these have no width."""
    with np.errstate(all="ignore"):
        places = (values - edges[0]) * edges.dtype.type(edges.size - 1) / (edges[-1] - edges[0])
    places = np.nan_to_num(places, nan=0.0).astype(np.int64)
    first, last = np.maximum(places - 1, 0), np.minimum(places + 1, edges.size - 1)
    among = (np.minimum(first + step, last) for step in range(3))
    beyond = [(edges[place] <= values) & (first + step <= last) for step, place in enumerate(among)]
    return first + sum(beyond)


histogram_within.gradient(
    self=no_derivative("histogram"),
    bins=no_derivative("histogram"),
    weight=no_derivative("histogram"),
)


@function("histogram", batching="fallback")
def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """The elements counted, or their weights summed, between edges (torch.histogram).

    `bins` is the tensor of the edges, or the number of equal parts of `range`, by default from the
    smallest to the largest element. With `density` the histogram's integral is 1. Raises
    RuntimeError for edges, weights and outputs of other dtypes, NotImplementedError for integers.
    """

    def compute():
        edges = bins
        if isinstance(bins, Tensor):
            weights = None if weight is None else np.asarray(weight._raw).reshape(-1)
            _check_binned(np.asarray(input._raw).reshape(-1), np.asarray(bins._raw), weights)
        _check_histogram_out(input, out)
        if not isinstance(bins, Tensor):
            _check_number_of_bins(bins)
        if out is not None:
            count = len(bins._raw) if isinstance(bins, Tensor) else bins + 1
            fit(out[1], (count,))
            fit(out[0], (count - 1,))
        if not isinstance(bins, Tensor):
            low, high = _outer_edges(np.asarray(input._raw), range)
            edges = FUNCTIONS["linspace"](low, high, bins + 1, dtype=input.dtype)
        return Histogram(
            histogram_within(input, edges, weight, density, not isinstance(bins, Tensor))
        )

    if out is None:
        return compute()
    inputs = [value for value in (input, bins, weight) if isinstance(value, Tensor)]
    return store_underived("aten::histogram", inputs, out, compute)


def _check_number_of_bins(bins: int) -> None:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


def _check_histogram_out(input: Tensor, out) -> None:
    for target, name, place in zip(
        out or (), ("hist", "bin_edges"), ("", " for dimension 0"), strict=False
    ):
        if target.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.histogram: input tensor and {name} tensor should have the same dtype, but "
                f"got input {input.dtype.c_name} and {name} {target.dtype.c_name}{place}"
            )


def _outer_edges(values: np.ndarray, limits) -> tuple[float, float]:
    if limits is not None:
        if len(limits) != 2:
            raise RuntimeError(
                "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, "
                f"but got {len(limits)}"
            )
        low, high = limits
    elif values.size:
        require_full_precision(values, "histogramdd")
        low, high = values.min().item(), values.max().item()
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
            "dimension 0"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _check_binned(values: np.ndarray, edges: np.ndarray, weights: np.ndarray | None) -> None:
    own, other = BY_NUMPY[values.dtype].c_name, BY_NUMPY[edges.dtype].c_name
    if own != other:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
            f"input with dtype {own} and bins for dimension 0 with dtype {other}"
        )
    if edges.ndim != 1:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have one dimension, but got "
            f"{edges.ndim} dimensions in the bins tensor for dimension 0"
        )
    if not edges.size:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in "
            "the bins tensor for dimension 0"
        )
    if weights is not None and weights.dtype != values.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should"
            f" have the same dtype, but got input({own}), and weight("
            f"{BY_NUMPY[weights.dtype].c_name})"
        )
    if weights is not None and weights.size != values.size:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"[{values.size}, 1] and weight with shape [{weights.size}]"
        )
    _check_number_of_bins(edges.size - 1)
