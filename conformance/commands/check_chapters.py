"""A check of chapters while they are written: their normative comments against a backend."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.backends import Backend, BackendError, find
from conformance.compare.unmet import unmet
from conformance.execution.execute import trace
from conformance.program.expectations import looks_literal
from conformance.program.program import Program, ProgramError, trailing_prose
from conformance.suite.chapters import (
    ChapterError,
    chapter_with_problems,
    read_spec,
    spec_directory,
)


def main(arguments: list[str]) -> int:
    """Print the problems of the chapters named; return 0 if there is none, 1 or 2 otherwise."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance.commands.check_chapters",
        description="Run the examples of chapters and hold their normative comments against them.",
    )
    parser.add_argument("files", nargs="*", type=Path, help="chapters (default: all)")
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--import", dest="imports", action="append", default=[])
    parser.add_argument("--prose", action="store_true", help="list comments that are not checked")
    options = parser.parse_args(arguments)
    try:
        backend = find(options.backend, options.imports)
        reason = backend.available()
        files = options.files or sorted(spec_directory().glob("*.md"))
        problems = [p for path in files for p in _check(path, backend, options.prose)]
        if not options.files and not problems:
            read_spec()
    except (BackendError, ChapterError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    if reason is not None:
        print(reason, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _check(path: Path, backend: Backend, prose: bool) -> list[str]:
    chapter, errors = chapter_with_problems(path)
    problems = [str(error) for error in errors]
    comments = 0
    for program in chapter.programs:
        try:
            comments += sum(len(statement.expects) for statement in program.statements)
            problems += _unmet(program, backend)
            if prose:
                _list_prose(program)
        except ProgramError:
            continue  # among the errors already
    programs = len(chapter.programs)
    print(
        f"{path}: {len(chapter.rules)} rules, {programs} examples, {comments} normative comments, "
        f"{len(problems)} problems"
    )
    return problems


def _unmet(program: Program, backend: Backend) -> list[str]:
    found = []
    for failure in unmet(program, trace(program, backend)):
        file, line = program.place(failure.line)
        found.append(
            f"{file}:{line}: {program.id}\n"
            f"    expected: {failure.expected}\n"
            f"    got:      {failure.got}"
        )
    return found


def _list_prose(program: Program) -> None:
    for line, comment in trailing_prose(program):
        file, at = program.place(line)
        mark = "  (begins like a value, but is not one)" if looks_literal(comment) else ""
        print(f"{file}:{at}: not checked: # {comment}{mark}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
