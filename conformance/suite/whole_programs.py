"""Whole programs as users write them, one Python file each, read as data."""

from __future__ import annotations

import ast
from pathlib import Path

from conformance.base.file_error import FileError
from conformance.base.reference import reference_folder
from conformance.program.program import Program, ProgramError, shown_path

AREA = "programs"
PREFIX = "program/"


class WholeProgramError(FileError):
    """A file that is not a whole program."""


def read_whole_programs(directory: str | Path | None = None) -> list[Program]:
    """The programs in the files `*.py` of `directory`, by name; without one, the project's own.

    Raises WholeProgramError for a file that is no program, and for a folder that is not there.
    """
    where = whole_programs_directory() if directory is None else Path(directory)
    if not where.is_dir():
        raise WholeProgramError(str(where), 1, "there is no such folder of whole programs")
    return [read_whole_program(path) for path in sorted(where.glob("*.py"))]


def read_whole_program(path: str | Path) -> Program:
    """Return the program in the file `path`; its sentence is the first line of its docstring.

    The docstring is no statement of the program. Raises WholeProgramError unless the file is
    UTF-8 and parses, has such a sentence and at least one statement, and has well-formed comments.
    """
    path = Path(path)
    shown = shown_path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise WholeProgramError(shown, 1, f"not UTF-8: {error}") from error
    except OSError as error:
        raise WholeProgramError(shown, 1, f"cannot be read: {error.strerror}") from error
    sentence, line = _head(text, shown)
    lines = text.splitlines(keepends=True)
    while line < len(lines) and not lines[line].strip():
        line += 1
    program = Program(
        id=PREFIX + path.stem,
        area=AREA,
        source="".join(lines[line:]),
        sentence=sentence,
        file=shown,
        line=line + 1,
    )
    try:
        statements = program.statements
    except ProgramError as error:
        raise WholeProgramError(shown, error.line or 1, error.message) from error
    if not statements:
        raise WholeProgramError(shown, line or 1, "there is no statement below the docstring")
    return program


def whole_programs_directory() -> Path:
    """The folder of the project's own whole programs; raises WholeProgramError if it is missing."""
    if (programs := reference_folder("programs")) is not None:
        return programs
    raise WholeProgramError("reference/programs", 1, "the whole programs are not installed")


def _head(text: str, shown: str) -> tuple[str, int]:
    """The docstring's first line, and the number of its last line."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        message = getattr(error, "msg", None) or str(error)
        raise WholeProgramError(shown, line, f"does not parse: {message}") from error
    first = body[0] if body else None
    if not isinstance(first, ast.Expr) or not (
        isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    ):
        raise WholeProgramError(
            shown, 1, "a whole program begins with a docstring that says what it shows"
        )
    sentence = first.value.value.split("\n")[0].strip()
    if not sentence:
        raise WholeProgramError(
            shown, first.lineno, "the first line of the docstring says what the program shows"
        )
    end = first.end_lineno or first.lineno
    if len(body) > 1 and body[1].lineno == end:
        raise WholeProgramError(shown, end, "the first statement stands on a line of its own")
    return sentence, end
