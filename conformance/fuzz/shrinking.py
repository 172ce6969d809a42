"""Shrinking: a smaller program with the same cause."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Sequence

BUDGET = 220
"""Programs that are tried at most."""

_LEAVES = ("torch.tensor(1.0{})", "torch.tensor([1.0, 2.0]{})", "torch.ones(2, 2{})")


def shrunk(statements: Sequence[str], still: Callable[[list[str]], bool]) -> list[str]:
    """The smallest program found of which `still` says that it shows the same."""
    return _Shrinking(still).run(list(statements))


class _Shrinking:
    def __init__(self, still: Callable[[list[str]], bool]) -> None:
        self.still = still
        self.left = BUDGET

    def run(self, statements: list[str]) -> list[str]:
        statements = self._plain(statements)
        size = None
        while size != (size := _size(statements)) and self.left:
            statements = self._without(statements)
            statements = self._simpler(statements)
        return statements

    def _holds(self, statements: list[str]) -> bool:
        if not self.left or not statements:
            return False
        self.left -= 1
        return self.still(statements)

    def _plain(self, statements: list[str]) -> list[str]:
        """Replace each pass by one of ones from its root, which fits a leaf of any shape."""
        for at in range(len(statements) - 1, -1, -1):
            for plain in plain_passes(statements[at]):
                tried = [*statements[:at], plain, *statements[at + 1 :]]
                if plain != statements[at] and self._holds(tried):
                    statements = tried
                    break
        return statements

    def _without(self, statements: list[str]) -> list[str]:
        """Drop statements, the last first."""
        for at in range(len(statements) - 1, -1, -1):
            fewer = statements[:at] + statements[at + 1 :]
            if self._holds(fewer):
                statements = fewer
        return statements

    def _simpler(self, statements: list[str]) -> list[str]:
        """Replace each statement with simpler ones, as long as one of them will do."""
        at = 0
        while at < len(statements):
            for simple in simpler(statements[at]):
                tried = statements[:at] + simple + statements[at + 1 :]
                if _size(tried) < _size(statements) and self._holds(tried):
                    statements = tried
                    break
            else:
                at += 1
        return statements


def _size(statements: Sequence[str]) -> int:
    return sum(len(s) + 10 for s in statements)


def plain_passes(statement: str) -> Iterator[str]:
    """Passes of ones in the place of one, first those from the tensor that its root sums."""
    try:
        call = getattr(ast.parse(statement).body[0], "value", None)
    except (SyntaxError, ValueError, IndexError):
        return
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return
    if call.func.attr not in ("backward", "grad"):
        return
    root: ast.expr | None = call.func.value
    if ast.unparse(call.func.value) == "torch.autograd":
        first = call.args[0] if call.args else None
        root = first.elts[0] if isinstance(first, ast.List | ast.Tuple) and first.elts else first
    while isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute):
        if root.func.attr != "sum" or root.args:
            break
        yield _pass_of(root.func.value)
        root = root.func.value
    if root is not None:
        yield _pass_of(root)


def _pass_of(root: ast.expr) -> str:
    text = ast.unparse(root)
    return f"{text}.backward(torch.ones_like({text}))"


def simpler(statement: str) -> Iterator[list[str]]:
    """Simpler statements in the place of one, the simplest first."""
    try:
        tree = ast.parse(statement)
    except (SyntaxError, ValueError):
        return
    node = tree.body[0] if tree.body else None
    if isinstance(node, ast.With | ast.FunctionDef | ast.Try):
        lines = textwrap.dedent("\n".join(statement.split("\n")[1:])).split("\n")
        yield lines[:1]
        yield [ast.unparse(inner) for inner in node.body if not isinstance(inner, ast.Global)]
        yield from _fewer(statement, tree)
        return
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        if "torch.tensor" in statement or "torch.zeros" in statement:
            for leaf in _LEAVES:
                for flag in (", requires_grad=True", ""):
                    yield [f"{name} = {leaf.format(flag)}"]
            if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
                yield [f"{name} = {ast.unparse(node.value.func.value)}"]
            if isinstance(node.value, ast.Subscript):
                yield [f"{name} = {ast.unparse(node.value.value)}"]
        for inner in ast.walk(node.value):
            if isinstance(inner, ast.Name) and inner.id != "torch" and inner is not node.value:
                yield [f"{name} = {inner.id}"]
    yield from _fewer(statement, tree)


def _fewer(statement: str, tree: ast.Module) -> Iterator[list[str]]:
    """The statement without one argument, or with a shorter list or a simpler number."""
    count = sum(1 for _ in ast.walk(tree))
    for position in range(count):
        for change in (_drop_keyword, _drop_argument, _halve, _zero):
            copy = ast.parse(statement)
            node = next(n for k, n in enumerate(ast.walk(copy)) if k == position)
            if change(node):
                yield [ast.unparse(copy)]


def _drop_keyword(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and node.keywords:
        node.keywords.pop()
        return True
    return False


def _drop_argument(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and node.args:
        node.args.pop()
        return True
    return False


def _halve(node: ast.AST) -> bool:
    if isinstance(node, ast.List) and len(node.elts) > 1:
        node.elts = node.elts[: len(node.elts) // 2]
        return True
    return False


def _zero(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value != 1.0:
        node.value = 1.0
        return True
    return False
