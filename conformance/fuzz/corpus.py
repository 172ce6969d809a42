"""The corpus: programs that together reach the most lines of a backend, one file each."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance.base.outputs import write_text
from conformance.run.plan import WrongInput, check_folder

LARGEST = 100_000
"""Bytes of a program's file."""


def read_corpus(folder: Path | None) -> list[list[str]]:
    """The programs of the folder, by name; none where it is not there yet.

    Raises WrongInput for a folder that cannot be written, and for a file that is no program.
    """
    if folder is None:
        return []
    check_folder(folder)
    return [_read(path) for path in sorted(folder.glob("*.py"))]


def _read(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        if len(data) > LARGEST:
            raise WrongInput(f"{path}: not a program of the corpus: more than {LARGEST} bytes.")
        text = data.decode()
        tree = ast.parse(text)
    except OSError as error:
        raise WrongInput(f"{path}: cannot be read: {error.strerror}.") from None
    except (SyntaxError, ValueError, RecursionError) as error:
        raise WrongInput(f"{path}: not a program of the corpus: {error}.") from None
    statements = [ast.get_source_segment(text, node) or "" for node in tree.body]
    if not statements:
        raise WrongInput(f"{path}: not a program of the corpus: it has no statement.")
    return statements


Lines = list[tuple[str, int]]


def write_corpus(folder: Path, reached: Iterable[tuple[Sequence[str], Lines]]) -> int:
    """Add the programs that reach lines which those before them do not; returns how many.

    The programs with the most new lines come first, so that few are kept. Raises OSError.
    """
    known: set[tuple[str, int]] = set()
    added = 0
    folder.mkdir(parents=True, exist_ok=True)
    for statements, lines in sorted(reached, key=lambda one: -len(one[1])):
        if known.issuperset(lines):
            continue
        known.update(lines)
        text = "\n".join(statements) + "\n"
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        write_text(folder / f"{name}.py", text)
        added += 1
    return added
