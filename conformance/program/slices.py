"""Slices: the statements of a program that one of them may depend on, for a reader.

Names are followed through assignments, and writes to a tensor count for all that may share its
memory. Statements that only show a value are left out, unless state is read that no name tells. It
is a reading help, and no analysis: a slice may have more statements than are needed, and lack one
whose effect cannot be seen in its text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from conformance.program.expectations import MalformedExpectation, read_comment
from conformance.program.statements import first_line

_EFFECTS = {"backward", "grad", "step", "zero_grad", "remove", "retain_grad", "requires_grad_"}
_EFFECTS |= {"train", "eval", "append", "extend", "clear", "pop", "update", "seed", "manual_seed"}
_EFFECTS |= {"next"}
_QUIET = {"simplefilter", "filterwarnings"}
"""Calls that say which warnings are shown."""

_PASSES = ("backward", "jac", "hess", "vjp", "check", "hvp", "step")
"""Parts of the names of functions that run a backward pass; so do those with `grad` in them."""

_MODES = {"requires_grad", "requires_grad_", "no_grad", "enable_grad", "set_grad_enabled"}
_MODES |= {"retain_grad", "zero_grad", "is_grad_enabled"}
"""Functions with `grad` in their names that run none."""

_CALLBACKS = re.compile(r"hook|^(?:class|def) ", re.MULTILINE)
"""Code by which a backward pass may run statements of the program."""


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
    if not _CALLBACKS.search(source):
        _settle_gradients(before)
    kept = _needed(before, _read(target, name))
    if any(_reads_state(one) for one in (*(statement.node for statement in kept), target)):
        kept = [one for one in before if not one.only_shows]
    nodes = [*(statement.node for statement in kept), target]
    numbers = {number for one in nodes for number in _lines_of(one)}
    if not any(_runs_backward(one) for one in nodes):
        numbers -= {n for one in nodes[:-1] for n in _formula_lines(one)}
    return frozenset(numbers)


def _read(target: ast.stmt, name: str | None) -> set[str]:
    """The names that a statement reads, and one whose value after it differs.

    A name that the statement only binds has lost its former value.
    """
    parts = [part for part in ast.walk(target) if isinstance(part, ast.Name)]
    names = {part.id for part in parts} | ({name} if name else set())
    if not isinstance(target, ast.Assign):
        return names
    bound = {part.id for part in parts if isinstance(part.ctx, ast.Store)}
    return (names - bound) | {part.id for part in parts if isinstance(part.ctx, ast.Load)}


def _lines_of(node: ast.stmt) -> range:
    return range(first_line(node), (node.end_lineno or node.lineno) + 1)


def _runs_backward(node: ast.stmt) -> bool:
    """Whether a statement may run the formulas of custom Functions: it begins a backward pass, or
    calls a function that has one in its name."""
    return any(
        any(part in name for part in _PASSES) or ("grad" in name and name not in _MODES)
        for name in _called(node)
    )


def _formula_lines(node: ast.stmt) -> Iterator[int]:
    """The lines of `backward` in a class that defines `forward`, too: a custom Function."""
    methods = [one for one in getattr(node, "body", ()) if isinstance(one, ast.FunctionDef)]
    if isinstance(node, ast.ClassDef) and any(one.name == "forward" for one in methods):
        for one in methods:
            if one.name == "backward":
                yield from _lines_of(one)


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
        self.has_effect = _has_effect(node, _states(comment))
        self.touched = self.names
        """The names that its effect may reach."""

    @property
    def only_shows(self) -> bool:
        return isinstance(self.node, ast.Expr) and not self.has_effect


def _settle_gradients(statements: list[_Statement]) -> None:
    """Let `autograd.grad` reach no more than the graph of its roots, which it frees.

    Names whose statement mentions no other name of the program are leaves, which have no graph.
    It accumulates nothing; so if its roots are made of leaves on the spot, it has no effect.
    """
    own: set[str] = set()
    recorded: set[str] = set()
    for one in statements:
        if not isinstance(one.node, ast.Import | ast.ImportFrom):
            if one.names & own - one.bound:
                recorded |= one.bound
            if one.has_effect and len(one.names & own) > 1:  # one may be written with another
                recorded |= one.names & own
            own |= one.bound
        if (roots := _roots(one.node)) is not None:
            one.touched = roots & recorded
            one.has_effect = bool(one.touched)


def _roots(node: ast.stmt) -> set[str] | None:
    """The names in the roots of a statement's `autograd.grad`; None if it does anything else."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    acting = [one for one in calls if _acts(_name(one))]
    if not isinstance(node, ast.Expr | ast.Assign) or len(acting) != 1:
        return None
    parts = [p for t in getattr(node, "targets", ()) for p in ast.walk(t)]
    if any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts):
        return None  # it writes to an object
    if not ast.unparse(acting[0].func).endswith("autograd.grad") or not acting[0].args:
        return None
    return {part.id for part in ast.walk(acting[0].args[0]) if isinstance(part, ast.Name)}


def _states(comment: str) -> bool:
    """Whether a comment states the value of an expression, or that it raises."""
    if comment.startswith("Parameter containing:"):
        return True
    try:
        return any(one.kind in ("value", "raises") for one in read_comment(comment))
    except MalformedExpectation:
        return False


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
    called = _called(node)
    if any(map(_acts, called)):
        return True
    if called & _QUIET:
        return False
    shows = isinstance(node, ast.Expr) and (is_shown or not isinstance(node.value, ast.Call))
    return isinstance(node, ast.Expr) and not shows


def _called(node: ast.stmt) -> set[str]:
    """The names of the functions and methods that a statement calls."""
    return {_name(part) for part in ast.walk(node) if isinstance(part, ast.Call)}


def _name(call: ast.Call) -> str:
    """The name of the function that is called; `func.grad` for a transform, which frees nothing."""
    function = ast.unparse(call.func)
    name = function.rpartition(".")[2]
    return "func.grad" if name == "grad" and not function.endswith("autograd.grad") else name


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
            mentioned = one.touched & own
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
