"""The plan of a run; every error in the input is found here, before anything runs."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conformance import backends
from conformance.base.outputs import reason, try_writing
from conformance.base.release import version
from conformance.compare.known import KnownDivergences, KnownError, default_path, read_known
from conformance.isolation import container
from conformance.isolation.port import is_port, missing
from conformance.program.program import Program, ProgramError
from conformance.run.sides import NONE, Read, Side, Sides, isolation
from conformance.run_files.lock import Locked, locked
from conformance.run_files.merge import NOTED
from conformance.run_files.reading import read_run
from conformance.run_files.resume import check_same, failed, taken_over
from conformance.run_files.run import SCHEMA, RunError
from conformance.settings.settings import Settings
from conformance.suite.chapters import ChapterError
from conformance.suite.sampling import sampled
from conformance.suite.suite import SelectionError, Suite, SuiteError, read_suite
from conformance.suite.whole_programs import WholeProgramError


class WrongInput(Exception):
    """The command line, a chapter, a backend or a file is wrong; the text says what to do."""


INPUT_ERRORS = (
    WrongInput,
    ChapterError,
    WholeProgramError,
    ProgramError,
    SuiteError,
    SelectionError,
    KnownError,
    RunError,
    backends.BackendError,
)


@contextmanager
def one_paragraph() -> Iterator[None]:
    """Convert every error in the input into WrongInput, with the same text."""
    try:
        yield
    except WrongInput:
        raise
    except INPUT_ERRORS as error:
        raise WrongInput(str(error)) from error


@dataclass(frozen=True)
class Plan:
    """The programs of a run, with its settings, backend and oracle.

    ``taken`` are the lines of the interrupted run that this one resumes, by ID, and ``resumed`` its
    header. ``selected`` is how many programs there were before a shard was taken of them, and
    ``left_out`` how many of those taken are not about the backend's device. The ``sides`` have been
    started.
    """

    settings: Settings
    suite: Suite
    programs: tuple[Program, ...]
    known: KnownDivergences
    backend: dict[str, Any]
    oracle: dict[str, Any]
    unavailable: str | None
    sides: Sides
    selected: int = 0
    left_out: int = 0
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)
    resumed: dict[str, Any] | None = None

    def header(self, programs: int) -> dict[str, Any]:
        """The run file's header for a run of this many programs that begins now, or began."""
        header = {
            "type": "header",
            "schema": SCHEMA,
            "run": secrets.token_hex(6),
            "started": now(),
            "suite": version(),
            "backend": self.backend,
            "oracle": self.oracle,
            "host": {
                "python": platform.python_version(),
                "platform": platform.platform(),
                "isolation": isolation(self.settings),
            },
            "seed": self.settings.seed,
            "default_dtype": self.settings.default_dtype,
            "programs": programs,
            "selection": self.settings.selection.to_json(),
        }
        for name in NOTED:
            if told := getattr(self.settings, name):
                header[name] = told
        if self.settings.allow_unsupported:
            header["allowed"] = ["unsupported"]
        if self.settings.selection.shard:
            header["selected"] = self.selected
        if self.resumed:
            kept = ("run", "started", *NOTED)
            header |= {name: self.resumed[name] for name in kept if name in self.resumed}
        return header


def select_programs(settings: Settings) -> tuple[Suite, list[Program]]:
    """The suite and the programs selected from it; raises WrongInput."""
    suite, programs, _ = _selected(settings)
    return suite, programs


def select_named(settings: Settings, identifiers: Sequence[str]) -> tuple[Suite, list[Program]]:
    """The suite and the programs of these IDs, which another process selected; raises WrongInput.

    That process has read the files that the selection depends on, such as an earlier run. This
    one may be on another machine and need not have them.
    """
    with one_paragraph():
        suite = read_suite(settings.spec, settings.findings)
        return suite, [suite[identifier] for identifier in identifiers]


def _selected(settings: Settings) -> tuple[Suite, list[Program], int]:
    """The suite, the programs selected, and how many there were before a shard was taken."""
    selection = settings.selection
    with one_paragraph():
        suite = read_suite(settings.spec, settings.findings)
        programs = suite.select(selection)
        if selection.failed_in:
            wanted = set(failed(read_run(selection.failed_in, torn=True)))
            programs = [program for program in programs if program.id in wanted]
            if not programs:
                raise SelectionError(
                    f"none of the selected programs failed in {selection.failed_in}."
                )
    if selection.sample is not None:
        programs = sampled(programs, selection.sample, settings.seed)
    if selection.shard is None:
        return suite, programs, len(programs)
    taken = selection.shard.take(programs)
    if not taken:
        raise WrongInput(
            f"there is nothing in shard {selection.shard}: only {len(programs)} programs are "
            "selected."
        )
    return suite, taken, len(programs)


def _searched(settings: Settings) -> tuple[Suite, list[Program], int]:
    """The suite, and none of its programs, once the selection is known to be right."""
    with one_paragraph():
        suite = read_suite(settings.spec, settings.findings)
        suite.check(settings.selection)
    return suite, [], 0


def known_divergences(settings: Settings, suite: Suite) -> KnownDivergences:
    """The list that applies to the backend, checked against the suite; raises WrongInput."""
    path = settings.known or default_path(settings.backend)
    if path is None:
        return KnownDivergences()
    # The suite's own list is about its own chapters.
    other_chapters = settings.known is None and settings.spec is not None
    with one_paragraph():
        rules = list(suite.programs_of_rule())
        return read_known(path, suite.ids(), rules, other_chapters)


def plan(settings: Settings, search: bool = False) -> Plan:
    """Return the plan of a run; raises WrongInput for any error in the input.

    That of a ``search``, which draws its own programs, has none: to read all takes 0.3 s.
    """
    sides = Sides(settings)
    try:
        sides.launch()  # they start while the suite is read
        suite, programs, selected = (_searched if search else _selected)(settings)
        known = known_divergences(settings, suite)
        for path in (settings.run_file, *settings.outputs):
            check_writable(path)
        described = identities(sides)
        known = known.beside(described[0]["version"])
        programs, lacking = _possible(programs, described[0]["device"])
        made = Plan(settings, suite, tuple(programs), known, *described, sides, selected, lacking)
        return _resuming(made, settings.resume) if settings.resume else made
    except BaseException:
        sides.close()
        raise


def _possible(programs: list[Program], device: str | None) -> tuple[list[Program], int]:
    """The programs that the device is held to, and how many others there are; all if to none.

    Those are not run, and each says why.
    """
    found = [program for program in programs if program.runs_on(device)]
    return (found, len(programs) - len(found)) if found else (programs, 0)


def _resuming(made: Plan, path: Path) -> Plan:
    """The plan without the programs that the run file at ``path`` has; raises WrongInput."""
    with one_paragraph():
        run = read_run(path, torn=True)
        check_same(run, made.header(len(made.programs)), "this run")
    levels = made.settings.selection.levels
    taken = {
        identifier: {**line, "known": made.known.known_divergence(line, levels)}
        for identifier, line in taken_over(run, made.programs).items()
    }
    left = [program for program in made.programs if program.id not in taken]
    # Programs that failed before come last: if one ends the run again, the others have been run.
    broken = {line["id"] for line in run.programs if line["outcome"] == "error"}
    left.sort(key=lambda program: program.id in broken)
    return replace(made, programs=tuple(left), taken=taken, resumed=run.header)


def identities(sides: Sides) -> tuple[dict[str, Any], dict[str, Any], str | None]:
    """The descriptions of backend and oracle, and why nothing can be run on them, if so.

    Both are started, and closed after an error. Raises WrongInput for a backend that does not exist
    or cannot be imported.
    """
    settings = sides.settings
    try:
        with one_paragraph():
            _checked(settings.oracle)
            sides.launch()
            backend, no_backend = _backend(sides)
        oracle, no_oracle = oracle_identity(sides)
    except BaseException:
        sides.close()
        raise
    if no_oracle:
        return backend, oracle, f"the oracle is not available here: {no_oracle}"
    if no_backend:
        return backend, oracle, f"the backend is not available here: {no_backend}"
    return backend, oracle, None


def oracle_identity(sides: Sides) -> tuple[dict[str, Any], str | None]:
    """The oracle's own description, and why nothing runs on it, if so; raises WrongInput."""
    name = sides.settings.oracle
    if name == NONE:
        return {"name": NONE, "version": None, "device": None}, None
    with one_paragraph():
        _checked(name)
        return _described(name, sides["oracle"])


def _checked(oracle: str) -> None:
    """Raise BackendError for a name that no oracle can have: a port's command."""
    if is_port(oracle):
        backends.find(oracle)


def _backend(sides: Sides) -> tuple[dict[str, Any], str | None]:
    settings, name = sides.settings, sides.settings.backend
    unknown = {"name": name, "version": None, "device": None}
    if settings.image is not None:
        if not is_port(name):
            raise WrongInput("--isolate container is for a port's command: --backend 'cmd: ...'.")
        if lack := container.engine()[1]:
            return unknown, lack
    elif settings.if_available and is_port(name) and (absent := missing(name)):
        return unknown, f"{absent} is not installed"
    described, unavailable = _described(name, found := sides["backend"])
    if settings.name:
        described["title"] = settings.name
    if not isinstance(found, Read) and (names := found.identity().names) is not None:
        described["names"] = names
    return described, unavailable


def _described(name: str, found: Side) -> tuple[dict[str, Any], str | None]:
    """The description of a side for the header, and why it runs nothing, if so."""
    if isinstance(found, Read):
        return {**found.recording.oracle, "name": name}, None
    identity = found.identity()
    described = {"name": name, "version": identity.version, "device": identity.device}
    if identity.title:
        described["title"] = identity.title
    return described, identity.unavailable


@contextmanager
def alone_with(run_file: Path | None) -> Iterator[None]:
    """Let no other process write this run file until the block ends.

    Raises WrongInput where one does, or where nothing can be written.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(run_file))
        except Locked as error:
            raise WrongInput(str(error)) from None
        except OSError as error:
            raise WrongInput(f"{run_file}: cannot be written: {reason(error)}.") from None
        yield


def check_writable(path: Path | None) -> None:
    """Raise WrongInput when a file cannot be written there; an existing file stays as it is."""
    if path is None:
        return
    try:
        try_writing(path)
    except OSError as error:
        raise WrongInput(f"{path}: cannot be written: {reason(error)}.") from None


def check_folder(path: Path) -> None:
    """Raise WrongInput when no file can be written to the folder; it is not made yet."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise WrongInput(f"{path}: nothing can be written there.")


def now() -> str:
    """The time in UTC, as the run file writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
