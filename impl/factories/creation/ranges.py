"""Ranges: arange, linspace, logspace, and the indices of triangles."""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np

from impl.core import dtypes
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import fill_out
from impl.factories.creation.options import factory, publish, type_of
from impl.kernels.casting import filled, storable
from impl.tensor.tensor import Tensor


def _fill_range(out: Tensor, value) -> None:
    """Store the numbers in `out`, which keeps its shape if it has as many elements."""
    fill_out(out, value.reshape(out._raw.shape) if out._raw.size == value.size else value)


def _fill_arange(out: Tensor, value) -> None:
    if 0 != out._raw.size != value.size:
        warnings.warn(
            f"The number of elements in the out tensor of shape {[*out._raw.shape]} is "
            f"{out._raw.size} which does not match the computed number of elements {value.size}. "
            "Note that this may occur as a result of rounding error. The out tensor will be "
            f"resized to a tensor of shape ({value.size},).",
            UserWarning,
            stacklevel=4,
        )
    _fill_range(out, value)


@publish
@factory(out=_fill_arange)
def arange(start, end=None, step=1, *, dtype=None):
    """Numbers from start (0) up to but not including end, `step` apart (torch.arange).

    int64 if all are integers, else the default dtype. Raises RuntimeError when the step is zero or
    points the wrong way.
    """
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    _require_arithmetic("arange_cpu", dtype)
    if any(isinstance(v, complex) for v in (start, end, step)):
        kind = dtypes.float64.numpy
        start, end, step = (storable(v, kind).item() for v in (start, end, step))
    if dtype is dtypes.int64:  # for which alone the count, too, is that of whole numbers
        start, end, step = (int(v) for v in (start, end, step))
    _check_step(start, end, step)
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    d = dtype or (dtypes.int64 if whole else dtypes.get_default_dtype())
    count = math.ceil((end - start) / step)
    if d.category == dtypes.FLOATING:
        steps = np.arange(count, dtype=np.float64)
        return (start + step * steps).astype(d.numpy)
    return (int(start) + int(step) * np.arange(count)).astype(d.numpy)


def _check_step(start, end, step) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not math.isfinite(step):
        raise RuntimeError(f"step must be finite but got {step:g}")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _deprecated(make):
    """A factory that warns before anything else."""

    @functools.wraps(make)
    def call(*args, **named):
        warnings.warn(
            "torch.range is deprecated and will be removed in a future release because its "
            "behavior is inconsistent with Python's range builtin. Instead, use torch.arange, "
            "which produces values in [start, end).",
            UserWarning,
            stacklevel=3,
        )
        return make(*args, **named)

    return call


@publish
@_deprecated
@factory(out=_fill_range)
def range(start, end=None, step=1, *, dtype=None):
    """Numbers from start (0) up to end, which is included, `step` apart (torch.range, deprecated).

    Of the default dtype if none is given. Raises RuntimeError when the step is zero or points the
    wrong way.
    """
    if end is None:
        start, end = 0, start
    _require_arithmetic("range_cpu", dtype)
    _check_step(start, end, step)
    count = math.floor((end - start) / step) + 1
    return (start + step * np.arange(count, dtype=np.float64)).astype(type_of(dtype))


def _check_ends(name: str, start, end) -> None:
    """Raise RuntimeError for a start or end that is a tensor with dimensions."""
    given = {"start": start, "end": end}
    ranks = {end: v._raw.ndim for end, v in given.items() if isinstance(v, Tensor)}
    if any(ranks.values()):
        shown = " and ".join(f"{end} with {rank} dimension(s)" for end, rank in ranks.items())
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got {shown}."
        )


def _numbers(name: str, start, end, dtype) -> tuple:
    """Start and end as numbers, and the NumPy dtype of the result: complex if one of them is."""
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    if not isinstance(start + end, complex):
        return start, end, type_of(dtype)
    inferred = dtypes.default_complex()
    if dtype is not None and not dtype.is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {inferred.c_name} can't be safely cast to passed "
            f"dtype {dtype.legacy}"
        )
    return start, end, (dtype or inferred).numpy


@publish
@factory(out=_fill_range)
def linspace(start, end, steps, *, dtype=None):
    """`steps` numbers evenly spaced from start to end, both included (torch.linspace).

    The first half counts from the start, the second from the end, so that both ends are exact.
    Raises RuntimeError for a negative number of steps.
    """
    _check_ends("linspace", start, end)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is dtypes.bool_:
        raise not_implemented("linspace_cpu", dtype)
    start, end, d = _numbers("linspace", start, end, dtype)
    if d.kind == "b" and steps:
        raise not_implemented("linspace_cpu", dtypes.bool_)
    if steps <= 1:
        return filled((steps,), start, d)
    for limit in (start, end):
        storable(limit, d)  # raises where it is out of range
    exact = d.type if d.kind in "fc" and d.itemsize > 2 else np.float32
    if d.kind in "iu":
        exact = np.float64
    step = exact((exact(end) - exact(start)) / exact(steps - 1))
    i = np.arange(steps)
    rising = exact(start) + step * i.astype(exact)
    falling = exact(end) - step * (steps - 1 - i).astype(exact)
    return np.where(i < steps // 2, rising, falling).astype(d)


@publish
@factory(out=_fill_range)
def logspace(start, end, steps, base=10.0, *, dtype=None):
    """Powers of `base` whose exponents are evenly spaced (torch.logspace)."""
    _check_ends("logspace", start, end)
    if dtype is dtypes.bool_:
        raise not_implemented("logspace_cpu", dtype)
    start, end, d = _numbers("logspace", start, end, dtype)
    if d.kind == "c":
        exponents = linspace(start, end, steps, dtype=dtypes.BY_NUMPY[d])._raw
        return np.power(d.type(base), exponents)
    if dtype is not None and dtype.category < dtypes.FLOATING:
        start, end = int(start), int(end)
    exponents = linspace(start, end, steps, dtype=dtypes.float64)._raw
    return np.power(base, exponents).astype(d)


def _require_arithmetic(kernel: str, dtype) -> None:
    if dtype is not None and (dtype.is_complex or dtype is dtypes.bool_):
        raise not_implemented(kernel, dtype)


def _triangle_indices(name: str, of):
    def indices(row, col, offset=0, *, dtype=None):
        dtype = dtypes.int64 if dtype is None else dtype
        for side, size in (("row", row), ("col", col)):
            if size < 0:
                raise RuntimeError(f"{side} must be non-negative, got{size}")
        if dtype not in (dtypes.int32, dtypes.int64):
            raise not_implemented(name, dtype)
        return np.stack(of(row, offset, col)).astype(dtype.numpy)

    indices.__name__ = indices.__qualname__ = name
    indices.__doc__ = f"""Rows and columns of a triangle of a matrix (torch.{name}).

    Raises RuntimeError for a negative size, NotImplementedError for dtypes but int32 and int64.
    """
    return publish(factory(indices))


tril_indices = _triangle_indices("tril_indices", np.tril_indices)
triu_indices = _triangle_indices("triu_indices", np.triu_indices)
