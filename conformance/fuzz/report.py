"""Reports of findings: the smallest program of a cause, its line of a run file, and its place."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.base.levels import LEVELS
from conformance.fuzz.findings import keep, own_folder
from conformance.fuzz.origins import Origin
from conformance.fuzz.programs import named
from conformance.fuzz.share import Found, Share
from conformance.fuzz.workers import SearchFailed, Worker
from conformance.output.failure import failure
from conformance.run.judge import Judge
from conformance.settings.settings import Settings, command

OTHERS = 5
"""Causes that are named beside the one that probably explains them."""


@dataclass(frozen=True)
class Finding:
    """A cause with its program: the line of a run file, and its description."""

    line: dict[str, Any]
    message: str


def finding(
    judge: Judge, mine: Worker, share: Share, found: Found, keep_in: Path | None
) -> Finding:
    """Shrink the program of a cause, judge it once more, and keep it in a folder, if given."""
    with suppress(SearchFailed):
        statements, cause = mine.shrink(found.statements, found.cause)
        found = replace(found, statements=statements, cause=cause)
    return described(judge, Origin(share, found), keep_in)


def described(judge: Judge, origin: Origin, keep_in: Path | None) -> Finding:
    """The finding of an origin, once it is judged and kept."""
    sentence = f"a random program: {origin.found.cause}"
    made = _made(judge, origin.share, origin.found.statements, sentence, keep_in, times(origin))
    return replace(made, message=made.message + also(origin))


def times(origin: Origin) -> str:
    """How often the origin showed."""
    count = origin.found.count
    return "found once" if count == 1 else f"found {count} times"


def also(origin: Origin) -> str:
    """The other causes that programs of the origin showed, on lines of their own."""
    shown = [f"\n  probably the same: {cause}" for cause in origin.others[:OTHERS]]
    more = len(origin.others) - OTHERS
    return "".join(shown) + (f"\n  and {more} more" if more > 0 else "")


def lost(
    judge: Judge, share: Share, statements: Sequence[str], reason: str, keep_in: Path | None
) -> Finding:
    """The finding of a program that ended its process, once it is judged and kept."""
    sentence = f"a random program that ended its process: {reason}"
    return _made(judge, share, statements, sentence, keep_in, "found once")


def _made(
    judge: Judge,
    share: Share,
    statements: Sequence[str],
    sentence: str,
    keep_in: Path | None,
    often: str,
) -> Finding:
    asked, program = judge.settings, named(statements, sentence)
    line = judge.line(program)
    show, note = again(asked, share), "it is not kept"
    if keep_in is not None and line["outcome"] != "conforms":
        try:
            path = keep(program, keep_in)
        except OSError as error:
            note = f"it could not be kept: {error}"
        else:
            own = path.parent.resolve() == own_folder().resolve()
            show = command(asked if own else replace(asked, findings=keep_in), f"fuzz/{path.stem}")
            replay = f"conform run --findings {shlex.quote(str(keep_in))} replays it"
            note = f"written to {path}: {'the suite replays it from now on' if own else replay}"
    return Finding(line, f"{failure(line, asked, show)}\n  {often} in {share}; {note}")


def again(asked: Settings, share: Share) -> str:
    """The shell command that draws a share's programs again."""
    words = ["conform", "fuzz", "--backend", asked.backend, "--oracle", asked.oracle]
    words += ["--theme", share.theme, "--examples", str(share.total), "--seed", str(asked.seed)]
    for module in asked.imports:
        words += ["--import", module]
    if asked.selection.levels != LEVELS:
        words += [word for level in asked.selection.levels for word in ("--level", level)]
    return shlex.join(words)
