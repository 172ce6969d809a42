"""The command `conform fuzz`: random programs, those that diverge grouped by cause and kept."""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from conformance.base import interruption
from conformance.base.outputs import writing
from conformance.base.release import versions
from conformance.commands.processes import EXCLUDED, PROCESSES, prepare_processes
from conformance.fuzz.campaign import Asked, Campaign, Finding
from conformance.fuzz.causes import Cause
from conformance.fuzz.corpus import read_corpus, write_corpus
from conformance.fuzz.crew import Crew, NoWorkerLeft, check_processes
from conformance.fuzz.findings import folder
from conformance.fuzz.machines import Equipment, Machine
from conformance.fuzz.origins import Origin, origins
from conformance.fuzz.progress import Tally, lost_finding
from conformance.fuzz.report import described, lost
from conformance.fuzz.share import CORPUS, Found, Share, Turn, by_file, check_themes, shares
from conformance.fuzz.themes import SHARE, THEMES
from conformance.fuzz.workers import SearchFailed, Worker, local
from conformance.fuzz.zygote import settings_to
from conformance.output.terminal import terminal
from conformance.run.judge import Judge
from conformance.run.machines import NO_MACHINES, folders, specifications
from conformance.run.plan import Plan, WrongInput, check_folder, plan
from conformance.settings.settings import read_settings
from conformance.suite.shard import Shard


def fuzz(options: argparse.Namespace) -> int:
    """Compare a backend with an oracle on random programs; returns the exit code."""
    prepare_processes()
    check_themes(options.theme or ())
    themes = list(dict.fromkeys(options.theme or THEMES))
    keep_in = None
    if not options.no_keep:
        keep_in = Path(options.keep_in) if options.keep_in else folder()
        check_folder(keep_in)
    if options.campaign:
        check_folder(options.campaign)
    place = Path(options.corpus) if options.corpus else None
    corpus = read_corpus(place)
    settings = read_settings(options)
    # The shard is one of the shares.
    made = plan(replace(settings, selection=replace(settings.selection, shard=None)), search=True)
    workers = _workers(options, made, corpus, themes)
    asked = _asked(themes, options, len(corpus))
    total = None if options.time else sum(share.examples for share in asked)
    with ExitStack() as stack:
        tally = Tally(stack.enter_context(terminal()), total)
        tally.announce(made, themes)
        if made.unavailable:
            tally.print(f"not run: {made.unavailable}")
            return 3
        crew = Crew(workers)
        judge = Judge(made.settings, made.known, made.unavailable, sides=made.sides)
        stack.callback(judge.close)
        stack.callback(crew.close)
        stack.callback(tally.stop)
        if options.machines:
            _start(crew)
        _draw(crew, tally, _handed_out(asked, themes, options.time, options.shard))
        if not tally.complete:
            # The others may be in the middle of a share, or gone; one is left for the findings.
            crew.replace([local(made.settings, corpus, made.known.of_calls, themes)])
        tally.stop()
        findings = _report(tally, crew, judge, keep_in)
        if place is not None and tally.reached:
            _write(tally, place)
        if options.campaign:
            _campaign(tally, made, options, themes, findings, crew.lines).write(options.campaign)
        tally.summarise(crew.lines)
        return tally.exit


def _workers(
    options: argparse.Namespace,
    made: Plan,
    corpus: Sequence[Sequence[str]],
    themes: Sequence[str],
) -> list[Worker]:
    """The workers asked for, which are not started yet; raises WrongInput."""
    processes, machines = check_processes(options.processes), specifications(options.machines)
    if processes and machines:
        raise WrongInput(EXCLUDED)
    if options.folders and not machines:
        raise WrongInput(NO_MACHINES)
    if (processes or machines) and not made.settings.isolation:
        raise WrongInput("--no-isolation draws in this process alone: without -n and --tx.")
    given = made.settings, corpus, made.known.of_calls, themes
    if not machines:
        return [local(*given) for _ in range(max(1, processes))]
    equipment = Equipment(
        settings_to(*given),
        {**versions(), made.settings.backend: made.backend["version"]},
        {name: os.environ[name] for name in PROCESSES},
        folders(options.folders),
    )
    return [Machine(one, equipment) for one in machines]


def _start(crew: Crew) -> None:
    try:
        crew.start()
    except SearchFailed as error:
        raise WrongInput(str(error)) from None


def _draw(crew: Crew, tally: Tally, shares: Iterator[Share]) -> None:
    """Draw the shares, as far as there are workers and no interruption."""
    try:
        crew.each(
            itertools.starmap(Turn, enumerate(shares)),
            lambda mine, turn: mine.share(turn.share),
            tally.ended,
            tally.print,
        )
        tally.complete = True
    except KeyboardInterrupt:
        with suppress(KeyboardInterrupt):
            interruption.check()  # this one is heeded: what follows is to end
        tally.print("interrupted: the findings so far follow")
    except NoWorkerLeft as error:
        tally.print(f"{error}: the findings so far follow")
    tally.drawing_ends()


def _asked(themes: Sequence[str], options: argparse.Namespace, corpus: int) -> list[Share]:
    """The shares to draw: the corpus first, and of the rest those of the shard."""
    drawn = shares(themes, options.examples)
    if options.shard is not None:
        shard = options.shard
        drawn = [share for share in drawn if share.number % shard.of == shard.number - 1]
    replay = [Share(CORPUS, 0, corpus, corpus)] if corpus else []
    return [*replay, *drawn]


def _handed_out(
    asked: Sequence[Share], themes: Sequence[str], seconds: float | None, shard: Shard | None
) -> Iterator[Share]:
    """The shares; with a time, the shard's next ones of every theme until it is over."""
    if seconds is None:
        yield from asked
        return
    until = time.monotonic() + seconds
    yield from (share for share in asked if share.theme == CORPUS)
    first, step = (shard.number - 1, shard.of) if shard else (0, 1)
    for number in itertools.count(first, step):
        for theme in themes:
            if time.monotonic() >= until:
                return
            yield Share(theme, number, SHARE, (number + 1) * SHARE)


def _report(tally: Tally, crew: Crew, judge: Judge, keep_in: Path | None) -> list[Finding]:
    """Shrink, judge, keep and print the findings, in the order in which they were drawn."""
    findings = []
    for origin in origins(_shrunk(crew, list(tally.causes.values()))):
        made = described(judge, origin, keep_in)
        tally.add(made, origin.found.cause)
        findings.append(Finding(origin.share, origin.found, made.line, origin.others))
    for share, statements, reason in tally.lost:
        if lost_finding(reason):
            tally.add(made := lost(judge, share, statements, reason, keep_in), reason)
            found = Found(Cause("-", "-", "-"), statements, 0)
            findings.append(Finding(share, found, made.line, lost=reason))
    return findings


def _campaign(
    tally: Tally,
    made: Plan,
    options: argparse.Namespace,
    themes: Sequence[str],
    findings: list[Finding],
    lines: int,
) -> Campaign:
    """The campaign, or the shard of one, that this search was."""
    asked = made.settings
    of = Asked(
        versions()["suite"],
        made.backend,
        made.oracle,
        asked.seed,
        asked.default_dtype,
        asked.selection.levels,
        tuple(themes),
        options.examples,
        None if options.time is None else float(options.time),
    )
    reached = [(statements, by_file(lines)) for statements, lines in tally.reached]
    return Campaign(
        asked=of,
        shards=[options.shard or Shard(1, 1)],
        complete=tally.complete,
        drawn=tally.drawn,
        outcomes=dict(tally.outcomes),
        lacking=dict(tally.lacking),
        seconds=tally.seconds,
        lines=lines,
        reached=reached,
        findings=findings,
        faults=tally.faults,
    )


def _shrunk(crew: Crew, drawn: Sequence[tuple[Share, Found]]) -> list[Origin]:
    """The findings with smaller programs; one that no worker can shrink stays as it is."""
    small = {place: Origin(share, found) for place, (share, found) in enumerate(drawn)}

    def ended(place: int, result: tuple[list[str], Cause] | SearchFailed) -> None:
        share, found = drawn[place]
        if not isinstance(result, SearchFailed):
            statements, cause = result
            small[place] = Origin(share, replace(found, statements=statements, cause=cause))

    with suppress(NoWorkerLeft):
        crew.each(
            iter(small.copy()),
            lambda mine, place: mine.shrink(drawn[place][1].statements, drawn[place][1].cause),
            ended,
        )
    return list(small.values())


def _write(tally: Tally, place: Path) -> None:
    with writing(place):
        added = write_corpus(place, tally.reached)
    tally.print(f"{added} programs added to the corpus in {place}")
