"""The command `conform todo`: the next operations for a port to implement."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from rich.console import Console
from rich.text import Text

from conformance.output.display import cut
from conformance.run.plan import one_paragraph, select_programs
from conformance.run_files.reading import read_run
from conformance.run_files.todo import COMPARED, Needs, Step, had, needs, way
from conformance.settings.settings import read_settings

WIDTH = 60
"""Longest list of operations in a row; a longer one is cut."""


def todo(options: argparse.Namespace) -> int:
    """Print the operations that unlock the most programs; returns the exit code."""
    console = Console(highlight=False)
    settings = read_settings(options)
    _, programs = select_programs(settings)
    if not settings.selection.areas and not settings.selection.rules:
        programs = [program for program in programs if program.rule]
    with one_paragraph():
        run = read_run(options.run_file) if options.run_file else None
    found = needs(programs)
    lines = run.programs if run is not None else []
    have = had(found, lines)
    compared = {line["id"] for line in lines if line["outcome"] in COMPARED}
    done = frozenset(program.id for program in programs if program.id in compared)
    about = (
        f"the backend of {options.run_file} has {len(have):,} operations" if run else "from nothing"
    )
    console.print(Text(f"{len(programs):,} programs, {len(done):,} of them compared; {about}"))
    steps = list(way(found, have, done))
    _print(console, steps, options.steps, len(done), len(found.of))
    _others(console, found)
    return 0


def _print(console: Console, steps: Sequence[Step], number: int, done: int, total: int) -> None:
    if steps and not steps[0].operations:
        ready, *steps = steps
        examples = ", ".join(program.id for program in ready.programs[:3])
        console.print(
            Text(
                f"{len(ready.programs):,} programs have all their operations, and were not "
                f"compared for another reason: {examples}"
            ),
            soft_wrap=True,
        )
        done += len(ready.programs)
    if not steps:
        console.print("no operation is missing")
        return
    console.print(f"{'':>3}  {'unlocks':>7}  {'rules':>5}  {'then':>6}  operations (and a program)")
    for position, step in enumerate(islice(steps, number), 1):
        done += len(step.programs)
        names = cut(", ".join(step.operations), WIDTH)
        console.print(
            Text(
                f"{position:>3}  {len(step.programs):>7,}  {step.rules:>5}  {done / total:>6.1%}  "
                f"{names} ({step.programs[0].id})"
            ),
            soft_wrap=True,
        )
    if rest := steps[number:]:
        more = sum(len(step.operations) for step in rest)
        console.print(f"... and {more:,} more operations (see --steps)")


def _others(console: Console, found: Needs) -> None:
    """Count the programs that no port in another language can run, by reason."""
    if not found.others:
        return
    reasons = Counter(found.others.values()).most_common(5)
    told = ", ".join(f"{reason} {number:,}" for reason, number in reasons)
    console.print(
        Text(
            f"{len(found.others):,} programs have no neutral form, so only a backend in Python can "
            f"run them: {told}"
        ),
        soft_wrap=True,
    )
