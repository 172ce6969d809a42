"""A run as a short page of Markdown for a CI's summary: totals, areas by levels, causes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.base.outputs import write_text
from conformance.base.torch_versions import ranges
from conformance.output.causes import excerpt
from conformance.output.display import cut
from conformance.output.failure import headline
from conformance.run_files.categories import CATEGORIES, category, topic
from conformance.run_files.causes import causes, reasons
from conformance.run_files.identity import named
from conformance.run_files.resume import header_text
from conformance.run_files.run import Run
from conformance.run_files.totals import is_failing, is_known
from conformance.settings.settings import Settings, command

FIRST = 10
"""Programs that are shown of each kind."""

_WORDS = {
    "diverges": "diverge",
    "specification": "contradict the specification",
    "error": "ended in an error",
    "unsupported": "are unsupported",
    "not_run": "were not run",
    "known": "are known divergences",
    "other_version": "show another version of torch",
    "conforms": "conform",
}


def write(run: Run, path: Path, settings: Settings) -> None:
    """Write the page to a file; raises OSError. ``settings`` say how a program is shown again."""
    write_text(path, page(run, settings))


def page(run: Run, settings: Settings) -> str:
    """Return the page; a backend's texts are escaped, and stand in code where they may be long."""
    failing = [line for line in run.programs if is_failing(line)]
    blocks = [f"## {_verdict(run, failing)}", _compared(run), _totals(run), _table(run)]
    blocks += _causes(run, settings)
    if stale := (run.footer or {}).get("stale"):
        blocks += ["### Known divergences that are gone", _listed(plain(text) for text in stale)]
    blocks += _other_versions(run)
    for outcome in NOT_COMPARED:
        blocks += _not_compared(outcome, run)
    return "\n\n".join(blocks) + "\n"


def plain(text: str) -> str:
    """Text on one line, with the special characters of Markdown and HTML escaped."""
    escaped = re.sub(r"([\\`*_\[\]#|~<>@$:&])", r"\\\1", cut(text, 600))
    return re.sub(r"\\([<>&])", lambda found: f"&#{ord(found[1])};", escaped)


def code(text: str, width: int = 600) -> str:
    """Return text on one line as a code span that its own backticks cannot end."""
    shown = cut(text, width)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {shown} {ticks}" if longest else f"`{shown}`"


def _fenced(text: str, language: str) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _verdict(run: Run, failing: list[dict[str, Any]]) -> str:
    if failing:
        return f"{len(failing):,} of {len(run.programs):,} programs diverge"
    if run.footer is None:
        return f"Interrupted: {len(run.programs):,} of {run.header['programs']:,} programs judged"
    if run.footer.get("stale"):
        return "A known divergence is gone; its entry must be removed"
    if missing := sum(line["outcome"] in NOT_COMPARED for line in run.programs):
        return f"Nothing diverges; {missing:,} of {len(run.programs):,} programs were not compared"
    if any(line["outcome"] == "other_version" for line in run.programs):
        return "Everything conforms, or shows another version of torch"
    return "Everything conforms"


def _compared(run: Run) -> str:
    header = run.header
    with_ = " against ".join(code(named(header[side])) for side in ("backend", "oracle"))
    chosen = header_text({k: v for k, v in header["selection"].items() if k != "levels"})
    counted = "" if run.levels == LEVELS else f", of which only {', '.join(run.levels)} count"
    left = "" if run.complete else f" Interrupted: {header['programs']:,} programs were selected."
    return (
        f"{with_}, suite {code(header['suite'])}, seed {header['seed']}, programs: "
        f"{code(chosen)}{counted}.{left}"
    )


def _totals(run: Run) -> str:
    ended = [category(line) for line in run.programs]
    counted = ((name, ended.count(name)) for name in reversed(CATEGORIES))
    return ", ".join(f"{n:,} {_WORDS[name]}" for name, n in counted if n) or "No program was run."


def _table(run: Run) -> str:
    rows = [["area", "programs", *LEVELS, "not compared"]]
    rows.append(["---", *["--:"] * (len(rows[0]) - 1)])
    for area in dict.fromkeys(line["area"] for line in run.programs):
        lines = [line for line in run.programs if line["area"] == area]
        missing = sum(line["outcome"] in NOT_COMPARED for line in lines)
        cells = [_cell(lines, level) for level in LEVELS]
        rows.append([plain(area), f"{len(lines):,}", *cells, f"{missing:,}" if missing else ""])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(lines: list[dict[str, Any]], level: str) -> str:
    """How many conform at the level, and how many do not; a dash where it does not apply."""
    verdicts = [line["levels"].get(level) for line in lines]
    differing = [line for line in lines if line["levels"].get(level) == "diverges"]
    known, conforms = sum(map(is_known, differing)), verdicts.count("conforms")
    parts = [f"**{len(differing) - known:,} diverge**"] if len(differing) > known else []
    parts += [f"{known:,} known"] if known else []
    if others := verdicts.count("other_version"):
        parts.append(f"{others:,} other version")
    if parts:
        return ", ".join([*parts, f"{conforms:,} conform"])
    return f"{conforms:,}" if conforms else "–"


def _causes(run: Run, settings: Settings) -> list[str]:
    """The causes of the divergences, each with the program that shows it best."""
    found = causes(run.programs, run.levels)
    if not found:
        return []
    blocks = ["### 1 cause" if len(found) == 1 else f"### {len(found):,} causes"]
    for cause in found[:FIRST]:
        line = cause.shown
        about = f": {plain(line['sentence'])}" if line["sentence"] else ""
        areas = ", ".join(f"{plain(area)} {number:,}" for area, number in cause.areas.items())
        blocks += [
            f"#### {len(cause.lines):,}: {cause.difference.level}: {plain(cause.words)}",
            f"{plain(topic(line))}{about} (in {areas})",
            _fenced("\n".join(text for _, text in excerpt(cause)), "python"),
            _fenced(cut(headline(line, run.levels), 600), "text"),
            _fenced(command(settings, line["id"]), "sh"),
        ]
    if rest := found[FIRST:]:
        left = sum(len(cause.lines) for cause in rest)
        blocks.append(f"… and {len(rest):,} more causes of {left:,} divergences.")
    return blocks


def _other_versions(run: Run) -> list[str]:
    """The programs on which the backend shows another version of torch, grouped by versions."""
    found: dict[str, list[str]] = {}
    for line in run.programs:
        if line["outcome"] == "other_version":
            found.setdefault(ranges(line["versions"]), []).append(line["id"])
    if not found:
        return []
    told = sorted(found.items(), key=lambda item: -len(item[1]))
    texts = [f"{len(ids):,}: torch {shown}, such as {code(ids[0])}" for shown, ids in told[:FIRST]]
    if len(told) > FIRST:
        texts.append(f"and {len(told) - FIRST:,} more sets of versions")
    return ["### Other versions of torch", _listed(texts)]


def _not_compared(outcome: str, run: Run) -> list[str]:
    """The programs with that outcome, grouped by reason, the most frequent first."""
    told = reasons(run.programs, outcome)
    if not told:
        return []
    texts = [
        f"{len(lines):,}: {code(reason, 300)}, such as {code(lines[0]['id'])}"
        for reason, lines in told[:FIRST]
    ]
    if len(told) > FIRST:
        texts.append(f"and {len(told) - FIRST:,} more reasons")
    return [f"### Not compared: {outcome.replace('_', ' ')}", _listed(texts)]


def _listed(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)
