"""Integrals by the trapezoidal rule (ATen's Integration.cpp)."""

from __future__ import annotations

from impl.core.dims import require_dims, wrap_dim
from impl.core.dtypes import FLOATING, bool_
from impl.core.registry import tensor_ops
from impl.dispatch.definition import function
from impl.tensor.tensor import Tensor


def _neighbours(value, dim: int) -> tuple:
    """The elements along `dim` without the last one, and without the first one."""
    return tensor_ops.slice(value, dim, 0, -1, 1), tensor_ops.slice(value, dim, 1, None, 1)


def _refuse_bool(name: str, y: Tensor, x) -> None:
    tensors = [y, x] if isinstance(x, Tensor) else [y]
    if any(t.dtype is bool_ for t in tensors):
        which = "`x` or `y`" if isinstance(x, Tensor) else "`y`"
        raise NotImplementedError(
            f"{name}: received a bool input for {which}, but bool is not supported"
        )


def _steps(name: str, y: Tensor, x: Tensor, dim: int):
    """The distances between the sample points, of as many dimensions as `y`."""
    shape, ndim = x._raw.shape, y._raw.ndim
    if len(shape) == 1:
        if shape[0] != y._raw.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = tensor_ops.view(x, (1,) * dim + shape + (1,) * (ndim - dim - 1))
    elif len(shape) < ndim:
        x = tensor_ops.view(x, (1,) * (ndim - len(shape)) + shape)
    left, right = _neighbours(x, dim)
    return right - left


def _step(name: str, dx) -> float:
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    return float(dx)


def _times(value, number: float):
    """A product with a number, in the default dtype if the value is integral."""
    return (
        value * number if value.dtype.category < FLOATING else tensor_ops.mul_scalar(value, number)
    )


def _halved(value):
    return value / 2.0 if value.dtype.category < FLOATING else tensor_ops.div_scalar(value, 2.0)


@function(method=False)
def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integral along `dim` of samples at the points `x`, or `dx` apart (torch.trapezoid).

    `x` is 1-D, or broadcasts with `y`. Raises RuntimeError for bool, a complex `dx`, and points
    that do not fit; without samples the integral is zero.
    """
    if x is None:
        require_dims(dim, y._raw.ndim)
    axis, shape = wrap_dim(dim, y._raw.ndim), y._raw.shape
    require_dims(axis, len(shape))
    if shape[axis] == 0:
        zeros = tensor_ops.new_zeros(y, shape[:axis] + shape[axis + 1 :])
        zeros._storage.version += 1  # ATen's zeros are written in place, which counts here
        return zeros
    _refuse_bool("trapezoid", y, x)
    if x is not None:
        dim, steps = axis, _steps("trapezoid", y, x, axis)
        left, right = _neighbours(y, dim)
        return _halved(((left + right) * steps).sum(dim))
    dx = _step("trapezoid", dx)
    ends = tensor_ops.select(y, dim, 0) + tensor_ops.select(y, dim, -1)
    return _times(y.sum(dim) - _times(ends, 0.5), dx)


@function(method=False)
def trapz(y, x=None, *, dx=1, dim=-1):
    """`trapezoid` under its older name, where a bool passes for `dx` (torch.trapz)."""
    return trapezoid(y, x, dx=float(dx) if isinstance(dx, bool) else dx, dim=dim)


@function(method=False)
def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The cumulative integrals along `dim`, without a leading zero (torch.cumulative_trapezoid).

    Arguments and errors are those of `trapezoid`.
    """
    _refuse_bool("cumulative_trapezoid", y, x)
    if x is not None:
        dim = wrap_dim(dim, y._raw.ndim)
        if x._raw.ndim == 1:
            require_dims(dim, y._raw.ndim)
        steps = _steps("cumulative_trapezoid", y, x, dim)
        left, right = _neighbours(y, dim)
        return _halved(((left + right) * steps).cumsum(dim))
    dx = _step("cumulative_trapezoid", dx)
    left, right = _neighbours(y, dim)
    return _times(left + right, dx / 2.0).cumsum(dim)
