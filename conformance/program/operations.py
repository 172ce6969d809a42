"""Statements of a source: the lines of one, and its operation, the function that it calls last."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from typing import Any


def statement_at(source: Sequence[str], first: int) -> list[str]:
    """The lines of the statement that begins at a line of the source, counted from 1.

    That line alone where none begins.
    """
    for last in range(first, len(source) + 1):
        try:
            ast.parse(textwrap.dedent("\n".join(source[first - 1 : last])))
        except SyntaxError:
            continue
        following = source[last : last + 1]
        if not (following and following[0][:1].isspace()):
            return list(source[first - 1 : last])
    return list(source[first - 1 : first])


def operator_of(source: str) -> str:
    """The name of the function that a statement calls last, or the operator that it applies."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ""
    body: Any = tree.body[0] if tree.body else None
    if isinstance(body, ast.With | ast.FunctionDef | ast.Try):
        inner = body.body[0]
        return operator_of(ast.unparse(inner))
    if isinstance(body, ast.AugAssign):
        return f"{type(body.op).__name__}="
    if isinstance(body, ast.Assign) and isinstance(body.targets[0], ast.Subscript):
        return "setitem"
    if isinstance(body, ast.Assign) and isinstance(body.targets[0], ast.Attribute):
        return f"{body.targets[0].attr}="
    node = getattr(body, "value", None)
    return _called(node)


def _called(node: Any) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr="step")):
            return "step"
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name
        case ast.Subscript():
            return "getitem"
        case ast.Attribute(attr=name):
            return name
        case ast.BinOp(op=op) | ast.UnaryOp(op=op):
            return type(op).__name__
        case ast.Compare(ops=[op, *_]):
            return type(op).__name__
        case ast.JoinedStr():
            return "format"
    return ""
