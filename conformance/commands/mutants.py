"""The command `conform mutants`: whether the suite notices mistakes put into a backend."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from rich.text import Text

from conformance.base.json_lines import dumps
from conformance.base.outputs import write_text, writing
from conformance.commands.pages import write_page
from conformance.commands.processes import prepare_processes
from conformance.mutation.examine import (
    BROKEN,
    BY_WHOLE,
    KILLED,
    OUTCOMES,
    SURVIVED,
    Finding,
)
from conformance.mutation.ground import ground
from conformance.mutation.mutant import CATALOGUES, Mutant, find_catalogue
from conformance.mutation.run import document, examined, exit_code
from conformance.output.terminal import Terminal
from conformance.run.plan import WrongInput, check_writable, one_paragraph
from conformance.settings.settings import read_settings
from conformance.suite.shard import Shard
from conformance.suite.suite import read_suite

TENTHS = 10


def mutants(options: argparse.Namespace) -> int:
    """Examine the mutants of a catalogue; 0 if each is noticed by a rule or by samples."""
    prepare_processes()
    console = Terminal()
    settings = read_settings(options)
    for path in (options.json, options.report):
        check_writable(path)
    name = options.catalogue or CATALOGUES.get(options.backend)
    if name is None:
        raise WrongInput(
            f"there is no catalogue of mutants for {options.backend!r}: name one with --catalogue."
        )
    with one_paragraph():
        chosen = selected(find_catalogue(name), options)
        suite = read_suite(settings.spec, settings.findings)
        made, missing = ground(settings, suite, options.all, options.samples)
    processes = os.cpu_count() or 1 if options.processes == "auto" else options.processes
    console.print(f"{len(chosen):,} mutants of {name}, on {settings.backend}", soft_wrap=True)
    if missing:
        console.print(
            f"{len(missing):,} programs of rules are left out, since {settings.oracle} lacks them"
        )
    findings = []
    for finding in examined(chosen, made, processes, not options.check):
        findings.append(finding)
        if not (options.check and finding.outcome != BROKEN):
            console.print(Text(_line(finding)), soft_wrap=True)
    _summarise(console, findings, options.check)
    whole = document(findings, made, name, settings.oracle, not options.check)
    for rule in whole.get("idle", ()):
        console.print(
            Text(f"kills no mutant alone: {rule['rule']} {rule['sentence']}"), soft_wrap=True
        )
    if options.json:
        with writing(options.json):
            write_text(options.json, dumps(whole) + "\n")
    if options.report:
        write_page("reports.mutants", "reports", whole, options.report)
        console.print(f"report: {options.report}", soft_wrap=True)
    return exit_code(findings, not options.check)


def selected(found: Sequence[Mutant], options: argparse.Namespace) -> list[Mutant]:
    """The mutants that the options select; raises WrongInput."""
    names = [mutant.name for mutant in found]
    for kind, wanted, existing in (
        ("mutant", options.mutant or (), names),
        ("area", options.area or (), sorted({mutant.area for mutant in found})),
    ):
        for one in wanted:
            if one not in existing:
                close = get_close_matches(one, existing, 3)
                hint = f" Did you mean {' or '.join(close)}?" if close else ""
                raise WrongInput(f"the catalogue has no {kind} {one!r}.{hint}")
    chosen = [
        mutant
        for mutant in found
        if (not options.mutant or mutant.name in options.mutant)
        and (not options.area or mutant.area in options.area)
    ]
    if options.tenth is not None:
        chosen = Shard(options.tenth % TENTHS + 1, TENTHS).take(chosen)
    if options.shard is not None:
        chosen = options.shard.take(chosen)
    if not chosen:
        raise WrongInput("there is no mutant in this selection.")
    return chosen


def _line(finding: Finding) -> str:
    """One line about a mutant, and for one that was not noticed its mistake."""
    about = f"{finding.area}/{finding.mutant}"
    if finding.outcome == SURVIVED:
        return f"SURVIVED  {about}: {finding.mistake} (breaks {', '.join(finding.breaks)})"
    if finding.outcome == BROKEN:
        return f"BROKEN    {about}: {finding.reason}"
    kill = finding.kills[0]
    more = f", and {len(finding.kills) - 1:,} more" if len(finding.kills) > 1 else ""
    how = "killed" if finding.outcome == KILLED else finding.outcome
    where = f"{kill.program} {kill.level}, {kill.shown}"
    return f"{how}  {about}: {where}{more} [{finding.helpful}] {finding.seconds:.1f} s"


def _summarise(console: Terminal, findings: Sequence[Finding], check: bool) -> None:
    if check:
        broken = sum(finding.outcome == BROKEN for finding in findings)
        console.print(f"{len(findings) - broken:,} are shown by their programs, {broken:,} broken")
        return
    counts = Counter(finding.outcome for finding in findings)
    helpful = Counter(finding.helpful for finding in findings if finding.helpful)
    parts = [f"{counts[outcome]:,} {outcome}" for outcome in OUTCOMES if counts[outcome]]
    console.print(", ".join(parts))
    if helpful:
        shown = ", ".join(f"{number:,} {word}" for word, number in helpful.most_common())
        console.print(f"the first line shown: {shown}")
    for outcome in (BY_WHOLE, SURVIVED, BROKEN):
        names = [finding.mutant for finding in findings if finding.outcome == outcome]
        if names:
            console.print(Text(f"{outcome}: {', '.join(sorted(names))}"), soft_wrap=True)
