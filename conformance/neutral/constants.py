"""Constant expressions: literals, and arithmetic on them."""

from __future__ import annotations

import ast
import math
import operator
from contextlib import suppress
from typing import Any

from conformance.neutral.names import Names, constant

BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
"""Python's operators as the module `operator` names them."""

UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not_"}
COMPARED = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Is: "is_",
    ast.IsNot: "is_not",
}

_LARGEST = 1e9  # bound on computed constants, so that folding stays fast
_LARGEST_EXPONENT = 64


class NoConstant(Exception):
    """The expression's value is known only when the program runs."""


def value(node: ast.expr, names: Names) -> Any:
    """Return the number, string, list or tuple that a constant expression evaluates to.

    Raises NoConstant for any other expression.
    """
    match node:
        case ast.Constant(value=constant_) if not isinstance(constant_, bytes):
            return constant_
        case ast.Name() | ast.Attribute() if (path := names.path(node)) is not None:
            with suppress(KeyError):
                return constant(path)
        case ast.List(elts=parts):
            return [value(part, names) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(value(part, names) for part in parts)
        case ast.UnaryOp(op=op, operand=operand):
            return _computed(UNARY[type(op)], value(operand, names))
        case ast.BinOp(left=left, op=op, right=right):
            return _computed(BINARY[type(op)], value(left, names), value(right, names))
        case ast.Call(func=function, args=args, keywords=[]):
            return _called(function, [value(arg, names) for arg in args], names)
    raise NoConstant


def _called(function: ast.expr, args: list[Any], names: Names) -> Any:
    """The number that a call of `float`, `complex` or of a function of `math` gives."""
    made: Any = None
    match function:
        case ast.Name(id="float") if names.is_builtin("float"):
            made = float
        case ast.Name(id="complex") if names.is_builtin("complex"):
            made = complex
        case ast.Name() | ast.Attribute():
            module, _, name = (names.path(function) or "").rpartition(".")
            made = getattr(math, name, None) if module == "math" else None
    if made is None:
        raise NoConstant
    with suppress(ArithmeticError, ValueError, TypeError):
        return made(*args)
    raise NoConstant


def _computed(name: str, *operands: Any) -> Any:
    numbers = all(type(operand) in (int, float, complex) for operand in operands)
    if not numbers or (name == "pow" and abs(operands[1]) > _LARGEST_EXPONENT):
        raise NoConstant
    if name != "neg" and any(abs(operand) > _LARGEST for operand in operands):
        raise NoConstant
    with suppress(ArithmeticError, ValueError, TypeError):
        return getattr(operator, name)(*operands)
    raise NoConstant
