"""Checker of the prose in Python sources: comments and docstrings without forbidden wording.

    python tools/prose.py [PATH ...]

A path is a Python file or a folder, which is searched recursively; without one the project's
packages are checked. Each finding is printed as `file:line: word: the sentence`, followed once per
word by the wording to use instead. Exit code 0: no finding; 1: findings; 2: a path that does not
exist, or a file that is not valid Python.

Exempt are quotations: text in backticks, and text in double quotes within a comment or docstring.
String literals that are not docstrings are program text and are not checked.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

DEFAULT = (
    *("impl", "conformance", "reports", "reference"),
    *("frameworks", "mutants", "benchmarks", "examples", "tests", "tools"),
)
"""Paths checked when the command names none, relative to the current folder."""

EXCLUDED = ("reference/programs",)
"""Folders of whole programs: inputs of the suite, not sources of the project."""

_PERSON = "name the component: the caller, a hook, an optimizer, the user, another reference"
_NOBODY = "use the passive or name the component: 'no other reference', 'not called', 'unused'"
_NOUN = "use a noun: 'the saved tensors' for `what is saved`, 'the result of f' for `what f gives`"
_FAST = "write 'fast path'"
_SLOW = "write 'slow path'"
_KNOWN = "write 'known divergence' or 'with a known divergence'"

_AUXILIARIES = (
    r"(?:is|isn't|are|was|were|has|have|had|do|does|did|can|cannot|could|may|might|must|shall"
    r"|should|will|would)"
)
_SUBJECTS = (
    r"(?:it|they|he|she|we|you|i|one|both|each|every|all|some|any|no|not|nothing|this|that|these"
    r"|those|there|the|a|an|its|their|other|others|another|torch|impl)"
)

FORBIDDEN: tuple[tuple[str, str, str], ...] = (
    ("who", r"who(?:'s)?", _PERSON),
    ("whom", r"whom", _PERSON),
    ("whoever", r"who(?:m)?(?:so)?ever", _PERSON),
    ("nobody", r"nobody(?:'s)?|no one(?:'s)?", _NOBODY),
    ("somebody", r"somebody(?:'s)?|someone(?:'s)?", _PERSON),
    ("anybody", r"anybody(?:'s)?|anyone(?:'s)?", _NOBODY),
    ("everybody", r"everybody(?:'s)?|everyone(?:'s)?", _PERSON),
    ("what …", rf"\Awhat [a-z]+|what (?:{_AUXILIARIES}|{_SUBJECTS})", _NOUN),
    ("straight way", r"straight (?:way|path|function|call)s?", _FAST),
    ("the short way", r"the short way", _FAST),
    ("the long way", r"the long way", _SLOW),
    ("the general way", r"the general way", _SLOW),
    ("excused", r"excuse[sd]?", _KNOWN),
    ("likeness", r"likeness(?:es)?", "write 'comparison' or 'tensor comparison'"),
    ("of its own accord", r"of (?:its|their) own accord", "write 'automatically' or 'unasked'"),
    ("goes without saying", r"go(?:es)? without saying", "state the default, or leave it out"),
)
"""The word as it is reported, a regular expression that finds it (whole words, any case), and the
wording to use instead. A private word is listed only in forms that have no ordinary meaning."""

QUESTIONS = ("what …",)
"""Entries that do not apply to a question."""

_PATTERNS = {word: re.compile(rf"(?i)\b(?:{found})\b") for word, found, _ in FORBIDDEN}
_QUOTED = re.compile(r"``.*?``|`[^`\n]*`|\"[^\"\n]*\"")
_DOCSTRING = re.compile(r"^[rRuUbB]*(\"\"\"|'''|\"|')(.*)\1\s*(?:#.*)?$", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.?!])[\"')]*\s+|\n+")


@dataclass(frozen=True)
class Finding:
    """A forbidden word: its file and line, its entry in FORBIDDEN, and the sentence around it."""

    file: str
    line: int
    word: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.word}: {self.sentence}"


@dataclass(frozen=True)
class Block:
    """A docstring, or comments on consecutive lines: the number of each line, and its text."""

    lines: tuple[tuple[int, str], ...]


def blocks(source: str) -> list[Block]:
    """The docstrings and comments of a module, in the order of their lines.

    A string that is a statement of its own after an assignment documents the name and is taken as a
    docstring too. Raises SyntaxError, and tokenize.TokenError.
    """
    found = [*_docstrings(source), *_comments(source)]
    return sorted(found, key=lambda block: block.lines[0][0])


def findings(file: str, source: str) -> Iterator[Finding]:
    """The forbidden words in the docstrings and comments of `source`; `file` names it."""
    for block in blocks(source):
        yield from _findings_in(file, block)


def _docstrings(source: str) -> Iterator[Block]:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        for statement in _statements(node):
            match statement:
                case ast.Expr(value=ast.Constant(value=str())):
                    yield _docstring(statement, lines)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(node, field, [])
        if isinstance(inner, list):
            yield from inner


def _docstring(statement: ast.Expr, lines: list[str]) -> Block:
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    own = [lines[first - 1][statement.col_offset :], *lines[first:last]]
    matched = _DOCSTRING.match("\n".join(own))
    text = matched[2] if matched else "\n".join(own)
    return Block(tuple(enumerate(text.split("\n"), first)))


def _comments(source: str) -> Iterator[Block]:
    """Blocks of comments: those on lines of their own and of one column belong together."""
    block: list[tuple[int, str]] = []
    column = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        number, start = token.start
        trails = bool(token.line[:start].strip())
        if block and (trails or number != block[-1][0] + 1 or start != column):
            yield Block(tuple(block))
            block = []
        block.append((number, token.string.lstrip("#:!")))
        column = -1 if trails else start
    if block:
        yield Block(tuple(block))


def _findings_in(file: str, block: Block) -> Iterator[Finding]:
    text, starts = _joined(block)
    visible = _QUOTED.sub(lambda quoted: "`" * len(quoted[0]), text)
    begin = 0
    for end in [*(gap.span() for gap in _SENTENCE_END.finditer(visible)), (len(text), len(text))]:
        sentence = visible[begin : end[0]]
        for word, pattern in _PATTERNS.items():
            if word in QUESTIONS and sentence.rstrip("`\"') ").endswith("?"):
                continue
            for match in pattern.finditer(sentence):
                line = max(number for at, number in starts if at <= begin + match.start())
                yield Finding(file, line, word, text[begin : end[0]].strip())
        begin = end[1]


def _joined(block: Block) -> tuple[str, list[tuple[int, int]]]:
    """A block as one text, and the offset at which each line begins; a blank line is a newline."""
    text = ""
    starts = []
    for number, line in block.lines:
        words = line.strip()
        if not words:
            text = text.rstrip(" ") + "\n"
            continue
        starts.append((len(text), number))
        text += words + " "
    return text.rstrip(), starts


def python_files(paths: Iterable[str]) -> Iterator[Path]:
    """The Python files named, and those in the folders named, without EXCLUDED and caches.

    Raises FileNotFoundError.
    """
    for path in map(Path, paths):
        if path.is_dir():
            for file in sorted(path.rglob("*.py")):
                if not any(f"/{folder}/" in f"/{file.as_posix()}" for folder in EXCLUDED):
                    yield file
        elif path.is_file():
            yield path
        else:
            raise FileNotFoundError(f"{path}: no such file or folder")


def main(arguments: list[str] | None = None) -> int:
    """Check the files named on the command line, print the findings, and return the exit code."""
    parser = argparse.ArgumentParser(description="Check the prose of comments and docstrings.")
    parser.add_argument("paths", nargs="*", default=DEFAULT, metavar="PATH")
    found: list[Finding] = []
    try:
        for file in python_files(parser.parse_args(arguments).paths):
            with tokenize.open(file) as opened:
                source = opened.read()
            try:
                found += findings(str(file), source)
            except (SyntaxError, tokenize.TokenError) as error:
                raise ValueError(f"{file}: not valid Python: {error}") from error
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for finding in found:
        print(finding)
    words = {finding.word for finding in found}
    for word, _, instead in FORBIDDEN:
        if word in words:
            print(f"{word}: {instead}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
