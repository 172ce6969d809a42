"""Searches: random programs are drawn and compared, and the first that diverges is shrunk."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample
from hypothesis.internal.conjecture import providers

from conformance.base.levels import LEVELS
from conformance.compare.known import KnownDivergences
from conformance.fuzz.findings import Finding
from conformance.fuzz.programs import programs
from conformance.fuzz.themes import EXAMPLES, SHARE, THEMES
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.run.plan import WrongInput, identities
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection


class HarnessFault(Exception):
    """The oracle or the comparison failed on a random program; says why, and on which."""


@dataclass(frozen=True)
class Search:
    """The result of a search: how many programs had which outcome, and the finding, if any.

    The counts include the programs tried while shrinking.
    """

    outcomes: Counter[str]
    finding: Finding | None


def search(
    backend: str = "impl",
    oracle: str = "torch",
    examples: int = EXAMPLES,
    seed: int = 0,
    *,
    theme: str = "chains",
    levels: Sequence[str] = LEVELS,
    isolation: bool = True,
    imports: Sequence[str] = (),
) -> Search:
    """Draw up to `examples` programs and shrink the first on which the backend diverges.

    A backend that hangs or dies on a program diverges too; one that lacks something does not. The
    same arguments draw the same programs. Raises WrongInput for a backend that cannot be found or
    whose device is missing, KeyError for an unknown theme.
    """
    asked = Settings(
        backend=backend,
        oracle=oracle,
        imports=tuple(imports),
        isolation=isolation,
        selection=Selection(levels=tuple(levels)),
    )
    if reason := identities(asked)[2]:
        raise WrongInput(reason)
    judge = Judge(asked, KnownDivergences())
    try:
        return search_with(judge, examples, seed, theme)
    finally:
        judge.close()


@dataclass(frozen=True)
class Share:
    """The part of a theme's programs that one search draws; its number seeds the search."""

    theme: str
    number: int
    examples: int
    total: int  # of the theme, in all its shares

    def __str__(self) -> str:
        return self.theme if self.total == self.examples else f"{self.theme}-{self.number}"


def shares(themes: Sequence[str] = (), examples: int = EXAMPLES) -> list[Share]:
    """Return the searches that draw this many programs of each theme (of every theme by default).

    They depend on nothing else, so that the distribution over processes does not change programs.
    Raises WrongInput for a theme that does not exist.
    """
    for theme in themes:
        if theme not in THEMES:
            raise WrongInput(f"there is no theme {theme!r}. There are: {', '.join(THEMES)}.")
    sizes = [min(SHARE, examples - done) for done in range(0, examples, SHARE)]
    return [
        Share(theme, number, size, examples)
        for number, size in enumerate(sizes)
        for theme in (dict.fromkeys(themes) or THEMES)
    ]


def search_with(judge: Judge, examples: int, seed: int, theme: str, share: int = 0) -> Search:
    """As `search`, with a judge that is set up already. Raises HarnessFault."""
    outcomes: Counter[str] = Counter()

    def diverges(program: Program) -> bool:
        line = judge.line(program)
        outcomes[line["outcome"]] += 1
        return differs(line)

    try:
        with _no_constants():
            program = find(
                programs(theme),
                diverges,
                settings=profile(examples),
                random=random.Random(f"{seed}/{theme}/{share}"),
            )
    except NoSuchExample:
        return Search(outcomes, None)
    return Search(outcomes, Finding(program, judge.line(program)))


@contextmanager
def _no_constants() -> Iterator[None]:
    """Disable Hypothesis's use of constants from the modules loaded so far.

    Those modules differ between an installed suite and a checkout, and from one process
    to the next; the programs drawn must not differ.
    """
    provider = getattr(providers, "HypothesisProvider", None)
    if not hasattr(provider, "_maybe_draw_constant"):
        yield  # this version of Hypothesis does not use them
        return
    with patch.object(provider, "_maybe_draw_constant", lambda *_, **__: None):
        yield


def differs(line: dict[str, Any]) -> bool:
    """Whether a program's line is a finding: it diverges, or the backend broke down.

    Raises HarnessFault where the oracle or the comparison broke down.
    """
    if line["outcome"] == "error" and not line["reason"].startswith("the backend"):
        raise HarnessFault(f"{line['reason']}\n{line['source']}")
    return line["outcome"] in ("diverges", "error")


def profile(examples: int) -> settings:
    """Settings under which a search depends on nothing but its seed: no database, no deadline."""
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
