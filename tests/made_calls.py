"""Samples of operators as calls: the expression that is bound first, a function of its values."""

from __future__ import annotations

import ast
from typing import Any


def one_assignment(program: Any) -> str | None:
    """The expression of a program that begins by binding the result of an operator."""
    statement = ast.parse(program.source).body[0]
    if not isinstance(statement, ast.Assign):
        return None
    expression = ast.unparse(statement.value)
    return None if expression.endswith("* 1") else expression


def given_to(lib: Any, program: Any, expression: str) -> tuple[Any, list]:
    """An expression as a function of the values that a program is given, and these values."""
    names: dict[str, Any] = {"torch": lib}
    for given in program.givens:
        exec(given.source(), names)
    used = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    arguments = [given.name for given in program.givens if given.name in used]
    function = eval(f"lambda {', '.join(arguments)}: {expression}", names)
    return function, [names[name].detach() for name in arguments]
