"""Ranges: arange, linspace, logspace, and the indices of triangles."""

from __future__ import annotations

import math
import warnings

import numpy as np

from impl import dtypes, inplace
from impl.creation.options import check_options, finish, publish, type_of
from impl.operator import new
from impl.refusals import not_implemented
from impl.tensor import Tensor


@publish
def arange(
    start,
    end=None,
    step=1,
    *,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
    out=None,
) -> Tensor:
    """Numbers from start (0) up to but not including end, `step` apart (torch.arange).

    int64 if all are integers, else the default dtype. Raises RuntimeError when the step is zero or
    points the wrong way.
    """
    check_options(device, pin_memory)
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    if any(isinstance(v, complex) for v in (start, end, step)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if dtype is not None and dtype.is_complex:
        raise not_implemented("arange_cpu", dtype)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    d = dtype or (dtypes.int64 if whole else dtypes.get_default_dtype())
    count = math.ceil((end - start) / step)
    if d.category == dtypes.FLOATING:
        steps = np.arange(count, dtype=np.float64)
        raw = (start + step * steps).astype(d.numpy)
    else:
        raw = (int(start) + int(step) * np.arange(count)).astype(d.numpy)
    if out is not None:
        return inplace.store("arange", out, new(raw))
    return finish(raw, requires_grad, None, "arange")


@publish
def range(
    start,
    end=None,
    step=1,
    *,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
    out=None,
) -> Tensor:
    """Numbers from start (0) up to end, which is included, `step` apart (torch.range, deprecated).

    Of the default dtype if none is given. Raises RuntimeError when the step is zero or points the
    wrong way.
    """
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    check_options(device, pin_memory)
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.floor((end - start) / step) + 1
    raw = (start + step * np.arange(count, dtype=np.float64)).astype(type_of(dtype))
    if out is not None:
        return inplace.store("range", out, new(raw))
    return finish(raw, requires_grad, None, "range")


@publish
def linspace(
    start,
    end,
    steps,
    *,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
    out=None,
) -> Tensor:
    """`steps` numbers evenly spaced from start to end, both included (torch.linspace).

    The first half counts from the start, the second from the end, so that both ends are exact.
    Raises RuntimeError for a negative number of steps.
    """
    check_options(device, pin_memory)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    d = type_of(dtype)
    if dtype is None and isinstance(start + end, complex):
        d = dtypes.complex_of(dtypes.get_default_dtype()).numpy
    if steps <= 1:
        raw = np.full(steps, start, d)
        return _linspaced(raw, out, requires_grad)
    exact = d.type if d.kind in "fc" and d.itemsize > 2 else np.float32
    if d.kind in "iu":
        exact = np.float64
    step = exact((exact(end) - exact(start)) / exact(steps - 1))
    i = np.arange(steps)
    rising = exact(start) + step * i.astype(exact)
    falling = exact(end) - step * (steps - 1 - i).astype(exact)
    raw = np.where(i < steps // 2, rising, falling).astype(d)
    return _linspaced(raw, out, requires_grad)


def _linspaced(raw, out, requires_grad: bool) -> Tensor:
    if out is not None:
        return inplace.store("linspace", out, new(raw))
    return finish(raw, requires_grad, None, "linspace")


@publish
def logspace(
    start, end, steps, base=10.0, *, dtype=None, requires_grad=False, device=None
) -> Tensor:
    """Powers of `base` whose exponents are evenly spaced (torch.logspace)."""
    exponents = linspace(start, end, steps, dtype=dtypes.float64)._raw
    return finish(np.power(base, exponents).astype(type_of(dtype)), requires_grad, None, "logspace")


def _triangle_indices(name: str, of):
    def indices(row, col, offset=0, *, dtype=dtypes.int64, device=None) -> Tensor:
        if dtype not in (dtypes.int32, dtypes.int64):
            raise not_implemented(name, dtype)
        return new(np.stack(of(row, offset, col)).astype(dtype.numpy))

    indices.__name__ = name
    indices.__doc__ = f"""Rows and columns of a triangle of a matrix (torch.{name}).

    Raises NotImplementedError for dtypes but int32 and int64.
    """
    return publish(indices)


tril_indices = _triangle_indices("tril_indices", np.tril_indices)
triu_indices = _triangle_indices("triu_indices", np.triu_indices)
