"""Reductions of consecutive segments along an axis: `segment_reduce`."""

from __future__ import annotations

import math

import numpy as np

from impl.core import messages
from impl.core.dims import wrap_dim
from impl.core.dtypes import BY_NUMPY
from impl.core.registry import FUNCTIONS
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import no_derivative, not_implemented, require_floating
from impl.kernels.casting import storable

_REDUCTIONS = {
    "sum": (np.add, 0.0),
    "mean": (np.add, 0.0),
    "max": (np.maximum, -math.inf),
    "amax": (np.maximum, -math.inf),
    "min": (np.minimum, math.inf),
    "amin": (np.minimum, math.inf),
    "prod": (np.multiply, 1.0),
}


def _check_kind(raw, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for lengths or offsets that are
    not int32 or int64."""
    if raw.dtype not in (np.int32, np.int64):
        raise not_implemented(kernel, BY_NUMPY[raw.dtype])


def _layout(lengths, offsets, size: int):
    """The lengths of the segments (..., s); and for each element in a segment the index of the
    segment and the index of the element, both flat indices over all rows."""
    if offsets is not None:
        starts, lengths = np.asarray(offsets[..., :-1]), np.diff(offsets)
    else:
        starts = np.cumsum(lengths, axis=-1) - lengths
    if (lengths < 0).any():
        raise RuntimeError(messages.expected("segment_length >= 0"))
    rows = math.prod(lengths.shape[:-1])
    first = starts.reshape(rows, starts.shape[-1]) + size * np.arange(rows)[:, None]
    flat = lengths.reshape(-1)
    segments = np.repeat(np.arange(flat.size), flat)
    steps = np.arange(segments.size) - np.repeat(np.cumsum(flat) - flat, flat)
    return lengths, segments, first.reshape(-1)[segments] + steps


def _elements(data: np.ndarray, axis: int) -> np.ndarray:
    """The data reshaped to (n, m): n over the dimensions up to the axis, m over those behind it."""
    return data.reshape(math.prod(data.shape[: axis + 1]), math.prod(data.shape[axis + 1 :]))


@operator(node="SegmentReduceBackward0", function=False, method=False)
def reduce_segments(
    data: Array, reduce, lengths: Array | None, offsets: Array | None, axis, initial
) -> Array:
    require_floating(data, "_segment_reduce_cpu")
    counts, segments, places = _layout(lengths, offsets, data.shape[axis])
    combine, identity = _REDUCTIONS[reduce]
    start = identity if initial is None else storable(initial, data.dtype)
    width = math.prod(data.shape[axis + 1 :])
    result = np.full((counts.size, width), start, data.dtype)
    combine.at(result, segments, _elements(data, axis)[places])
    if reduce == "mean":
        divisor = counts.reshape(-1, 1).astype(data.dtype)
        if initial is not None:
            divisor = np.maximum(divisor, divisor.dtype.type(1))
        with np.errstate(invalid="ignore"):
            result /= divisor
    return result.reshape(*counts.shape, *data.shape[axis + 1 :])


@operator(node="NotImplemented", function=False, method=False)
def reduce_segments_backward(
    grad: Array,
    output: Array,
    data: Array,
    reduce,
    lengths: Array | None,
    offsets: Array | None,
    axis,
    initial,
) -> Array:
    """The gradient of the data; for extrema the tied elements share it evenly."""
    given, name = (lengths, "lengths") if offsets is None else (offsets, "offsets")
    _check_kind(given, f"_segment_reduce_cpu_{name}_backward_kernel1")
    counts, segments, places = _layout(lengths, offsets, data.shape[axis])
    width = math.prod(data.shape[axis + 1 :])
    each = grad.reshape(counts.size, width)[segments]
    value = _elements(data, axis)[places]
    reduced = output.reshape(counts.size, width)
    if reduce == "mean":
        each = each / counts.reshape(-1, 1)[segments].astype(data.dtype)
    elif reduce == "prod":
        each = each * _others(value, reduced, segments, 1.0 if initial is None else initial)
    elif reduce != "sum":
        chosen = (value == reduced[segments]) | np.isnan(value)
        sharing = np.zeros(reduced.shape, data.dtype)
        np.add.at(sharing, segments, chosen.astype(data.dtype))
        # ATen divides the gradient by the number of ties only where it is positive.
        shares = np.where(each > 0, np.maximum(sharing, sharing.dtype.type(1))[segments], 1)
        each = np.where(chosen, each / shares.astype(data.dtype), data.dtype.type(0))
    result = np.zeros(data.shape, data.dtype)
    _elements(result, axis)[places] = each
    return result


def _others(value: np.ndarray, product: np.ndarray, segments: np.ndarray, initial) -> np.ndarray:
    """For each element the product of the other elements of its segment, and of `initial`.

    It is the segment's product divided by the element, unless the element is zero or NaN.
    """
    singular = (value == 0) | np.isnan(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = product[segments] / value
    if not singular.any():
        return others
    regular = np.full(product.shape, initial, product.dtype)
    np.multiply.at(regular, segments, np.where(singular, value.dtype.type(1), value))
    for special, stand_in in ((value == 0, 0.0), (np.isnan(value), math.nan)):
        count = np.zeros(product.shape, np.int64)
        np.add.at(count, segments, special)
        left = count[segments] - special
        factor = np.where(left > 0, value.dtype.type(stand_in), value.dtype.type(1))
        others = np.where(singular, (others if stand_in else regular[segments]) * factor, others)
    return others


reduce_segments.gradient(
    data="F.reduce_segments_backward(grad, result, data, reduce, lengths, offsets, axis, initial)"
)
reduce_segments.forward("unsupported", name="segment_reduce", invited=True)
reduce_segments_backward.gradients("grad", "output", "data")(
    no_derivative("_segment_reduce_backward")
)


@function("segment_reduce", method=False, batching="fallback")
def segment_reduce(
    data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None
):
    """Reduce consecutive segments of an axis by "sum", "mean", "max", "min" or "prod"
    (torch.segment_reduce).

    Segments are given by their `lengths` (..., s), where all but the last dimension are those of
    `data` before `axis`, or by `offsets` (..., s + 1), which go before lengths; the result has s
    elements along the axis.
    `initial` is the initial value of each reduction. Raises RuntimeError for lengths that are
    negative or, unless `unsafe`, do not sum to the size of the axis. No second derivative.
    """
    axis = wrap_dim(axis, data._raw.ndim)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    given, name = (lengths, "lengths") if offsets is None else (offsets, "offsets")
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if data._raw.ndim < given._raw.ndim:
        raise RuntimeError(messages.expected(f"data.dim() >= {name}_value.dim()"))
    if axis != given._raw.ndim - 1:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}."
        )
    if offsets is None and not unsafe:
        array = np.asarray(lengths._raw)
        if FUNCTIONS["min"](lengths).item() < 0:
            raise RuntimeError("lengths contains negative value!")
        if (array.sum(-1) != data._raw.shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    _check_kind(given._raw, f"_segment_reduce_{name}_cpu_kernel1")
    if offsets is not None:
        lengths = None
    return reduce_segments(data, reduce, lengths, offsets, axis, initial)
