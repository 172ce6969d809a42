"""Statements: the text of a program cut into the pieces that run one by one, and its comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType

from conformance.base.file_error import FileError
from conformance.program.expectations import (
    Expectation,
    Former,
    MalformedExpectation,
    expected_of,
    read_comment,
    read_former,
)


class ProgramError(FileError):
    """Source that is not a program."""


@dataclass(frozen=True)
class Statement:
    """One top-level statement of a program; `line` and `end_line` count within `Program.paste()`.

    `expects` are the statements of its comment, `former` those of comments below it, about older
    versions; `assigns` are the names it binds, `imports` those among them that an import binds,
    `shown` the names whose value a comment of it states. `given` is true for a given tensor's
    statement.
    """

    index: int
    source: str
    line: int
    end_line: int
    expects: tuple[Expectation, ...]
    former: tuple[Former, ...]
    assigns: tuple[str, ...]
    shown: tuple[str, ...]
    imports: tuple[str, ...]
    is_expression: bool
    given: bool
    code: CodeType

    def expected(self, version: str | None) -> tuple[Expectation, ...]:
        """The expectations that hold for a minor version of torch; without one, the newest."""
        return expected_of(self.expects, self.former, version)

    @property
    def unspecified(self) -> bool:
        """Say whether the values that this statement makes are not compared.

        They are unspecified (no program may rely on them) or implementation-defined (a port
        chooses, and says what).
        """
        return any(e.kind == "unspecified" for e in self.expects)

    @property
    def may_differ(self) -> tuple[str, ...]:
        """The levels at which a port may differ in this statement."""
        return next((e.levels for e in self.expects if e.kind == "may differ"), ())


@dataclass(frozen=True)
class Source:
    """A program's text to be cut into statements.

    `place` gives the file and the line for a line of the text; `skipped` is how many statements
    of the preamble, such as the import of torch, are none of the program's, `givens` how many of
    the others make given tensors.
    """

    text: str
    filename: str
    place: Callable[[int], tuple[str | None, int]]
    skipped: int
    givens: int


def statements_of(source: Source) -> list[Statement]:
    """The statements of a program, in order; raises ProgramError."""
    try:
        tree = ast.parse(source.text, source.filename)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        message = getattr(error, "msg", None) or str(error)
        raise ProgramError(*source.place(line), f"does not parse: {message}") from error
    nodes = tree.body[source.skipped :]
    comments = _expectations(source, nodes)
    former = _former_expectations(source, nodes)
    lines = source.text.splitlines()
    return [
        _statement(
            source, lines, index, node, comments.get(id(node), ()), tuple(former.get(id(node), ()))
        )
        for index, node in enumerate(nodes)
    ]


def _statement(
    source: Source,
    lines: list[str],
    index: int,
    node: ast.stmt,
    expects: tuple[Expectation, ...],
    former: tuple[Former, ...],
) -> Statement:
    end_line = node.end_lineno or node.lineno
    is_expression = isinstance(node, ast.Expr)
    segment = _segment(lines, node)
    imports, assigns = _bound_names(node, walrus=":=" in segment)
    shown = _shown_names(node, assigns)
    if any(e.kind == "value" for e in expects) and not is_expression and not shown:
        raise ProgramError(
            *source.place(end_line),
            "a value can be stated for an expression or for an assignment to names, "
            "not for this statement",
        )
    try:
        code = _compiled(node, source.filename)
    except (SyntaxError, ValueError) as error:  # e.g. `return` outside a function
        where = source.place(getattr(error, "lineno", None) or node.lineno)
        raise ProgramError(*where, f"does not compile: {error}") from error
    return Statement(
        index,
        segment,
        node.lineno,
        end_line,
        expects,
        former,
        assigns,
        shown,
        imports,
        is_expression,
        index < source.givens,
        code,
    )


def _compiled(node: ast.stmt, filename: str) -> CodeType:
    if isinstance(node, ast.Expr):
        return compile(ast.Expression(node.value), filename, "eval", dont_inherit=True)
    return compile(ast.Module([node], []), filename, "exec", dont_inherit=True)


def _segment(lines: list[str], node: ast.stmt) -> str:
    """The statement's own text, faster than ast.get_source_segment, which splits all lines."""
    first, last = first_line(node) - 1, (node.end_lineno or node.lineno) - 1
    rows = lines[first : last + 1]
    rows[-1] = rows[-1].encode()[: node.end_col_offset].decode()
    if first_line(node) == node.lineno:
        rows[0] = rows[0].encode()[node.col_offset :].decode()
    return "\n".join(rows)


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, with its decorators."""
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(d.lineno for d in decorators)])


def _expectations(source: Source, nodes: list[ast.stmt]) -> dict[int, tuple[Expectation, ...]]:
    """Map a node's id to the expectations in the comment behind it."""
    if "#" not in source.text:
        return {}
    last_on_line = {node.end_lineno: node for node in nodes}
    found: dict[int, tuple[Expectation, ...]] = {}
    for line, comment in trailing_comments(source.text):
        try:
            expects = read_comment(comment)
        except MalformedExpectation as error:
            raise ProgramError(*source.place(line), str(error)) from None
        if not expects:
            continue
        if line in last_on_line:
            found[id(last_on_line[line])] = expects
        elif any(e.kind != "value" or e.text.startswith("tensor(") for e in expects):
            raise ProgramError(
                *source.place(line),
                f"a normative comment stands on the last line of a statement: # {comment}",
            )
    return found


def _former_expectations(source: Source, nodes: list[ast.stmt]) -> dict[int, list[Former]]:
    """Map a node's id to the comments on older versions, on the lines right below it."""
    if "# before " not in source.text:
        return {}
    found: dict[int, list[Former]] = {}
    below = {(node.end_lineno or node.lineno) + 1: node for node in nodes}
    for line, comment, alone in _comments(source.text):
        if not alone:
            continue
        try:
            former = read_former(comment)
        except MalformedExpectation as error:
            raise ProgramError(*source.place(line), str(error)) from None
        if former is None:
            continue
        if (node := below.get(line)) is None:
            raise ProgramError(
                *source.place(line),
                f"a comment on older versions stands right below a statement: # {comment}",
            )
        found.setdefault(id(node), []).append(former)
        below[line + 1] = node
    return found


_QUOTED = re.compile("['\"]")
_SPANNING = ('"""', "'''", "\\\n")  # a string that does not end on its line


def trailing_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of every comment that has code before it on its line."""
    return ((line, comment) for line, comment, alone in _comments(text) if not alone)


def _comments(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield line and text of every comment, and whether it has a line of its own."""
    rows = [row.partition("#") for row in text.split("\n")]
    if not any(mark and _QUOTED.search(code) for code, mark, _ in rows) and not any(
        mark in text for mark in _SPANNING
    ):
        # Without strings every "#" begins a comment; tokenizing takes twice as long as parsing.
        for line, (code, mark, comment) in enumerate(rows, 1):
            if mark:
                yield line, comment.lstrip("#").strip(), not code.strip()
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            yield token.start[0], token.string.lstrip("#").strip(), alone


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _bound_names(node: ast.stmt, walrus: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names that imports bind, and all names bound in the program's namespace, in order.

    Without a `walrus` an expression binds none.
    """
    imports: dict[str, None] = {}
    names: dict[str, None] = {}

    def visit(part: ast.AST) -> None:
        if isinstance(part, ast.expr) and not (walrus or _is_target(part)):
            return
        if isinstance(part, _SCOPES):
            names[part.name] = None
            return
        if isinstance(part, _INNER):
            return
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            for alias in part.names:
                imports[alias.asname or alias.name.partition(".")[0]] = None
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names[part.id] = None
        elif isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
            names[part.name] = None
        for child in ast.iter_child_nodes(part):
            visit(child)

    visit(node)
    return tuple(imports), tuple(imports | names)


def _is_target(part: ast.expr) -> bool:
    return isinstance(getattr(part, "ctx", None), ast.Store)


def _shown_names(node: ast.stmt, assigns: tuple[str, ...]) -> tuple[str, ...]:
    """The names whose value a comment can state: the only one bound, or one tuple of them."""
    if len(assigns) == 1 and not isinstance(node, _SCOPES):
        return assigns
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) for e in target.elts):
            return tuple(e.id for e in target.elts if isinstance(e, ast.Name))
    return ()
