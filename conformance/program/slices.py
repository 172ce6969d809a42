"""Slices: the statements of a program that one of them may depend on, for a reader.

Names are followed through assignments, and writes to a tensor count for all that may share its
memory. Statements that only show a value are left out, unless state is read that no name tells. It
is a reading help, and no analysis: a slice may have more statements than are needed, and lack one
whose effect cannot be seen in its text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from conformance.program.statements import first_line

_EFFECTS = {"backward", "grad", "step", "zero_grad", "remove", "retain_grad", "requires_grad_"}
_EFFECTS |= {"train", "eval", "append", "extend", "clear", "pop", "update", "seed", "manual_seed"}
_SHOWN = ("tensor", "True", "False", "None", "raises", "(", "[", "'", "<", "-", "torch.")
"""Beginnings of comments that say the value of an expression, or that it raises."""


def slice_lines(source: str, line: int, name: str | None = None) -> frozenset[int]:
    """The numbers of the lines on which the statement at a line, and a name after it, may depend.

    Its own are among them. All up to it where the source does not parse, or no statement is there.
    """
    lines = source.split("\n")
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        body = []
    target = next((one for one in body if one.lineno <= line <= (one.end_lineno or 0)), None)
    if target is None:
        return frozenset(range(1, line + 1))
    before = [_Statement(one, lines) for one in body if one.lineno < target.lineno]
    kept = _needed(before, _Statement(target, lines).names | ({name} if name else set()))
    if any(_reads_state(one) for one in (*(statement.node for statement in kept), target)):
        kept = before
    return frozenset(
        number
        for one in (*(statement.node for statement in kept), target)
        for number in range(first_line(one), (one.end_lineno or one.lineno) + 1)
    )


class _Statement:
    """One statement: the names that it mentions and binds, and whether it may change anything."""

    def __init__(self, node: ast.stmt, lines: list[str]) -> None:
        self.node = node
        self.names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        self.bound = {
            part.id
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            self.bound.add(node.name)
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.bound |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        comment = lines[(node.end_lineno or 1) - 1].partition("#")[2].strip()
        self.has_effect = _has_effect(node, comment.startswith(_SHOWN))


def _has_effect(node: ast.stmt, is_shown: bool) -> bool:
    """Whether a statement may change tensors or modes, beside the names that it binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return False
    if not isinstance(node, ast.Expr | ast.Assign):
        return True
    if isinstance(node, ast.Assign) and any(
        not isinstance(part, ast.Name | ast.Tuple | ast.List) for part in node.targets
    ):
        return True
    if any(map(_acts, _called(node))):
        return True
    shows = isinstance(node, ast.Expr) and (is_shown or not isinstance(node.value, ast.Call))
    return isinstance(node, ast.Expr) and not shows


def _called(node: ast.stmt) -> set[str]:
    """The names of the functions and methods that a statement calls."""
    functions = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    return {ast.unparse(function).rpartition(".")[2] for function in functions}


def _acts(name: str) -> bool:
    """Whether a function of this name changes its arguments, a mode or a later pass."""
    in_place = name.endswith("_") and not name.endswith("__")
    return name in _EFFECTS or in_place or name.startswith(("register_", "set_"))


def _reads_state(node: ast.stmt) -> bool:
    """Whether a statement asks torch for state that no name tells: `torch.get_rng_state()`, or the
    next random number."""
    return any(name.startswith("rand") for name in _called(node)) or any(
        isinstance(part, ast.Call)
        and not (part.args or part.keywords)
        and ast.unparse(part.func).startswith("torch.")
        for part in ast.walk(node)
    )


def _needed(before: list[_Statement], names: Iterable[str]) -> list[_Statement]:
    """The statements that these names may depend on, in order."""
    imported = {"torch"} | {
        name
        for one in before
        if isinstance(one.node, ast.Import | ast.ImportFrom)
        for name in one.bound
    }
    own = {name for one in before for name in one.bound} - imported
    wanted = set(names)
    related = _related(before, own)
    kept: set[int] = set()
    grew = True
    while grew:
        grew = False
        touched = {other for name in wanted & own for other in related[name]}
        for position, one in enumerate(before):
            mentioned = one.names & own
            matters = one.has_effect and (not mentioned or bool(mentioned & touched))
            if position not in kept and (one.bound & wanted or matters):
                kept.add(position)
                wanted |= one.names
                grew = True
    return [one for position, one in enumerate(before) if position in kept]


def _related(statements: list[_Statement], own: set[str]) -> dict[str, set[str]]:
    """For each name those that may share memory or history with it: assigned one from another."""
    related = {name: {name} for name in own}
    for one in statements:
        if isinstance(one.node, ast.Assign):
            together = set().union(*(related[name] for name in (one.names | one.bound) & own))
            for name in together:
                related[name] = together
    return related
