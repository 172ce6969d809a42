"""Operators over lists of tensors (`torch._foreach_add_` and others), as optimizers use them.

Each applies the operator of that name to the tensors of the list in turn; torch's kernels differ
in speed only (ATen/native/ForeachOpsKernels.cpp). An operand that is a list is paired with the list
of tensors.
"""

from __future__ import annotations

import functools
import math

from impl.core import messages
from impl.core.registry import FUNCTIONS, OPERATORS, C
from impl.core.state import STATE
from impl.dispatch.list_history import (
    check_writes,
    rename_writes,
    share_node,
    underived,
    write_underived,
)
from impl.tensor import nested
from impl.tensor.batched_tensor import innermost
from impl.tensor.tensor import Tensor
from impl.tensor.wrappers import is_captured, is_wrapped

_NAMES = (
    *("abs", "acos", "add", "addcdiv", "addcmul", "asin", "atan", "ceil", "clamp_max", "clamp_min"),
    *("cos", "cosh", "div", "erf", "erfc", "exp", "expm1", "floor", "frac", "lerp", "lgamma"),
    *("log", "log10", "log1p", "log2", "maximum", "minimum", "mul", "neg", "pow", "reciprocal"),
    *("round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "sub", "tan", "tanh", "trunc"),
)
_WITH_VALUE = ("addcdiv", "addcmul")  # whose last operand may be the number of that name
_BOUNDS = {"maximum": "clamp_min", "minimum": "clamp_max"}
# Of which ATen has no derivative.
_UNDERIVED = {("addcdiv", "Tensor"), ("addcmul", "Tensor"), ("copy", "")}
_NO_TENSORS = "Tensor list must have at least one tensor."


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
            _refuse_batched("pow.ScalarAndTensor", operands)
            results = tuple(C.pow(self, exponent) for exponent in operands[0])
            return share_node(name, "ScalarAndTensor", results)
        tensors = tuple(self)
        kind = _overload(name, operands)
        _refuse_batched(f"{spelled}.{kind}".rstrip("."), (tensors, operands))
        _require_same_length(tensors, operands)
        if in_place and len(STATE.transforms) == 1 and all(map(is_captured, tensors)):
            return _written_outside(each, tensors, operands, options)
        if in_place:
            check_writes(tensors, operands)
        beside = [*nested.tensors_of(operands)] if (name, kind) in _UNDERIVED else []
        if kind == "Tensor" and name in _WITH_VALUE:
            operands = (*operands[:2], _scalars(operands[2], len(tensors)))
        columns = [_column(operand, len(tensors)) for operand in operands]
        if not tensors:
            raise RuntimeError(_NO_TENSORS)
        rows = _rows(name, in_place, tensors, columns, options)
        if in_place and ((name, kind) in _UNDERIVED or (name in _BOUNDS and kind != "List")):
            write_underived(each.__name__, tensors, beside, rows)
            return self
        if (name, kind) in _UNDERIVED:
            return underived(f"aten::{each.__name__}", tensors, beside, rows)
        if not in_place:
            return share_node(name, kind, tuple(rows()))
        rename_writes(name, kind, rows())
        return self

    each.__name__ = each.__qualname__ = f"_foreach_{spelled}"
    each.__doc__ = f"`{spelled}` on every tensor of a list; operands that are lists are paired."
    FUNCTIONS[each.__name__] = each


def _unwrapped(value):
    """A value without the history that a transform has recorded."""
    return value.detach() if isinstance(value, Tensor) and is_wrapped(value) else value


def _written_outside(each, targets: tuple, operands: tuple, options: dict):
    """The result of a function in place for tensors that a transform has captured: functorch looks
    at a first argument that is a tensor, and this is a list, so the caller's tensors are written.
    """
    operands = nested.each(_unwrapped, operands)
    before, STATE.transforms = STATE.transforms, ()
    try:
        return each(targets, *operands, **options)
    finally:
        STATE.transforms = before


def _rows(name: str, in_place: bool, tensors: tuple, columns: list, options: dict):
    """The function that applies the operator to the tensors in turn, and returns the results."""
    call = _uncounted if in_place and STATE.before_write is not None else _called
    call = functools.partial(call, _method(name, in_place, columns))
    rows = [*zip(tensors, *columns, strict=True)]
    if name in _WITH_VALUE and len(columns) == 3:
        return lambda: [call(*row, value=value, **options) for *row, value in rows]
    return lambda: [call(*row, **options) for row in rows]


def _overload(name: str, operands: tuple) -> str:
    """ATen's name of the overload that the last operand asks for, empty where there is one only."""
    if name == "copy":
        return ""
    if name in _WITH_VALUE and len(operands) == 2:
        return "Scalar"
    operand = operands[-1] if operands else None
    if isinstance(operand, list | tuple):
        return "List" if _is_tensor_list(operand) else "ScalarList"
    if isinstance(operand, Tensor):
        return "Tensor"
    return "Scalar" if operands else ""


def _is_tensor_list(operand) -> bool:
    return isinstance(operand, list | tuple) and bool(operand) and isinstance(operand[0], Tensor)


def _refuse_batched(overload: str, values: tuple) -> None:
    """Raise RuntimeError for batched tensors: ATen's `vmap` has no rule for lists of tensors."""
    if STATE.batched and innermost(values) is not None:
        raise RuntimeError(messages.NO_RULE.format(f"aten::_foreach_{overload}"))


def _require_same_length(tensors: tuple, operands: tuple) -> None:
    """Raise RuntimeError for a list of tensors of another length; all operands but the last are
    such lists."""
    for number, operand in enumerate(operands):
        others = isinstance(operand, list | tuple)
        others = others and (_is_tensor_list(operand) or number + 1 < len(operands))
        if others and len(operand) != len(tensors):
            raise RuntimeError(
                "Tensor lists must have the same number of tensors, got "
                f"{len(tensors)} and {len(operand)}"
            )


def _column(operand, count: int) -> list | tuple:
    """An operand for each of the tensors."""
    if isinstance(operand, list | tuple):
        if len(operand) == count:
            return operand
        if not count:
            raise RuntimeError(_NO_TENSORS)
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
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
    if numbers:
        return getattr(Tensor, _BOUNDS[name] + "_" * in_place)
    return OPERATORS[name].inplace if in_place else getattr(Tensor, name)


def _foreach_norm(self, ord=2, dtype=None):
    """The vector norm of every tensor of a list.

    Raises RuntimeError for an empty list, and for the infinity norm of an empty tensor.
    """
    _refuse_batched("norm.Scalar", (self,))
    if not self:
        raise RuntimeError(_NO_TENSORS)
    if ord == math.inf and any(tensor.numel() == 0 for tensor in self):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
            "operation does not have an identity"
        )
    norms = tuple(C.linalg_vector_norm(tensor, ord, dtype=dtype) for tensor in self)
    return share_node("norm", "Scalar", norms)


def _foreach_max(self):
    """The greatest element of every tensor of a list.

    Raises RuntimeError for an empty list, and for an empty tensor.
    """
    _refuse_batched("max", (self,))
    if not self:
        raise RuntimeError(_NO_TENSORS)
    if any(tensor.numel() == 0 for tensor in self):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is "
            "undefined."
        )
    return share_node("max", "", tuple(C.max(tensor) for tensor in self))


def _foreach_mm(self, mat2):
    """The products of the matrices of two lists. Raises RuntimeError for lists of other lengths."""
    _refuse_batched("mm", (self, mat2))
    if not self:
        raise RuntimeError("_foreach_mm requires non-empty tensor lists")
    if len(self) != len(mat2):
        raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")
    return share_node("mm", "", tuple(map(C.mm, self, mat2)))


FUNCTIONS.update(_foreach_norm=_foreach_norm, _foreach_max=_foreach_max, _foreach_mm=_foreach_mm)


for _name in _NAMES:
    _publish(_name, False)
    _publish(_name, True)
_publish("clone", False)
_publish("copy", True)
_publish("zero", True)
