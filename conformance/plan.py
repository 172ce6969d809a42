"""What a run is going to do; every fault of the input is found here, before anything runs."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conformance import backends
from conformance.chapters import ChapterError
from conformance.judge import NONE, child
from conformance.known import KnownDivergences, KnownError, default_path, read_known
from conformance.listings import ListingError
from conformance.options import Settings
from conformance.program import Program, ProgramError
from conformance.release import version
from conformance.runs import SCHEMA, RunError
from conformance.suite import SelectionError, Suite, SuiteError, read_suite


class WrongInput(Exception):
    """The command line, a chapter, a backend or a file is wrong; the text says what to do."""


INPUT_ERRORS = (
    WrongInput,
    ChapterError,
    ListingError,
    ProgramError,
    SuiteError,
    SelectionError,
    KnownError,
    RunError,
    backends.BackendError,
)


@contextmanager
def one_paragraph() -> Iterator[None]:
    """Turn every error that the input is to blame for into WrongInput, with the same text."""
    try:
        yield
    except WrongInput:
        raise
    except INPUT_ERRORS as error:
        raise WrongInput(str(error)) from error


@dataclass(frozen=True)
class Plan:
    """The programs of a run, and on what they run."""

    settings: Settings
    suite: Suite
    programs: tuple[Program, ...]
    known: KnownDivergences
    backend: dict[str, Any]
    oracle: dict[str, Any]
    unavailable: str | None

    def header(self, programs: int) -> dict[str, Any]:
        """The run file's header for a run of this many programs that begins now."""
        return {
            "type": "header",
            "schema": SCHEMA,
            "run": secrets.token_hex(6),
            "started": now(),
            "suite": version(),
            "backend": self.backend,
            "oracle": self.oracle,
            "host": {"python": platform.python_version(), "platform": platform.platform()},
            "seed": self.settings.seed,
            "default_dtype": self.settings.default_dtype,
            "programs": programs,
            "selection": self.settings.selection.to_json(),
        }


def select_programs(settings: Settings) -> tuple[Suite, list[Program]]:
    """The suite and the programs selected from it; raises WrongInput."""
    with one_paragraph():
        suite = read_suite(settings.spec, settings.findings)
        return suite, suite.select(settings.selection)


def known_divergences(settings: Settings, suite: Suite) -> KnownDivergences:
    """The list that applies to the backend, checked against the suite; raises WrongInput."""
    path = settings.known or default_path(settings.backend)
    if path is None:
        return KnownDivergences()
    with one_paragraph():
        return read_known(path, suite.ids(), list(suite.programs_of_rule()))


def plan(settings: Settings) -> Plan:
    """Everything a run needs; raises WrongInput for whatever is wrong with the input."""
    suite, programs = select_programs(settings)
    known = known_divergences(settings, suite)
    for path in (settings.run_file, settings.report):
        check_writable(path)
    backend, oracle, unavailable = identities(settings)
    return Plan(settings, suite, tuple(programs), known, backend, oracle, unavailable)


def identities(settings: Settings) -> tuple[dict[str, Any], dict[str, Any], str | None]:
    """What backend and oracle say of themselves, and why nothing can be run on them, if so.

    Raises WrongInput for a backend that does not exist or cannot be imported.
    """
    with one_paragraph():
        if settings.oracle == NONE:
            oracle, no_oracle = {"name": NONE, "version": None, "device": None}, None
        else:
            oracle, no_oracle = _in_process(settings.oracle, settings.imports)
        if settings.isolation:
            backend, no_backend = _in_child(settings)
        else:
            backend, no_backend = _in_process(settings.backend, settings.imports)
    if no_oracle:
        return backend, oracle, f"the oracle is not available here: {no_oracle}"
    if no_backend:
        return backend, oracle, f"the backend is not available here: {no_backend}"
    return backend, oracle, None


def _in_process(name: str, imports: tuple[str, ...]) -> tuple[dict[str, Any], str | None]:
    found = backends.find(name, imports)
    described = {"name": name, "version": found.version, "device": found.device}
    return described, found.available()


def _in_child(settings: Settings) -> tuple[dict[str, Any], str | None]:
    with child(settings) as process:
        found = process.identity()
    described = {"name": settings.backend, "version": found.version, "device": found.device}
    return described, found.unavailable


def check_writable(path: Path | None) -> None:
    """Raise WrongInput when a file cannot be written there; an existing file stays as it is."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongInput(f"{path}: cannot be written: {error.strerror}.") from None
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise WrongInput(f"{path}: cannot be written.")


def check_folder(path: Path) -> None:
    """Raise WrongInput when no file can be written to the folder; it is not made yet."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise WrongInput(f"{path}: nothing can be written there.")


def now() -> str:
    """The time in UTC, as the run file writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
