"""Ranges: arange, linspace, logspace, and the indices of triangles."""

from __future__ import annotations

import functools
import math

import numpy as np

from impl.core import dtypes
from impl.core.dtypes import REDUCED
from impl.core.warning import warn
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import fill_out
from impl.factories.creation.options import factory, publish, type_of
from impl.kernels import libm
from impl.kernels.casting import filled, storable
from impl.kernels.fused_multiply_add import fused
from impl.tensor.memory_overlap import check_overlap
from impl.tensor.tensor import Tensor
from impl.tensor.write import resize


def _fill_range(out: Tensor, value) -> None:
    """Store the numbers in `out`, which keeps its shape if it has as many elements. Raises
    RuntimeError for an expanded one, unless one number is stored."""
    if out._raw.size != value.size:
        resize(out, value.shape)
    if value.size != 1:
        check_overlap(out)
    fill_out(out, value.reshape(out._raw.shape))


def fill_arange(out: Tensor, value) -> None:
    if 0 != out._raw.size != value.size:
        warn(
            f"The number of elements in the out tensor of shape {[*out._raw.shape]} is "
            f"{out._raw.size} which does not match the computed number of elements {value.size}. "
            "Note that this may occur as a result of rounding error. The out tensor will be "
            f"resized to a tensor of shape ({value.size},).",
        )
    _fill_range(out, value)


@publish
@factory(out=fill_arange)
def arange(start, end=None, step=1, *, dtype=None):
    """Numbers from start (0) up to but not including end, `step` apart (torch.arange).

    int64 if all are integers, else the default dtype. Raises RuntimeError when the step is zero or
    points the wrong way.
    """
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    _require_arithmetic("arange_cpu", dtype)
    start, end, step = _real((start, end, step))
    _check_step(start, end, step)
    for value in (start, end, step):
        if type(value) is int:
            storable(value, dtypes.int64.numpy)  # raises where it is out of range
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    d = dtype or (dtypes.int64 if whole else dtypes.get_default_dtype())
    count = -((start - end) // step) if whole else math.ceil((end - start) / step)
    if count >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    if d.category == dtypes.FLOATING:
        exact = np.dtype(np.float32 if d.numpy in REDUCED else np.float64)
        places = np.arange(count, dtype=exact)
        return fused(places, exact.type(step), exact.type(start)).astype(d.numpy)
    return (int(start) + int(step) * np.arange(count)).astype(d.numpy)


def _real(numbers) -> tuple:
    """The numbers as real ones, if one is complex. Raises RuntimeError for an imaginary part."""
    if not any(isinstance(number, complex) for number in numbers):
        return numbers
    return tuple(storable(number, dtypes.float64.numpy).item() for number in numbers)


def _check_step(start, end, step) -> None:
    if not math.isfinite(step):
        raise RuntimeError(f"step must be finite but got {step:g}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _deprecated(make):
    """A factory that warns before anything else."""

    def told() -> None:
        warn(
            "torch.range is deprecated and will be removed in a future release because its "
            "behavior is inconsistent with Python's range builtin. Instead, use torch.arange, "
            "which produces values in [start, end).",
        )

    @functools.wraps(make)
    def call(*args, **named):
        told()
        return make(*args, **named)

    call.warn = told  # type: ignore[attr-defined]
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
    start, end, step = _real((start, end, step))
    if dtype is not None and dtype.category == dtypes.INTEGRAL:
        start, end, step = (int(storable(v, dtypes.int64.numpy)) for v in (start, end, step))
    _check_step(start, end, step)
    count = math.floor((end - start) / step) + 1
    if count >= 2**63:
        raise RuntimeError(
            f"IntArrayRef contains an int that cannot be represented as a SymInt: {-(2**63)}"
        )
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


def _into(out, value):
    """The numbers, in `out=` if that is given."""
    if out is None:
        return value
    _fill_range(out, value)
    return out


def _numbers(name: str, start, end, steps: int, dtype, out) -> tuple:
    """Start and end as numbers, and the NumPy dtype of the result: complex if one of them is, or
    that of `out=`, which is resized before it refuses a number."""
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    if out is not None:
        d = out._raw.dtype
        if out._raw.size != steps:
            resize(out, (steps,))
        if d.kind == "b" and steps > 1:
            raise not_implemented(f"{name}_cpu", dtypes.bool_)
        start, end = (
            storable(v, d).item() if isinstance(v, complex) and d.kind != "c" and steps > i else v
            for i, v in enumerate((start, end))
        )
        return start, end, d
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
@factory
def linspace(start, end, steps, *, dtype=None, out=None):
    """`steps` numbers evenly spaced from start to end, both included (torch.linspace).

    The first half counts from the start, the second from the end, so that both ends are exact.
    Raises RuntimeError for a negative number of steps.
    """
    _check_ends("linspace", start, end)
    _check_steps(steps)
    start, end, d = _numbers("linspace", start, end, steps, dtype, out)
    return _into(out, _linspace(start, end, steps, d))


def _linspace(start, end, steps: int, d: np.dtype) -> np.ndarray:
    if steps <= 1:
        return filled((steps,), start, d) if steps else np.empty(0, d)
    if d.kind == "b":
        raise not_implemented("linspace_cpu", dtypes.bool_)
    first, last = (storable(end, d) for end in (start, end))
    exact = np.dtype(np.float64) if d.kind in "iu" else d
    return _spaced(first, last, steps, exact).astype(d)


def _check_steps(steps: int) -> None:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")


def _spaced(start, end, steps: int, d: np.dtype) -> np.ndarray:
    """Numbers evenly spaced between two elements of `d`, of which each is rounded once; those of
    half and bfloat16 are computed in float32."""
    exact = np.dtype(np.float32) if d in REDUCED else d
    first, last = exact.type(d.type(start)), exact.type(d.type(end))
    step = exact.type((last - first) / exact.type(steps - 1))
    i = np.arange(steps)
    ahead, behind = i.astype(exact), (steps - 1 - i).astype(exact)
    if exact.kind == "f":
        rising, falling = fused(ahead, step, first), fused(behind, -step, last)
    else:
        rising, falling = first + step * ahead, last - step * behind
    return np.where(i < steps // 2, rising, falling)


@publish
@factory
def logspace(start, end, steps, base=10.0, *, dtype=None, out=None):
    """Powers of `base` whose exponents are evenly spaced (torch.logspace)."""
    _check_ends("logspace", start, end)
    _check_steps(steps)
    start, end, d = _numbers("logspace", start, end, steps, dtype, out)
    return _into(out, _logspace(start, end, steps, base, d))


def _logspace(start, end, steps: int, base, d: np.dtype) -> np.ndarray:
    if steps <= 1:
        return filled((steps,), _power(base, start), d) if steps else np.empty(0, d)
    if d.kind == "b":
        raise not_implemented("logspace_cpu", dtypes.bool_)
    if d.kind == "c":
        return np.power(d.type(base), _linspace(start, end, steps, d))
    first, last = (storable(end, d) for end in (start, end))
    if d.kind in "iu":
        first, last = int(first), int(last)
    step = float(last - first) / (steps - 1)
    i = np.arange(steps)
    rising, falling = float(first) + step * i, float(last) - step * (steps - 1 - i)
    return libm.power(base, np.where(i < steps // 2, rising, falling)).astype(d)


def _power(base, exponent):
    if isinstance(exponent, complex):
        return np.power(complex(base), exponent).item()
    return libm.power(base, np.array([exponent], np.float64)).item()


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
