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
from conformance.base.release import versions
from conformance.commands.processes import EXCLUDED, PROCESSES, prepare_processes
from conformance.commands.run import console_on
from conformance.fuzz.causes import Cause
from conformance.fuzz.corpus import read_corpus, write_corpus
from conformance.fuzz.crew import Crew, NoWorkerLeft, check_processes
from conformance.fuzz.findings import folder
from conformance.fuzz.machines import NO_MACHINES, Equipment, Machine, folders, specifications
from conformance.fuzz.progress import Tally, lost_finding
from conformance.fuzz.report import described
from conformance.fuzz.share import CORPUS, Found, Share, Turn, check_themes, shares
from conformance.fuzz.themes import SHARE, THEMES
from conformance.fuzz.workers import SearchFailed, Worker, local
from conformance.fuzz.zygote import settings_to
from conformance.run.judge import Judge
from conformance.run.plan import Plan, WrongInput, check_folder, plan
from conformance.settings.settings import read_settings


def fuzz(options: argparse.Namespace) -> int:
    """Compare a backend with an oracle on random programs; returns the exit code."""
    prepare_processes()
    check_themes(options.theme or ())
    themes = list(dict.fromkeys(options.theme or THEMES))
    keep_in = None
    if not options.no_keep:
        keep_in = Path(options.keep_in) if options.keep_in else folder()
        check_folder(keep_in)
    place = Path(options.corpus) if options.corpus else None
    corpus = read_corpus(place)
    settings = read_settings(options)
    # The shard is one of the shares; the selection is of the suite's programs, which do not run.
    made = plan(replace(settings, selection=replace(settings.selection, shard=None)))
    workers = _workers(options, made, corpus)
    asked = _asked(themes, options, len(corpus))
    total = None if options.time else sum(share.examples for share in asked)
    with ExitStack() as stack:
        tally = Tally(made, console_on(stack), total)
        tally.announce(themes)
        if made.unavailable:
            tally.print(f"not run: {made.unavailable}")
            return 3
        crew = Crew(workers)
        judge = Judge(made.settings, made.known, made.unavailable)
        stack.callback(judge.close)
        stack.callback(crew.close)
        stack.callback(tally.stop)
        if options.machines:
            _start(crew)
        _draw(crew, tally, _handed_out(asked, themes, options.time))
        if not tally.complete:
            # The others may be in the middle of a share, or gone; one is left for the findings.
            crew.replace([local(made.settings, corpus, made.known.of_calls)])
        tally.stop()
        _report(tally, crew, judge, keep_in)
        if place is not None and tally.reached:
            _write(tally, place)
        tally.summarise(crew.lines)
        return tally.exit


def _workers(
    options: argparse.Namespace, made: Plan, corpus: Sequence[Sequence[str]]
) -> list[Worker]:
    """The workers asked for, which are not started yet; raises WrongInput."""
    processes, machines = check_processes(options.processes), specifications(options.machines)
    if processes and machines:
        raise WrongInput(EXCLUDED)
    if options.folders and not machines:
        raise WrongInput(NO_MACHINES)
    if (processes or machines) and not made.settings.isolation:
        raise WrongInput("--no-isolation draws in this process alone: without -n and --tx.")
    given = made.settings, corpus, made.known.of_calls
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
    asked: Sequence[Share], themes: Sequence[str], seconds: float | None
) -> Iterator[Share]:
    """The shares; with a time, the next ones of every theme until it is over."""
    if seconds is None:
        yield from asked
        return
    until = time.monotonic() + seconds
    yield from (share for share in asked if share.theme == CORPUS)
    for number in itertools.count():
        for theme in themes:
            if time.monotonic() >= until:
                return
            yield Share(theme, number, SHARE, (number + 1) * SHARE)


def _report(tally: Tally, crew: Crew, judge: Judge, keep_in: Path | None) -> None:
    """Shrink, judge, keep and print the findings, in the order in which they were drawn."""
    for share, found in _shrunk(crew, list(tally.causes.values())):
        sentence = f"a random program: {found.cause}"
        made = described(judge, share, found.statements, sentence, keep_in, found.count)
        tally.add(made, found.cause)
    for share, statements, reason in tally.lost:
        if lost_finding(reason):
            sentence = f"a random program that ended its process: {reason}"
            tally.add(described(judge, share, statements, sentence, keep_in), reason)


def _shrunk(crew: Crew, drawn: Sequence[tuple[Share, Found]]) -> list[tuple[Share, Found]]:
    """The findings with smaller programs; one that no worker can shrink stays as it is."""
    small = dict(enumerate(drawn))

    def ended(place: int, result: tuple[list[str], Cause] | SearchFailed) -> None:
        share, found = drawn[place]
        if not isinstance(result, SearchFailed):
            statements, cause = result
            small[place] = (share, replace(found, statements=statements, cause=cause))

    with suppress(NoWorkerLeft):
        crew.each(
            iter(small.copy()),
            lambda mine, place: mine.shrink(drawn[place][1].statements, drawn[place][1].cause),
            ended,
        )
    return list(small.values())


def _write(tally: Tally, place: Path) -> None:
    try:
        added = write_corpus(place, tally.reached)
    except OSError as error:
        raise WrongInput(f"{place}: cannot be written: {error.strerror}.") from None
    tally.print(f"{added} programs added to the corpus in {place}")
