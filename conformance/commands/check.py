"""The command `conform check`: the chapters against torch and against the history."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterable
from pathlib import Path

from conformance.backends import Backend, find
from conformance.base.torch_versions import BASELINE, is_older, minor, ranges
from conformance.commands.processes import prepare_processes
from conformance.compare.unmet import Unmet, unmet
from conformance.execution.execute import trace
from conformance.execution.history import History
from conformance.execution.recorded import ACCELERATOR, history
from conformance.execution.recordings import NotRecorded
from conformance.history import check
from conformance.program.expectations import looks_literal
from conformance.program.program import Program, ProgramError, trailing_prose
from conformance.run.plan import WrongInput, one_paragraph
from conformance.run.sides import NONE
from conformance.suite.chapters import (
    Chapter,
    chapter_paths,
    chapter_with_problems,
    read_spec,
    spec_directory,
)


def check_chapters(options: argparse.Namespace) -> int:
    """Print the problems of the chapters; 1 if there is one, 3 if versions lag behind."""
    prepare_processes()
    with one_paragraph():
        past = None if options.without_history else history()
        elsewhere = None if options.without_history else history(ACCELERATOR)
        backend = _oracle(options)
        files = options.files or chapter_paths(spec_directory())
        found = [_chapter(path) for path in files]
        problems = [
            problem for chapter in found for problem in chapter.check(backend, past, elsewhere)
        ]
        if not options.files and not problems:
            read_spec()
        if options.prose:
            for chapter in found:
                chapter.list_prose()
        for problem in problems:
            print(problem)
        behind = _lagging([chapter.chapter for chapter in found], past)
    for sentence in behind.values():
        print(sentence)
    incomplete = BASELINE in behind if options.allow_lagging else bool(behind)
    return 1 if problems else 3 if incomplete else 0


def _oracle(options: argparse.Namespace) -> Backend | None:
    """The torch that the comments are held against, or None; raises BackendError."""
    name = options.oracle
    if name is None and importlib.util.find_spec("torch") is None:
        print("torch is not installed: the chapters are held against the history only")
        return None
    if name == NONE:
        return None
    backend = find(name or "torch", options.imports)
    if (reason := backend.available()) is not None:
        raise WrongInput(reason)
    if is_older(minor(backend.version)):
        print(f"torch {backend.version} is older than what the chapters describe")
    return backend


class _Checked:
    """A chapter, and the mistakes in its form."""

    def __init__(self, chapter: Chapter, malformed: list[str]) -> None:
        self.chapter, self.malformed = chapter, malformed

    def check(
        self, backend: Backend | None, past: History | None, elsewhere: History | None
    ) -> list[str]:
        """The chapter's problems; prints a line about it.

        ``elsewhere`` is the history on an accelerator, for the programs that need one.
        """
        chapter, problems, comments, unrecorded = self.chapter, list(self.malformed), 0, 0
        for program in chapter.programs:
            try:
                comments += sum(len(statement.expects) for statement in program.statements)
                if backend is not None and program.runs_on(backend.device):
                    shown, version = trace(program, backend), minor(backend.version)
                    problems += _problems(
                        program, unmet(program, shown, version, is_older(version))
                    )
                elif elsewhere is not None and program.needs_accelerator:
                    version = elsewhere.versions[0]
                    shown = elsewhere.view(version).trace(program)
                    problems += _problems(program, unmet(program, shown, version))
            except ProgramError:
                continue  # among the problems already
            except NotRecorded:
                unrecorded += 1
        if past is not None and not self.malformed:
            problems += map(str, check.problems(chapter, past))
        print(
            f"{chapter.path}: {len(chapter.rules)} rules, {len(chapter.programs)} examples, "
            f"{comments} normative comments, {len(problems)} problems"
            + (f", {unrecorded} examples not recorded on {ACCELERATOR}" if unrecorded else "")
        )
        return problems

    def list_prose(self) -> None:
        """Print the comments that are not checked."""
        for program in self.chapter.programs:
            for line, comment in trailing_prose(program):
                file, at = program.place(line)
                mark = "  (begins like a value, but is not one)" if looks_literal(comment) else ""
                print(f"{file}:{at}: not checked: # {comment}{mark}")


def _chapter(path: Path) -> _Checked:
    try:
        chapter, errors = chapter_with_problems(path)
    except OSError as error:
        raise WrongInput(f"{path}: cannot be read: {error.strerror}.") from None
    return _Checked(chapter, [str(error) for error in errors])


def _problems(program: Program, failures: Iterable[Unmet]) -> list[str]:
    """The comments that a trace contradicts, with their places."""
    found = []
    for failure in failures:
        file, line = program.place(failure.line)
        found.append(
            f"{file}:{line}: {program.id}\n"
            f"    expected: {failure.expected}\n"
            f"    got:      {failure.got}"
        )
    return found


def _lagging(chapters: Iterable[Chapter], past: History | None) -> dict[str, str]:
    """The versions that lack examples, each with a sentence about them."""
    if past is None:
        return {}
    programs = [program for chapter in chapters for program in chapter.programs]
    behind = check.lagging(programs, past)
    if not behind:
        count = len(past.versions)
        print(f"history: {count} versions, torch {ranges(past.versions)}, of every example")
    return {
        version: f"history: torch {version} has no trace of {len(missing):,} examples, such as "
        f"{missing[0]}; record them: tox run -e record-{version}"
        for version, missing in behind.items()
    }
