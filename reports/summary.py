"""Summary of a run: headline, facts, matrix of areas and levels, largest errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.base.words import listed
from conformance.run_files.categories import CATEGORIES, category
from conformance.run_files.identity import named
from conformance.run_files.qualified_claims import qualified_claims, texts
from conformance.run_files.run import Run
from conformance.suite.areas import AREAS
from reports.attention import Attention, attention
from reports.categories import SYMBOLS, WORDS
from reports.text import count, spelled, visible


@dataclass(frozen=True)
class Headline:
    """The verdict as text. `status` is a category, `incomplete` or `interrupted`."""

    status: str
    symbol: str
    text: str
    detail: str


@dataclass
class AreaRow:
    """A row of the matrix: counts of one area's programs, by category and by level."""

    area: str
    programs: int = 0
    levels: dict[str, Counter[str]] = field(
        default_factory=lambda: {level: Counter() for level in LEVELS}
    )
    categories: Counter[str] = field(default_factory=Counter)
    specification: int = 0

    def add(self, line: dict[str, Any]) -> None:
        """Count one program."""
        self.count(category(line), line["levels"], bool(line["specification"]))

    def count(
        self, kind: str, levels: Mapping[str, str], specification: bool, programs: int = 1
    ) -> None:
        """Count `programs` of one category, verdicts, and flag for an unmet normative comment."""
        self.programs += programs
        self.categories[kind] += programs
        self.specification += specification * programs
        if kind in NOT_COMPARED:
            return
        for level, verdict in levels.items():
            excused = kind == "known" and verdict == "diverges"
            self.levels[level]["known" if excused else verdict] += programs


@dataclass(frozen=True)
class Ulp:
    """The largest error of one dtype in units in the last place, and the first program with it."""

    dtype: str
    error: float
    program: str

    @property
    def text(self) -> str:
        """The error as text: `0.5`, `1,024`, `∞`."""
        if math.isinf(self.error):
            return "∞"
        return f"{self.error:,.0f}" if self.error >= 1000 else f"{self.error:.3g}"


@dataclass(frozen=True)
class Summary:
    """The contents of the first screen of a run's report."""

    headline: Headline
    facts: list[tuple[str, str]]
    categories: dict[str, int]
    rows: list[AreaRow]
    total: AreaRow
    ulps: list[Ulp]
    attention: list[Attention]
    stale: list[str]
    selected: int
    levels: tuple[str, ...]


def summary(run: Run) -> Summary:
    """Summarise `run`; programs that were not compared are not counted as diverging."""
    rows = {area: AreaRow(area) for area in AREAS}
    total = AreaRow("All areas")
    for line in run.programs:
        rows.setdefault(line["area"], AreaRow(line["area"])).add(line)
        total.add(line)
    return Summary(
        headline=headline(run, total),
        facts=facts(run),
        categories={kind: total.categories[kind] for kind in CATEGORIES},
        rows=[row for row in rows.values() if row.programs],
        total=total,
        ulps=ulps(run.programs),
        attention=attention(run.programs, run.levels),
        stale=list((run.footer or {}).get("stale", ())),
        selected=run.header["programs"],
        levels=run.levels,
    )


def described(backend: dict[str, Any], exactly: bool = False) -> str:
    """A backend as text, `torch 2.13.0 (cpu)`; `exactly` keeps a local version such as `+cu130`."""
    return visible(named(backend, exactly))


def headline(run: Run, total: AreaRow) -> Headline:
    """The run's verdict as one sentence, and a second sentence with the counts behind it."""
    backend, oracle = described(run.header["backend"]), described(run.header["oracle"])
    bad, others = total.categories["diverges"], total.categories["other_version"]
    missing = sum(total.categories[kind] for kind in NOT_COMPARED)
    compared = total.programs - missing
    detail = _detail(run, total, compared)
    if not run.complete:
        text = f"Interrupted after {total.programs:,} of {run.header['programs']:,} programs"
        if bad:
            text += f": {backend} diverges from {oracle} in {bad:,} of the {compared:,} compared"
        elif compared:
            text += f": no divergence of {backend} from {oracle} so far"
        return Headline("interrupted", "◐", text, detail)
    if not compared:
        text = f"Nothing of {backend} was compared with {oracle}"
        return Headline("incomplete", "○", text, detail)
    if bad:
        text = f"{backend} diverges from {oracle} in {bad:,} of {count(compared, 'program')}"
        return Headline("diverges", SYMBOLS["diverges"], text, detail)
    if failed := total.categories["specification"]:
        text = f"{oracle} does not meet the specification in {count(failed, 'program')}"
        return Headline("diverges", SYMBOLS["specification"], text, detail)
    alone = others == compared
    text = f"{backend} {'shows another version of torch than' if alone else 'conforms to'} {oracle}"
    if missing:
        text += f" in what was compared; {count(missing, 'program')} could not be"
        return Headline("incomplete", "◐", text, detail)
    if not alone:
        text += f" {_at_levels(run, total)}{_exceptions(total)}"
    status = "other_version" if others else "conforms"
    return Headline(status, SYMBOLS[status], text, detail)


def _exceptions(total: AreaRow) -> str:
    """The exceptions of a run without divergences, as a clause of its headline."""
    known, others = total.categories["known"], total.categories["other_version"]
    parts = [count(known, "known divergence")] if known else []
    if others:
        parts.append(f"{count(others, 'program')} as another version of torch")
    return f", but for {listed(parts)}" if parts else ""


def _at_levels(run: Run, total: AreaRow) -> str:
    met = [level for level in run.levels if set(total.levels[level]) - {"not_applicable"}]
    if len(met) == len(LEVELS):
        return f"at all {spelled(len(LEVELS))} levels"
    return f"at {'level' if len(met) == 1 else 'levels'} {listed(met)}"


def _detail(run: Run, total: AreaRow, compared: int) -> str:
    if not total.programs:
        return "The run has no programs: its selection matched nothing."
    parts = [f"{count(compared, 'program')} compared statement by statement"]
    parts += [
        f"{total.categories[kind]:,} {WORDS[kind]}"
        for kind in NOT_COMPARED
        if total.categories[kind]
    ]
    text = ", ".join(parts) + "."
    if total.categories["known"]:
        text += f" {count(total.categories['known'], 'divergence is', 'divergences are')} known."
    if others := total.categories["other_version"]:
        text += f" In {count(others, 'program')} it shows another version of torch."
    if allowed := sum("permitted" in line for line in run.programs):
        text += f" In {count(allowed, 'program')} it differs where a port may."
    if failed := total.categories["specification"]:
        text += f" In {count(failed, 'program')} only the oracle differs from the specification."
    if stale := (run.footer or {}).get("stale"):
        text += f" {count(len(stale), 'known divergence is', 'known divergences are')} gone."
    return text


def facts(run: Run) -> list[tuple[str, str]]:
    """Backends, time, machine and settings of the run, as pairs of a term and its text."""
    header = run.header
    host = header["host"]
    others = [f"{key} {value}" for key, value in host.items() if key not in ("python", "platform")]
    python = f"Python {host['python']}" if "python" in host else ""
    pairs = [
        ("Backend", described(header["backend"], exactly=True) + _found_by(header["backend"])),
        ("Oracle", described(header["oracle"], exactly=True)),
        ("Host", " · ".join(filter(None, [host.get("platform", ""), python, *others]))),
        ("Started", _moment(header["started"]) + _duration(run)),
        ("Selection", selected(header["selection"])),
        ("Seed", str(header["seed"])),
        ("Default dtype", str(header.get("default_dtype", "float32"))),
        ("Suite", header["suite"]),
        ("Run", header["run"]),
        *([("Supports", claimed)] if (claimed := _claimed(run)) else []),
        *(
            (term, str(header[field]))
            for term, field in (("Label", "label"), ("Revision", "revision"), ("Address", "url"))
            if header.get(field)
        ),
    ]
    return [(term, visible(text)) for term, text in pairs]


def _found_by(side: dict[str, Any]) -> str:
    """The option that finds a backend that is known by another name."""
    return f" · --backend '{side['name']}'" if side.get("title") else ""


def _claimed(run: Run) -> str:
    """The claims to levels that the run supports: `values, torch 2.15; also 2.14 · graph, ...`."""
    if run.footer is None:
        return ""
    whole = run.footer.get("claims", {})
    return " · ".join(texts(qualified_claims(run.header, run.programs, whole)))


def selected(selection: dict[str, Any]) -> str:
    """A run's selection as text: `areas: ties; levels: values`."""
    parts = []
    for key, values in selection.items():
        everything = not values or (key == "levels" and set(values) == set(LEVELS))
        if not everything:
            parts.append(f"{key}: {', '.join(map(str, values))}")
    return "; ".join(parts) or "every program, every level"


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment.tzname() or ''}".rstrip()


def _duration(run: Run) -> str:
    if run.footer is None:
        return ", interrupted"
    try:
        began = datetime.fromisoformat(run.header["started"])
        seconds = (datetime.fromisoformat(run.footer["finished"]) - began).total_seconds()
    except (TypeError, ValueError):
        return ""
    minutes, rest = divmod(seconds, 60)
    return f", took {minutes:.0f} min {rest:.0f} s" if minutes else f", took {rest:.1f} s"


def ulps(lines: Iterable[dict[str, Any]]) -> list[Ulp]:
    """The largest ULP error of each dtype with the first program that has it, sorted by dtype.

    Only conforming values count: an error judged as a divergence is no measure of precision.
    """
    largest: dict[str, Ulp] = {}
    for line in lines:
        if line["levels"].get("values") != "conforms":
            continue
        for dtype, error in line["ulp"].items():
            number = float(error)
            if dtype not in largest or number > largest[dtype].error:
                largest[dtype] = Ulp(visible(dtype), number, line["id"])
    return [largest[dtype] for dtype in sorted(largest)]
