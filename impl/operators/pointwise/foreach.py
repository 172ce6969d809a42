"""Operators over lists of tensors (`torch._foreach_add_` and others), as optimizers use them.

Each applies the operator of that name to the tensors of the list in turn; torch's kernels differ
in speed only (ATen/native/ForeachOpsKernels.cpp). An operand that is a list is paired with the list
of tensors.
"""

from __future__ import annotations

import functools
import math

from impl.core.registry import FUNCTIONS, C
from impl.core.state import STATE
from impl.tensor.tensor import Tensor

_NAMES = (
    *("abs", "add", "addcdiv", "addcmul", "div", "exp", "lerp", "log", "maximum", "minimum"),
    *("mul", "neg", "pow", "reciprocal", "sigmoid", "sign", "sqrt", "sub", "tanh"),
)
_WITH_VALUE = ("addcdiv", "addcmul")  # whose last operand may be the number of that name
_BOUNDS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _called(method, tensor, *operands, **options):
    return method(tensor, *operands, **options)


def _uncounted(method, tensor, *operands, **options):
    """A write as a kernel makes it under a dispatch mode: no version counter shows it."""
    version = tensor._storage.version
    result = method(tensor, *operands, **options)
    tensor._storage.version = version
    return result


def _publish(name: str, in_place: bool) -> None:
    spelled = name + "_" if in_place else name

    def each(self, *operands, **options):
        if name == "pow" and not isinstance(self, list | tuple):
            return tuple(C.pow(self, exponent) for exponent in operands[0])
        tensors = tuple(self)
        if name in _WITH_VALUE and len(operands) == 3 and isinstance(operands[2], Tensor):
            operands = (*operands[:2], _scalars(operands[2], len(tensors)))
        columns = [_column(operand, len(tensors)) for operand in operands]
        call = _uncounted if in_place and STATE.before_write is not None else _called
        call = functools.partial(call, _method(name, in_place, columns))
        if not tensors:
            raise RuntimeError("Tensor list must have at least one tensor.")
        rows = zip(tensors, *columns, strict=True)
        if name in _WITH_VALUE and len(columns) == 3:
            results = [call(*row, value=value, **options) for *row, value in rows]
        else:
            results = [call(*row, **options) for row in rows]
        return results if in_place else tuple(results)

    each.__name__ = each.__qualname__ = f"_foreach_{spelled}"
    each.__doc__ = f"`{spelled}` on every tensor of a list; operands that are lists are paired."
    FUNCTIONS[each.__name__] = each


def _column(operand, count: int) -> list | tuple:
    """An operand for each of the tensors."""
    if isinstance(operand, list | tuple):
        if len(operand) == count:
            return operand
        if operand and not isinstance(operand[0], Tensor):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        raise RuntimeError(
            f"Tensor lists must have the same number of tensors, got {count} and {len(operand)}"
        )
    if isinstance(operand, Tensor) and (operand.dim() or operand.numel() != 1):
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {operand.dim()} dimensions and "
            f"{operand.numel()} elements."
        )
    return [operand] * count


def _scalars(packed: Tensor, count: int) -> list:
    """The numbers of a tensor, one for each of the tensors."""
    if packed.dim() != 1:
        raise RuntimeError(
            f"Expected packed scalar Tensor to be of dimension 1. Got {packed.dim()} instead."
        )
    if packed.numel() != count:
        raise RuntimeError(
            f"Expected length of scalars to match input of length {count} but got "
            f"{packed.numel()} instead."
        )
    return packed.tolist()


def _method(name: str, in_place: bool, columns: list):
    """The method that is called on each tensor. There is no `Tensor.maximum_`."""
    if name not in _BOUNDS:
        return getattr(Tensor, name + "_" if in_place else name)
    numbers = bool(columns[0]) and not isinstance(columns[0][0], Tensor)
    method = getattr(Tensor, _BOUNDS[name] + "_" * (in_place and numbers) if numbers else name)
    if numbers or not in_place:
        return method
    return lambda tensor, other: tensor.copy_(method(tensor, other))


def _foreach_norm(self, ord=2, dtype=None):
    """The vector norm of every tensor of a list."""
    if ord == math.inf and any(tensor.numel() == 0 for tensor in self):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return tuple(C.linalg_vector_norm(tensor, ord, dtype=dtype) for tensor in self)


FUNCTIONS["_foreach_norm"] = _foreach_norm


for _name in _NAMES:
    _publish(_name, False)
    _publish(_name, True)
_publish("zero", True)
