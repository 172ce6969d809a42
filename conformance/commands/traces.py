"""The commands about traces in files: `conform record`, `conform diff` and `conform export`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from conformance.base.escapes import printable
from conformance.base.outputs import writing
from conformance.base.release import version
from conformance.commands.processes import prepare_processes
from conformance.compare.known import KnownDivergences
from conformance.execution.history import release as release_of
from conformance.execution.recorded import Recorded, find_recording
from conformance.execution.recordings import ENDINGS, Recording, is_recorded, record
from conformance.history.recording import record_version
from conformance.output import notes
from conformance.output.terminal import Terminal
from conformance.program.program import Program
from conformance.run.export import PROGRAMS, export
from conformance.run.judge import Judge
from conformance.run.plan import (
    WrongInput,
    check_folder,
    check_writable,
    one_paragraph,
    oracle_identity,
    select_programs,
)
from conformance.run.sides import NONE, Sides, child
from conformance.run_files import differences as diff
from conformance.run_files.reading import read_run
from conformance.settings.settings import Settings, read_settings
from conformance.suite.docstrings import is_made_by_torch
from conformance.suite.suite import read_suite


def record_traces(options: argparse.Namespace) -> int:
    """Write an oracle's traces into a file; 3 if there is a program of which it gave none."""

    prepare_processes()
    settings, path = read_settings(options), options.recording
    if path.is_dir() or not path.name.endswith(ENDINGS):
        return _record_version(settings, path)
    judge = Judge(settings, KnownDivergences())
    programs, oracle = _recordable(settings, judge.sides)
    check_writable(path)
    header = {
        "suite": version(),
        "oracle": oracle,
        "seed": settings.seed,
        "default_dtype": settings.default_dtype,
    }
    with Terminal(sys.stderr).status(f"recording {len(programs):,} programs"), writing(path):
        try:
            failed = record(path, header, programs, judge.expected)
        finally:
            judge.close()
    for identifier, reason in failed.items():
        print(f"conform: {identifier}: not recorded: {reason}", file=sys.stderr)
    count = len(programs) - len(failed)
    print(f"recording: {path}: {count:,} programs, {path.stat().st_size:,} bytes")
    return 3 if failed else 0


def _recordable(settings: Settings, sides: Sides) -> tuple[list[Program], dict[str, Any]]:
    """The selected programs that a recording can hold, and the oracle; raises WrongInput."""
    if settings.oracle == NONE or is_recorded(settings.oracle):
        raise WrongInput(f"{settings.oracle!r} is no oracle that programs can be run on.")
    _, selected = select_programs(settings)
    oracle, unavailable = oracle_identity(sides)
    if unavailable:
        raise WrongInput(f"the oracle is not available here: {unavailable}")
    device = oracle["device"]
    possible = [program for program in selected if program.runs_on(device)]
    return [program for program in possible if not is_made_by_torch(program)], oracle


def _record_version(settings: Settings, folder: Path) -> int:
    """Record the oracle's version of torch into a history; 3 if some program has no trace."""
    sides = Sides(settings)
    programs, oracle = _recordable(settings, sides)
    sides.close()
    check_folder(folder)
    try:
        minor, release = release_of(str(oracle["version"]))
    except ValueError as error:
        raise WrongInput(f"the history is one of torch: {error}.") from None
    if settings.seed or settings.default_dtype != "float32":
        raise WrongInput("the history is made with --seed 0 and --default-dtype float32.")
    running = Settings(backend=settings.oracle, imports=settings.imports)
    with (
        Terminal(sys.stderr).status(f"recording {len(programs):,} programs"),
        one_paragraph(),
        writing(folder),
        child(running) as process,
    ):
        done = record_version(folder, minor, release, programs, process.trace)
    for identifier, reason in done.failed.items():
        print(f"conform: {identifier}: not recorded: {printable(reason)}", file=sys.stderr)
    for identifier, reason in done.died.items():
        print(f"conform: {identifier}: torch {minor} dies of it: {reason}", file=sys.stderr)
    print(
        f"history: {folder}: torch {release}: {done.programs:,} programs, {done.new:,} of them "
        f"with a trace of their own; {sum(done.sizes.values()):,} bytes"
    )
    return 3 if done.failed else 0


def show_differences(options: argparse.Namespace) -> int:
    """Say what changed between two recordings or two run files; 1 if anything did."""

    with one_paragraph():
        if all(_is_recording(name) for name in (options.before, options.after)):
            before, after = _recording(options.before), _recording(options.after)
            suite = read_suite(options.spec)
            found = diff.differences(before, after, suite)
            lines = notes.notes(found, before, after, suite)
            same = not (found.changed or found.added or found.removed or found.rewritten)
        else:
            runs = read_run(options.before), read_run(options.after)
            changed = diff.between_runs(*runs)
            lines = notes.notes_of_runs(changed, *runs)
            same = not (changed.changed or changed.added or changed.removed)
        for line in lines:
            print(line)
    return 0 if same else 1


def export_programs(options: argparse.Namespace) -> int:
    """Write programs and the oracle's traces into a folder; 3 if some program has no trace."""

    settings = read_settings(options)
    _, programs = select_programs(settings)
    check_folder(options.folder)
    with Terminal(sys.stderr).status("reading the programs") as status, writing(options.folder):
        exported = export(settings, programs, options.folder, status.update)
    for identifier, reason in exported.without_trace.items():
        print(f"conform: {identifier}: no trace: {reason}", file=sys.stderr)
    left_out = f"; {len(exported.left_out):,} have no neutral form" if exported.left_out else ""
    print(f"export: {options.folder / PROGRAMS}: {exported.programs:,} programs{left_out}")
    return 3 if exported.without_trace else 0


def _recording(name: str) -> Recorded:
    return find_recording(name) if is_recorded(name) else Recording(name)


def _is_recording(name: str) -> bool:
    """Whether this names a recording, and not a run file; damage is found when it is read."""
    try:
        _recording(name)
    except Exception as error:
        return "not the header" not in str(error)
    return True
