"""The command `conform fuzz`: random programs, those that diverge grouped by cause and kept."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from conformance.base import interruption
from conformance.base.outputs import writing
from conformance.commands.processes import prepare_processes
from conformance.fuzz.corpus import read_corpus, write_corpus
from conformance.fuzz.crew import Crew, check_processes
from conformance.fuzz.findings import folder
from conformance.fuzz.progress import Tally, lost_finding
from conformance.fuzz.report import described, finding
from conformance.fuzz.share import CORPUS, Share, check_themes, shares
from conformance.fuzz.themes import SHARE, THEMES
from conformance.output.terminal import terminal
from conformance.run.judge import Judge
from conformance.run.plan import check_folder, plan
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
    asked = _asked(themes, options, len(corpus))
    total = None if options.time else sum(share.examples for share in asked)
    with ExitStack() as stack:
        tally = Tally(made, stack.enter_context(terminal()), total)
        tally.announce(themes)
        if made.unavailable:
            tally.console.print(Text(f"not run: {made.unavailable}"), soft_wrap=True)
            return 3
        processes = check_processes(options.processes)
        crew = Crew(made.settings, corpus, processes, made.known.of_calls)
        judge = Judge(made.settings, made.known, made.unavailable, sides=made.sides)
        stack.callback(judge.close)
        stack.callback(crew.close)
        stack.callback(tally.stop)
        until = time.monotonic() + options.time if options.time else None
        try:
            crew.run(_handed_out(asked, themes, until), tally.ended)
            tally.complete = True
        except KeyboardInterrupt:
            with suppress(KeyboardInterrupt):
                interruption.check()  # this one is heeded: what follows is to end
            crew.interrupt()
            tally.console.print("interrupted: the findings so far follow")
        tally.drawing_ends()
        tally.stop()
        _report(tally, crew, judge, keep_in)
        if place is not None and tally.reached:
            _write(tally, place)
        tally.summarise(crew.workers[0].lines)
        return tally.exit


def _asked(themes: Sequence[str], options: argparse.Namespace, corpus: int) -> list[Share]:
    """The shares to draw: the corpus first, and of the rest those of the shard."""
    drawn = shares(themes, options.examples)
    if options.shard is not None:
        shard = options.shard
        drawn = [share for share in drawn if share.number % shard.of == shard.number - 1]
    replay = [Share(CORPUS, 0, corpus, corpus)] if corpus else []
    return [*replay, *drawn]


def _handed_out(
    asked: Sequence[Share], themes: Sequence[str], until: float | None
) -> Iterator[Share]:
    """The shares; with a time, the next ones of every theme until it is over."""
    if until is None:
        yield from asked
        return
    yield from (share for share in asked if share.theme == CORPUS)
    for number in itertools.count():
        for theme in themes:
            if time.monotonic() >= until:
                return
            yield Share(theme, number, SHARE, (number + 1) * SHARE)


def _report(tally: Tally, crew: Crew, judge: Judge, keep_in: Path | None) -> None:
    """Shrink, judge, keep and print the findings, in the order in which they were drawn."""
    mine = crew.workers[0]
    order = list(THEMES)

    def drawn(one: tuple[Share, object]) -> tuple[int, int]:
        theme = one[0].theme
        return one[0].number, order.index(theme) if theme in order else -1

    for share, found in sorted(tally.causes.values(), key=lambda one: (*drawn(one), one[1].index)):
        tally.add(finding(judge, mine, share, found, keep_in), found.cause)
    for share, statements, reason in tally.lost:
        if lost_finding(reason):
            sentence = f"a random program that ended its process: {reason}"
            tally.add(described(judge, share, statements, sentence, keep_in), reason)


def _write(tally: Tally, place: Path) -> None:
    with writing(place):
        added = write_corpus(place, tally.reached)
    tally.console.print(Text(f"{added} programs added to the corpus in {place}"), soft_wrap=True)
