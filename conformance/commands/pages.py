"""The commands that make pages of run files: `conform report`, `frameworks` and `dashboard`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.base.outputs import OutputError
from conformance.output.terminal import Terminal
from conformance.run.plan import WrongInput, check_folder, check_writable, one_paragraph
from conformance.run_files.reading import read_run


def report(options: argparse.Namespace) -> int:
    """Make the HTML report of a run file."""

    with one_paragraph():
        run = read_run(options.run_file)
    if options.spec_url:
        run = replace(run, header={**run.header, "spec_url": options.spec_url})
    write_page("reports.run", "reports", run, options.output)
    state = "" if run.complete else " (the run was interrupted)"
    print(f"report: {options.output}{state}")
    return 0


def frameworks(options: argparse.Namespace) -> int:
    """Make one table of the conventions that the run files of several backends show."""

    with one_paragraph():
        runs = [read_run(path) for path in options.run_files]
    write_page("reports.frameworks", "tables", runs, options.output)
    print(f"frameworks: {options.output}")
    return 0


def write_page(module: str, what: str, shown: Any, output: Path) -> None:
    """Let a module write the page of these runs; raises WrongInput, OutputError."""
    check_writable(output)
    try:
        write = importlib.import_module(module).write
    except ImportError as error:
        raise WrongInput(f"{what} cannot be made here: {error}.") from None
    try:
        write(shown, output)
    except Exception as error:
        raise OutputError(f"{output}: not written: {error}") from error


def dashboard(options: argparse.Namespace) -> int:
    """Make a site of a directory of run files; 3 if some file was left out."""
    for folder in (options.site, options.cache):
        check_folder(folder)
    try:
        site = importlib.import_module("reports.dashboard.site")
    except ImportError as error:
        raise WrongInput(f"a dashboard cannot be made here: {error}.") from None
    processes = os.cpu_count() or 1 if options.processes == "auto" else options.processes
    with Terminal(sys.stderr).status("reading the run files") as status:
        try:
            archive = site.build(
                options.runs,
                options.site,
                options.cache,
                processes,
                status.update,
                options.commit_url,
                options.spec_url,
            )
        except site.ArchiveError as error:
            raise WrongInput(str(error)) from None
    for problem in archive.problems:
        print(f"conform: {options.runs / problem.file}: {problem.message}", file=sys.stderr)
    if not archive.runs:
        print("conform: no run is left to make a site of", file=sys.stderr)
        return 3
    left_out = f"; {len(archive.problems):,} left out" if archive.problems else ""
    print(f"dashboard: {options.site / 'index.html'}: {len(archive.runs):,} runs{left_out}")
    return 3 if archive.problems else 0
