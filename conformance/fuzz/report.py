"""Reports of searches, and the command that repeats one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.base.levels import LEVELS
from conformance.fuzz.findings import keep, own_folder
from conformance.fuzz.search import HarnessFault, Share, search_with
from conformance.output.failure import failure
from conformance.run.judge import Judge
from conformance.settings.settings import Settings, command


@dataclass(frozen=True)
class Report:
    """The report of a search: how many programs had which outcome, and the finding.

    ``line`` is the finding's line of a run file, ``message`` describes the finding and where it
    is kept; ``fault`` is an error of the harness itself.
    """

    outcomes: Mapping[str, int]
    line: Mapping[str, Any] | None = None
    message: str | None = None
    fault: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object, to send between processes."""
        return {**vars(self), "outcomes": dict(self.outcomes)}


def search_report(judge: Judge, share: Share, keep_in: Path | None) -> Report:
    """Search, and keep the finding in the folder ``keep_in``, if one is given."""
    asked = judge.settings
    try:
        search = search_with(judge, share.examples, asked.seed, share.theme, share.number)
    except HarnessFault as fault:
        return Report({}, fault=str(fault))
    if search.finding is None:
        return Report(search.outcomes)
    show, note = again(asked, share), "it is not kept"
    if keep_in is not None:
        try:
            path = keep(search.finding, keep_in)
        except OSError as error:
            note = f"it could not be kept: {error}"
        else:
            own = path.parent.resolve() == own_folder().resolve()
            show = command(asked if own else replace(asked, findings=keep_in), f"fuzz/{path.stem}")
            replay = f"conform run --findings {shlex.quote(str(keep_in))} replays it"
            note = f"written to {path}: {'the suite replays it from now on' if own else replay}"
    message = f"{failure(search.finding.line, asked, show)}\n  {note}"
    return Report(search.outcomes, search.finding.line, message)


def again(asked: Settings, share: Share) -> str:
    """The shell command that draws a share's programs again."""
    words = ["conform", "fuzz", "--backend", asked.backend, "--oracle", asked.oracle]
    words += ["--theme", share.theme, "--examples", str(share.total), "--seed", str(asked.seed)]
    for module in asked.imports:
        words += ["--import", module]
    if asked.selection.levels != LEVELS:
        words += [word for level in asked.selection.levels for word in ("--level", level)]
    return shlex.join(words)
