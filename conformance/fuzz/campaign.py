"""Campaigns: searches as folders, of which those of shards can be put together.

`campaign.json` has the totals, findings and coverage; `corpus` and `findings` beside it have a file
for each program, for `conform fuzz --corpus` and for `conform run --findings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import msgspec

from conformance.base.outputs import replacing
from conformance.fuzz.causes import Cause
from conformance.fuzz.corpus import write_corpus
from conformance.fuzz.findings import keep
from conformance.fuzz.origins import Origin, origins
from conformance.fuzz.programs import named
from conformance.fuzz.share import Found, Share, places
from conformance.run.plan import WrongInput
from conformance.suite.shard import Shard

FILE = "campaign.json"


@dataclass(frozen=True)
class Asked:
    """The programs of a campaign and the two sides that ran them: equal for all of its shards."""

    suite: str
    backend: dict[str, Any]
    oracle: dict[str, Any]
    seed: int
    default_dtype: str
    levels: tuple[str, ...]
    themes: tuple[str, ...]
    examples: int
    seconds: float | None


@dataclass
class Finding:
    """A finding with its line of a run file; ``lost`` says how its program ended the process."""

    share: Share
    found: Found
    line: dict[str, Any]
    others: list[Cause] = field(default_factory=list)
    lost: str = ""

    @property
    def sentence(self) -> str:
        """The sentence of its program, which names the cause."""
        return str(self.line["sentence"])


@dataclass
class Campaign:
    """A campaign, or the part of it that some shards drew."""

    asked: Asked
    shards: list[Shard]
    complete: bool
    drawn: int
    outcomes: dict[str, int]
    lacking: dict[str, int]
    seconds: dict[str, float]
    lines: int
    reached: list[tuple[list[str], dict[str, list[int]]]]
    findings: list[Finding]
    faults: list[str]
    type: Literal["campaign"] = "campaign"
    schema: Literal[1] = 1
    """Version of the file; it changes when a reader of the former would misread it."""

    def write(self, folder: Path) -> None:
        """Write the folder; raises WrongInput where that cannot be done."""
        try:
            with replacing(folder / FILE) as file:
                file.write(msgspec.json.encode(self) + b"\n")
            write_corpus(folder / "corpus", ((s, places(lines)) for s, lines in self.reached))
            for one in self.findings:
                if one.line["outcome"] != "conforms":
                    keep(named(one.found.statements, one.sentence), folder / "findings")
        except OSError as error:
            raise WrongInput(f"{folder}: cannot be written: {error.strerror}.") from None


def read(folder: Path) -> Campaign:
    """The campaign in a folder; raises WrongInput."""
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Campaign)
    except OSError as error:
        raise WrongInput(f"{path}: cannot be read: {error.strerror}.") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise WrongInput(f"{path}: not a campaign: {error}.") from None


def merged(campaigns: Mapping[Path, Campaign]) -> Campaign:
    """The parts of a campaign as one; raises WrongInput for parts that are not of one campaign."""
    (first, whole), *others = campaigns.items()
    for path, part in others:
        _check_same(path, part.asked, first, whole.asked)
    drawn: dict[Shard, Path] = {}
    for path, part in campaigns.items():
        for shard in part.shards:
            if shard.of != whole.shards[0].of:
                raise WrongInput(f"{path} has shard {shard}, {first} shard {whole.shards[0]}.")
            if shard in drawn:
                raise WrongInput(f"{path} has shard {shard}, which {drawn[shard]} has as well.")
            drawn[shard] = path
    parts = sorted(campaigns.values(), key=lambda part: min(s.number for s in part.shards))
    return Campaign(
        whole.asked,
        sorted(drawn, key=lambda shard: shard.number),
        all(part.complete for part in parts) and not missing(drawn),
        sum(part.drawn for part in parts),
        _added(part.outcomes for part in parts),
        _added(part.lacking for part in parts),
        _added(part.seconds for part in parts),
        max(part.lines for part in parts),
        _synchronised(part.reached for part in parts),
        _collapsed([one for part in parts for one in part.findings]),
        [fault for part in parts for fault in part.faults],
    )


def missing(shards: Iterable[Shard]) -> list[Shard]:
    """The shards that there are none of."""
    there = set(shards)
    of = next(iter(there)).of
    return [shard for number in range(1, of + 1) if (shard := Shard(number, of)) not in there]


def _check_same(path: Path, mine: Asked, first: Path, theirs: Asked) -> None:
    for one in fields(Asked):
        values = getattr(mine, one.name), getattr(theirs, one.name)
        if values[0] != values[1]:
            here, there = (msgspec.json.encode(value).decode() for value in values)
            raise WrongInput(
                f"{path / FILE}: it is of another campaign than {first / FILE}: "
                f'"{one.name}" is {here}, not {there}.'
            )


def _added(counts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)


def _synchronised(
    parts: Iterable[list[tuple[list[str], dict[str, list[int]]]]],
) -> list[tuple[list[str], dict[str, list[int]]]]:
    """The programs that reach lines which none before them does."""
    known: set[tuple[str, int]] = set()
    kept = []
    for part in parts:
        for statements, lines in part:
            if not known.issuperset(there := places(lines)):
                known.update(there)
                kept.append((statements, lines))
    return kept


def _collapsed(findings: Sequence[Finding]) -> list[Finding]:
    """One finding for each origin, those of lost programs as they are."""
    by_program = {tuple(one.found.statements): one for one in findings}
    drawn = [Origin(one.share, one.found, one.others) for one in findings if not one.lost]
    found = []
    for origin in origins(drawn):
        one = by_program[tuple(origin.found.statements)]
        found.append(Finding(origin.share, origin.found, one.line, origin.others))
    lost = {one.sentence: one for one in findings if one.lost}
    return [*found, *lost.values()]
