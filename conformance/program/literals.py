"""Literals: values in torch's printed notation, as comments show them."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_GRAD_FN = re.compile(r"grad_fn=<(\w+)(?: object[^>]*)?>")
_KINDS = {bool: "bool", int: "int", float: "float", complex: "complex", str: "str"}


@dataclass(frozen=True)
class TensorLiteral:
    """`tensor([1., 2.], dtype=..., requires_grad=True)` as it stands in a comment.

    Of a sparse one, `tensor(indices=..., values=..., size=...)`, `values` are those it stores, and
    `indices` has a list for each sparse dimension.
    """

    values: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: str | None = None
    requires_grad: bool | None = None
    grad_fn: str | None = None
    indices: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class SizeLiteral:
    """`torch.Size([2, 3])` as it stands in a comment."""

    dims: tuple[int, ...]


@dataclass(frozen=True)
class DtypeLiteral:
    """`torch.float64` as it stands in a comment."""

    name: str


def read_literal(text: str) -> Any:
    """Return the value that `text` shows, in torch's notation.

    Numbers, strings, None, lists, tuples and dicts are Python's own; tensors, sizes and dtypes are
    the classes above. Raises ValueError for anything else.
    """
    try:
        with warnings.catch_warnings():  # prose may cause syntax warnings, as in "2or more"
            warnings.simplefilter("ignore")
            tree = ast.parse(_GRAD_FN.sub(r"grad_fn='\1'", text), mode="eval")
        return _literal(tree.body)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from error


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if value is None or type(value) in _KINDS:
            return value
        case ast.Name(id="nan" | "inf" as name):
            return float(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_literal(operand))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _number(_literal(operand))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _complex(_literal(left), _literal(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _complex(_literal(left), -_number(_literal(right)))
        case ast.List(elts=items):
            return [_literal(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_literal(item) for item in items)
        case ast.Dict(keys=keys, values=values) if all(keys):
            return {_literal(k): _literal(v) for k, v in zip(keys, values, strict=True) if k}
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return DtypeLiteral(name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="Size"), args=args):
            return SizeLiteral(tuple(_literal(args[0])) if args else ())
        case ast.Call(func=ast.Name(id="tensor"), args=[data], keywords=keywords):
            return _tensor(_literal(data), {k.arg or "**": k.value for k in keywords})
        case ast.Call(func=ast.Name(id="tensor"), args=[], keywords=keywords):
            return _sparse_tensor({k.arg or "**": _literal(k.value) for k in keywords})
        case ast.Call(func=function) if ast.unparse(function).startswith("torch.return_types."):
            return tuple(_literal(k.value) for k in node.keywords)
    raise ValueError(f"{ast.unparse(node)} is not a literal")


def _number(value: Any) -> Any:
    if type(value) in (int, float, complex):
        return value
    raise ValueError(f"{value!r} is not a number")


def _complex(real: Any, imaginary: Any) -> complex:
    if type(real) in (int, float) and type(imaginary) is complex:
        return complex(real, imaginary.imag)
    raise ValueError("not a complex number")


def _tensor(data: Any, options: dict[str, ast.expr]) -> TensorLiteral:
    shape: list[int] = []
    level = data
    while isinstance(level, list):
        shape.append(len(level))
        level = level[0] if level else None
    values = tuple(_flat(data, tuple(shape)))
    read = {name: _literal(value) for name, value in options.items()}
    if unknown := read.keys() - {"dtype", "requires_grad", "grad_fn", "size"}:
        raise ValueError(f"a tensor is not shown with {', '.join(sorted(unknown))}=")
    dtype = read.get("dtype")
    if dtype is not None and not isinstance(dtype, DtypeLiteral):
        raise ValueError("dtype= is written torch.NAME")
    return TensorLiteral(
        values,
        tuple(read["size"]) if "size" in read else tuple(shape),
        dtype.name if dtype else None,
        read.get("requires_grad"),
        read.get("grad_fn"),
    )


def _sparse_tensor(parts: dict[str, Any]) -> TensorLiteral:
    indices, values = parts.get("indices"), parts.get("values")
    if not isinstance(indices, TensorLiteral) or not isinstance(values, TensorLiteral):
        raise ValueError("a sparse tensor is shown with indices= and values=")
    count = indices.shape[1]
    rows = range(indices.shape[0])
    return TensorLiteral(
        values.values,
        tuple(parts["size"]),
        parts["dtype"].name if "dtype" in parts else values.dtype,
        parts.get("requires_grad"),
        parts.get("grad_fn"),
        tuple(indices.values[row * count : (row + 1) * count] for row in rows),
    )


def _flat(data: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    if not shape:
        if type(data) not in (bool, int, float, complex):
            raise ValueError(f"{data!r} is not an element of a tensor")
        yield data
        return
    if not isinstance(data, list) or len(data) != shape[0]:
        raise ValueError("rows of a tensor differ in length")
    for item in data:
        yield from _flat(item, shape[1:])
