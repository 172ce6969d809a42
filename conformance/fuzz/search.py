"""A search: draws the programs of shares, and compares each on oracle and backend."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial

from conformance.execution.execute import quiet, silent
from conformance.fuzz.causes import Cause
from conformance.fuzz.choices import Choices
from conformance.fuzz.coverage import Coverage
from conformance.fuzz.examiner import AT_END, Examined, Examiner
from conformance.fuzz.origins import located, spread
from conformance.fuzz.programs import Source, named
from conformance.fuzz.share import CORPUS, Entry, Report, Share
from conformance.fuzz.shrinking import shrunk
from conformance.fuzz.themes import DATABASE, THEMES

IN_DETAIL = 4
"""One program in so many is observed after each statement, which takes half as long again."""

WATCHED = 4 * IN_DETAIL
"""One program in so many is watched for the lines it reaches, which takes thrice as long."""

WARMING = 20
"""Programs of each theme that are run before any share."""

Progress = Callable[[int, str], None]


class Search:
    """Draws the programs of shares and examines them, in this process."""

    def __init__(
        self,
        source: Source,
        examiner: Examiner,
        coverage: Coverage,
        seed: int = 0,
        corpus: Sequence[Sequence[str]] = (),
        version: str = "unknown",
    ) -> None:
        """``version`` is the backend's."""
        self.source, self.examiner, self.coverage = source, examiner, coverage
        self.seed, self.version = seed, version
        self.corpus = [list(statements) for statements in corpus]

    def share(self, share: Share) -> Report:
        """Draw and examine all programs of the share, in this process."""
        return Report.of(self.entries(share), time.monotonic())

    def entries(
        self,
        share: Share,
        done: Sequence[Entry] = (),
        ending: str = "",
        progress: Progress = lambda index, phase: None,
    ) -> Iterator[Entry]:
        """Draw and examine the programs of the share that follow those `done`.

        ``ending`` is the phase in which the first of them ended its process, and how.
        """
        reached = [entry for entry in done if entry.lines]
        self.coverage.know(line for entry in reached for line in entry.lines)
        pool = [*self.corpus, *(entry.statements for entry in reached)]
        known = {entry.cause for entry in done if entry.cause is not None}
        for index in range(len(done), share.examples):
            progress(index, "drawing")
            statements = [] if ending.startswith("drawing") else self._drawn(share, index, pool)
            if ending:
                yield Entry("lost", statements, lost=ending)
                ending = ""
                continue
            progress(index, "oracle")
            entry = self._entry(statements, index, partial(progress, index, "backend"), known)
            if entry.lines:
                pool.append(statements)
            if entry.cause is not None:
                known.add(entry.cause)
            yield entry

    def warm(
        self,
        progress: Callable[[int], None],
        without: Container[int],
        themes: Sequence[str] = tuple(THEMES),
    ) -> None:
        """Run a few programs of each theme, so that all that is needed is imported and compiled.

        ``without`` are numbers of programs that are left out.
        """
        themes = [theme for theme in themes if theme != DATABASE]  # it has an import of its own
        for number in range(len(themes) * WARMING):
            if number not in without:
                progress(number)
                theme, index = themes[number // WARMING], number % WARMING
                self.examiner.examine_at_end(self._drawn(Share(theme, -1, 0, 0), index, ()))

    def _entry(
        self,
        statements: list[str],
        index: int,
        halfway: Callable[[], None],
        known: Container[Cause],
    ) -> Entry:
        """Compare a program; some are observed after each statement, and few of them watched."""
        lines: list[tuple[str, int]] = []
        if index % IN_DETAIL:
            examined = self.examiner.examine_at_end(statements, halfway, known)
        elif index % WATCHED:
            examined = self.examiner.examine(statements, halfway=halfway, known=known)
        else:
            examined = self.examiner.examine(statements, self.coverage.watched, halfway, known)
            lines = self.coverage.reached
        kept = statements if lines or examined.cause is not None else []
        return Entry(examined.outcome, kept, examined.cause, lines, _lacking(examined))

    def _drawn(self, share: Share, index: int, pool: Sequence[Sequence[str]]) -> list[str]:
        if share.theme == CORPUS:
            return self.corpus[index]
        choices = Choices(f"{self.seed}/{share.theme}/{share.number}/{index}")
        with self.source.oracle.session(), quiet(), silent():
            return self.source.draw(share.theme, choices, pool)

    def shrink(self, statements: Sequence[str], cause: Cause) -> tuple[list[str], Cause]:
        """The smallest program found that diverges for the same cause, and its own cause.

        Of a divergence in a pass the operator is a guess until the program is small.
        """
        last = cause
        at_end = cause.operator == AT_END
        examine = self.examiner.examine_at_end if at_end else self.examiner.examine

        def still(tried: list[str]) -> bool:
            nonlocal last
            found = examine(tried).cause
            if found is None or not found.resembles(cause):
                return False
            last = found
            return True

        small = shrunk(statements, still)
        return small, located(last, self.examiner.oracle(named(spread(small), "")))


def _lacking(examined: Examined) -> str:
    """The operation that the backend lacks, if that is why a program was not compared."""
    return examined.reason.rpartition(" lacks ")[2] if examined.outcome == "unsupported" else ""
