"""Finite differences: `diff`, and numerical gradients (`gradient`)."""

from __future__ import annotations

import functools
import numbers
import operator
from collections.abc import Callable

from impl.core import messages
from impl.core.dims import existing_dim, wrap_dim, wrap_dims
from impl.core.dtypes import FLOATING, bool_, get_default_dtype, uint8
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.dispatch.definition import function
from impl.dispatch.out import copy_out
from impl.operators.copies.cat_stack import cat
from impl.tensor.tensor import Tensor

# -- diff ---------------------------------------------------------------------------------------


def _check_joined(input: Tensor, other: Tensor | None, dim: int) -> None:
    """Raise RuntimeError unless `other` can be concatenated with `input` along `dim`."""
    if other is None:
        return
    shape, given = input._raw.shape, other._raw.shape
    dim = wrap_dim(dim, len(shape))
    if len(given) != len(shape):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (a, b) in enumerate(zip(shape, given, strict=True)):
        if i != dim and a != b:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({i}) = {a}, but got "
                f"tensor.size({i}) = {b}"
            )


def _joined(input: Tensor, prepend, append, dim: int) -> Tensor:
    return cat([t for t in (prepend, input, append) if t is not None], dim)


@function(batching="by_example")
def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """The differences of neighbours along `dim`, `n` times over (torch.diff).

    `prepend` and `append` are concatenated with the input first. Raises RuntimeError for a 0-dim
    tensor, a negative `n`, and shapes that do not fit.
    """
    if input._raw.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    _check_joined(input, prepend, dim)
    _check_joined(input, append, dim)
    result = input
    if n and (prepend is not None or append is not None):
        result = _joined(input, prepend, append, dim)
    if out is None:
        return _differences(result, n, dim)
    if n:
        n = min(n, result.size(dim))  # after which there is nothing left
        return _last_difference(out, _differences(result, n - 1, dim) if n > 1 else result, dim)
    if isinstance(out, Tensor) and out._raw.dtype != input._raw.dtype:
        kinds = input.dtype.legacy, out.dtype.legacy
        raise RuntimeError("expected scalar_type {} but found {}".format(*kinds))
    return copy_out("diff", out, input, counts_resize=True)


def _last_difference(out, value: Tensor, dim: int) -> Tensor:
    """The differences of neighbours, written to `out=`."""
    difference = FUNCTIONS["logical_xor" if value.dtype is bool_ else "sub"]
    length = value.size(dim) - 1
    if length < 0:
        text = "start out of range (expected to be in range of [0, 0], but got 1)"
        raise IndexError(text)
    later, earlier = (tensor_ops.narrow(value, dim, start, length) for start in (1, 0))
    return difference(later, earlier, out=out)


def _differences(value: Tensor, n: int, dim: int) -> Tensor:
    if n == 0:
        return tensor_ops.zeros_like(value).copy_(value)
    size = value.size(dim)
    for length in range(size - 1, size - 1 - min(n, size), -1):
        # In the order in which torch's compiler evaluates arguments, which the engine follows back.
        earlier, later = (tensor_ops.narrow(value, dim, start, length) for start in (0, 1))
        if value.dtype is bool_:
            value = FUNCTIONS["logical_xor"](later, earlier)
        else:
            value = later - earlier
    return value


# -- gradient -----------------------------------------------------------------------------------


@function(method=False)
def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """A tuple of numerical gradients, along all dimensions or those of `dim` (torch.gradient).

    Central differences inside, one-sided ones of `edge_order` (1 or 2) at the ends. `spacing` is a
    number, a number for each dimension, or a tensor of coordinates for each. Raises RuntimeError
    for uint8, sizes below `edge_order` + 1, and lists of other lengths.
    """
    if input.dtype is uint8:
        raise NotImplementedError("torch.gradient does not support uint8 input.")
    ndim = input._raw.ndim
    dims = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if spacing is None or isinstance(spacing, numbers.Number):
        spacing = [1.0 if spacing is None else spacing] * len(dims)
    _check_gradient(input, len(spacing), None if dim is None else dims, edge_order)
    if input.dtype is bool_:
        raise NotImplementedError(messages.SUBTRACT_BOOLS)
    along = _along_points if any(isinstance(s, Tensor) for s in spacing) else _along_steps
    return tuple(
        along(input, s, existing_dim(d, ndim), edge_order)
        for s, d in zip(spacing, dims, strict=True)
    )


def _check_gradient(input: Tensor, given: int, dims, edge_order: int) -> None:
    ndim = input._raw.ndim
    if dims is None and given != ndim:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {ndim}', since dim argument was not given, but got a list of "
            f"length {given}"
        )
    if dims is not None and given != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            "arguments to have the same length, but got a spacing argument of length "
            f"{given} and a dim argument of length {len(dims)}."
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in range(ndim) if dims is None else wrap_dims(dims, ndim) if dims else ():
        if input.size(d) < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )


def _part(value, dim: int, start: int, end: int | None):
    return tensor_ops.slice(value, dim, start, end, 1)


def _along_steps(value, step, dim: int, edge_order: int) -> Tensor:
    """The gradient along `dim` of values sampled at equal distances `step`."""
    divided = functools.partial(_divided, step)
    center = divided(_difference(value, dim, (2, None), (0, -2)))
    if edge_order == 1:
        first = divided(_difference(value, dim, (1, 2), (0, 1)))
        last = divided(_difference(value, dim, (-1, None), (-2, -1)))
    else:
        a, b, c = _weighted(value, dim, (-1.5, 0, 1), (2, 1, 2), (0.5, 2, 3))
        first = divided(a + b - c)
        a, b, c = _weighted(value, dim, (0.5, -3, -2), (2, -2, -1), (1.5, -1, None))
        last = divided(a - b + c)
    return _joined(_divided(2, center), first, last, dim)


def _divided(number, value: Tensor) -> Tensor:
    return tensor_ops.div_scalar(value, number)


# torch's compiler evaluates the right operand of an operator first, and the engine follows the
# order of the operators back.


def _difference(value, dim: int, left: tuple, right: tuple):
    """The difference of two parts."""
    subtracted = _part(value, dim, *right)
    return _part(value, dim, *left) - subtracted


def _weighted(value, dim: int, *terms) -> list:
    """The parts times their weights, from terms (weight, start, end)."""
    products = []
    for weight, *ends in reversed(terms):
        products.append(_scaled(_part(value, dim, *ends), weight))
    return products[::-1]


def _scaled(value, weight):
    if isinstance(weight, Tensor):
        return weight * value
    if isinstance(weight, float) and value.dtype.category < FLOATING:
        value = value.to(get_default_dtype())
    return tensor_ops.mul_scalar(value, weight)


def _right_first(operation):
    """The operator for operands that are functions of no arguments."""

    def operator_of(left, right):
        def result():
            second = right()
            return operation(left(), second)

        return result

    return operator_of


_sum, _product, _quotient = map(_right_first, (operator.add, operator.mul, operator.truediv))


def _negative(of):
    return lambda: -of()


def _element(value, index: int) -> Callable:
    return lambda: value[index]


def _along_points(value, points, dim: int, edge_order: int) -> Tensor:
    """The gradient along `dim` of values sampled at the coordinates `points` (1-D), by the parabola
    through every three neighbours."""
    if points._raw.ndim != 1:
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have one dimension, but got an "
            f"element with {points._raw.ndim} dimensions!"
        )
    shape = [1] * value._raw.ndim
    shape[dim] = -1
    steps = diff(points, 1, 0)
    left, right = _part(steps, 0, 0, -1), _part(steps, 0, 1, None)
    divisor = left * (left + right)
    a = (-right / divisor).reshape(shape)
    divisor = left * right
    b = ((right - left) / divisor).reshape(shape)
    c = (left / (right * (left + right))).reshape(shape)
    a, b, c = _weighted(value, dim, (a, 0, -2), (b, 1, -1), (c, 2, None))
    center = a + b + c
    ends = _first_order_ends if edge_order == 1 else _second_order_ends
    first, last = ends(value, steps, dim)
    return _joined(center, first, last, dim)


def _first_order_ends(value, steps, dim: int) -> tuple:
    step = steps[0]
    first = _difference(value, dim, (1, 2), (0, 1)) / step
    step = steps[-1]
    return first, _difference(value, dim, (-1, None), (-2, -1)) / step


def _second_order_ends(value, steps, dim: int) -> tuple:
    p, q = (_element(steps, i) for i in (0, 1))
    both = _sum(p, q)
    a = _quotient(_negative(_sum(lambda: _scaled(p(), 2.0), q)), _product(p, both))()
    b = _quotient(both, _product(p, q))()
    c = _quotient(_negative(p), _product(q, both))()
    a, b, c = _weighted(value, dim, (a, 0, 1), (b, 1, 2), (c, 2, 3))
    first = a + b + c
    p, q = (_element(steps, i) for i in (-2, -1))
    both = _sum(q, p)
    a = _quotient(q, _product(p, both))()
    b = _quotient(_negative(both), _product(q, p))()
    c = _quotient(_sum(lambda: _scaled(q(), 2), p), _product(q, both))()
    a, b, c = _weighted(value, dim, (a, -3, -2), (b, -2, -1), (c, -1, None))
    return first, a + b + c
