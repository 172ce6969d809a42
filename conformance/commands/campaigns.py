"""The merging of campaigns of random programs, for the command `conform merge`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from conformance.fuzz.campaign import Asked, Campaign, Finding, merged, missing, read
from conformance.fuzz.origins import Origin
from conformance.fuzz.progress import Tally
from conformance.fuzz.report import Finding as Shown
from conformance.fuzz.report import again, also, times
from conformance.fuzz.share import places
from conformance.output.failure import failure
from conformance.output.terminal import Terminal
from conformance.run.plan import check_folder
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection


def merge_campaigns(folders: Sequence[Path], output: Path) -> int:
    """Put the campaigns of shards together; returns the exit code of the whole campaign.

    Neither backend nor oracle is needed.
    """
    whole = merged({folder: read(folder) for folder in folders})
    check_folder(output)
    whole.write(output)
    tally = _tally(whole, output)
    tally.summarise(whole.lines)
    if absent := missing(whole.shards):
        shards = ", ".join(map(str, absent))
        print(f"conform: missing: shard {shards}", file=sys.stderr)
    return tally.exit


def _tally(whole: Campaign, output: Path) -> Tally:
    """The tally of a search that drew the whole campaign, whose findings are printed."""
    tally = Tally(Terminal(), whole.drawn)
    tally.drawn, tally.complete, tally.faults = whole.drawn, whole.complete, whole.faults
    tally.outcomes, tally.lacking = Counter(whole.outcomes), Counter(whole.lacking)
    tally.seconds = whole.seconds
    tally.lines = {place for _, lines in whole.reached for place in places(lines)}
    tally.lost = [(f.share, f.found.statements, f.lost) for f in whole.findings if f.lost]
    settings = _settings(whole.asked)
    for one in whole.findings:
        if one.line["outcome"] != "conforms":
            tally.add(_shown(one, settings, output), one.sentence)
    return tally


def _shown(one: Finding, settings: Settings, output: Path) -> Shown:
    origin = Origin(one.share, one.found, one.others)
    text = failure(one.line, settings, again(settings, one.share))
    place = f"{times(origin)} in {one.share}; written to {output / 'findings'}"
    return Shown(one.line, f"{text}\n  {place}{also(origin)}")


def _settings(asked: Asked) -> Settings:
    return Settings(
        backend=asked.backend["name"],
        oracle=asked.oracle["name"],
        seed=asked.seed,
        default_dtype=asked.default_dtype,
        selection=Selection(levels=asked.levels),
    )
