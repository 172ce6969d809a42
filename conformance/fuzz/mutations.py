"""Mutations: a program that reached something new, changed in one or two places."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from conformance.fuzz.choices import Choices
from conformance.fuzz.operands import DTYPES, WRONG

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, float("nan"), float("inf"), 1e-3, 1e30)
WHOLES = (0, 1, 2, -1, 3, -2, 5, 4)


def mutated(choices: Choices, statements: Sequence[str]) -> list[str]:
    """The statements with one or two changes."""
    changed = list(statements)
    for _ in range(choices.pick((1, 1, 2, 3))):
        if changed:
            changed = choices.weighted(_CHANGES)(choices, changed)
    return changed


def dropped(choices: Choices, statements: list[str]) -> list[str]:
    """Without one of the statements."""
    at = choices.integer(0, len(statements) - 1)
    return statements[:at] + statements[at + 1 :] if len(statements) > 2 else statements


def swapped(choices: Choices, statements: list[str]) -> list[str]:
    """With a statement in another place."""
    moved = list(statements)
    one = moved.pop(choices.integer(0, len(moved) - 1))
    moved.insert(choices.integer(0, len(moved)), one)
    return moved


def revalued(choices: Choices, statements: list[str]) -> list[str]:
    """With another constant, dtype or tensor in one place of a statement."""
    at = choices.integer(0, len(statements) - 1)
    try:
        tree = ast.parse(statements[at])
    except (SyntaxError, ValueError):
        return statements
    places = [node for node in ast.walk(tree) if _changeable(node)]
    if not places:
        return statements
    _revalue(choices, choices.pick(places))
    return [*statements[:at], ast.unparse(tree), *statements[at + 1 :]]


def _changeable(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool | int | float | str | None)
    if isinstance(node, ast.Attribute):
        return node.attr in DTYPES
    return isinstance(node, ast.Call) and bool(node.args or node.keywords)


def _revalue(choices: Choices, node: ast.AST) -> None:
    if isinstance(node, ast.Attribute):
        node.attr = choices.weighted(DTYPES)
    elif isinstance(node, ast.Call):
        if node.keywords and choices.chance(0.5):
            node.keywords.pop(choices.integer(0, len(node.keywords) - 1))
        elif node.args and choices.chance(0.1):
            wrong = ast.parse(choices.pick(WRONG), mode="eval").body
            node.args[choices.integer(0, len(node.args) - 1)] = wrong
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            node.value = not node.value
        elif isinstance(node.value, int):
            node.value = choices.pick(WHOLES)
        elif isinstance(node.value, float):
            value = choices.pick(FLOATS)
            node.value = value if value == value and abs(value) < 1e300 else 0.0


_CHANGES: dict[Callable[[Choices, list[str]], list[str]], float] = {
    revalued: 6.0,
    dropped: 1.0,
    swapped: 1.0,
}
