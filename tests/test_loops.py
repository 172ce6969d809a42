"""Loops in tests: an assertion that is about each turn of a loop stands in it.

Dedented by accident, it would go on to pass, and test the last turn only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def dedented(source: str) -> Iterator[tuple[int, str]]:
    """The assertions below a loop that read a name which only this loop binds: line and name."""
    for scope in ast.walk(ast.parse(source)):
        if isinstance(scope, Scope):
            nodes = list(own(scope))
            for loop in nodes:
                if isinstance(loop, ast.For):
                    yield from read_below(loop, nodes)


def own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of scopes in it, such as comprehensions."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if isinstance(child, COMPREHENSIONS):
            bound = {name.id for each in child.generators for name in bindings(each.target)}
            yield from (n for n in own(child) if not (isinstance(n, ast.Name) and n.id in bound))
        elif not isinstance(child, SCOPES):
            yield from own(child)


def bindings(node: ast.AST) -> Iterator[ast.Name]:
    for name in ast.walk(node):
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
            yield name


def read_below(loop: ast.For, nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    inside = {*own(loop)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {n.id for n in names if n in inside and isinstance(n.ctx, ast.Store)}
    bound -= {n.id for n in names if n not in inside and isinstance(n.ctx, ast.Store)}
    for node in nodes:
        if isinstance(node, ast.Assert) and node not in inside and node.lineno > loop.lineno:
            for name in {n.id for n in own(node) if isinstance(n, ast.Name)} & bound:
                yield node.lineno, name


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("for x in y:\n    z = x\nassert z", [(3, "z")]),
        ("def f():\n    with w:\n        for x in y:\n            pass\n    assert x", [(5, "x")]),
        ("for x in y:\n    assert x", []),
        ("z = 0\nfor x in y:\n    z = x\nassert z", []),
        ("for x in y:\n    pass\nassert [x for x in y]", []),
        ("for x in y:\n    pass\nfor x in z:\n    assert x", []),
    ],
)
def test_the_scan_sees_what_a_loop_alone_binds(source, found):
    assert list(dedented(source)) == found


def test_no_assertion_below_a_loop_is_about_its_last_turn():
    files = sorted(TESTS.rglob("*.py"))
    assert len(files) > 200
    below = {
        f"{file.relative_to(TESTS)}:{line}: {name}"
        for file in files
        for line, name in dedented(file.read_text("utf-8"))
    }
    assert below == set()
