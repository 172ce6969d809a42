"""Messages about programs that do not conform."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.base.escapes import printable
from conformance.base.torch_versions import ranges
from conformance.output.display import cut, divergence_lines, marked_source, pair, where
from conformance.run_files.categories import topic
from conformance.settings.settings import Settings, command

_WHY = {
    "unsupported": "the backend does not have what this program needs",
    "error": "nothing was compared, through no fault of the program",
    "not_run": "not run",
}


def failure(line: Mapping[str, Any], settings: Settings, again: str | None = None) -> str:
    """Return the message for a program's line: rule, program with marks, expected and got.

    ``again`` is the command that reproduces it, where that is not `conform show` with the ID.
    """
    counted = settings.selection.levels
    parts = [_headline(line, settings)]
    if line["sentence"]:
        parts.append(f"  {topic(line)}: {line['sentence']}")
    parts += ["", *marked_source(line["source"], marks(line)), ""]
    if line["outcome"] in _WHY:
        parts.append(f"  {_WHY[line['outcome']]}: {cut(line['reason'] or 'no reason given', 600)}")
    for unmet in line["specification"]:
        parts += [
            f"  specification: line {unmet['line']}, the oracle does not do what the comment says",
            f"      comment   {cut(str(unmet['expected']))}",
            f"      oracle    {cut(str(unmet['got']))}",
        ]
    parts += divergence_lines(line["divergences"], counted)
    if line["known"] and line["known"].get("stale"):
        parts.append(
            "  it is listed as a known divergence "
            f"({printable(line['known']['reason'])}), but it conforms now: remove the entry"
        )
    if line["file"]:
        parts.append(f"  from: {line['file']}, line {line['line']}")
    parts.append(f"  show it again: {again or command(settings, line['id'])}")
    return "\n".join(parts)


def marks(line: Mapping[str, Any]) -> dict[int, str]:
    """Notes on the lines of the program's source with the first differences."""
    levels_at: dict[int, list[str]] = {}
    for level, divergence in line["divergences"].items():
        levels_at.setdefault(divergence["line"], []).append(level)
    notes = {
        at: f"diverges: {', '.join(levels)}" for at, levels in levels_at.items() if at is not None
    }
    if notes:
        first = min(notes)
        notes[first] = f"first divergence: {', '.join(levels_at[first])}"
    for unmet in line["specification"]:
        if unmet["line"] is not None:
            notes.setdefault(unmet["line"], "the oracle does not do what this says")
    return notes


def headline(line: Mapping[str, Any], levels: tuple[str, ...]) -> str:
    """One line about a divergence: ID, level, place, expected and got."""
    followed = line.get("convention") or {}
    if followed and followed["oracle"] != followed["backend"]:
        ways = (cut(str(followed[side] or "an error"), 60) for side in ("backend", "oracle"))
        return "{}  convention: {}, where the oracle follows: {}".format(line["id"], *ways)
    shown = f"  (torch {ranges(line['versions'])})" if line.get("versions") else ""
    for level in sorted(line["divergences"], key=lambda level: level not in levels):
        divergence = line["divergences"][level]
        expected, got = pair(divergence["expected"], divergence["got"], 60)
        place = f"line {divergence['line']}, {where(divergence)}"
        return f"{line['id']}  {level}: {place}: expected {expected}, got {got}{shown}"
    for unmet in line["specification"]:
        said, got = cut(str(unmet["expected"]), 60), cut(str(unmet["got"]), 60)
        return f"{line['id']}  specification: line {unmet['line']} says {said}, the oracle: {got}"
    return f"{line['id']}  {cut(line['reason'] or line['outcome'], 120)}"


def headlines(lines: Iterable[Mapping[str, Any]], levels: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield for each line its headline and, below it, the sentence of its rule.

    The sentence states the expected behaviour; of several lines with the same one the first has it.
    """
    told = ""
    for line in lines:
        sentence = line["sentence"] or ""
        shown = [f"    {cut(sentence)}"] if sentence not in ("", told) else []
        yield [headline(line, levels), *shown]
        told = sentence


def _headline(line: Mapping[str, Any], settings: Settings) -> str:
    match line["outcome"]:
        case "diverges" if not line["divergences"]:
            return f"{line['id']}: the oracle {settings.oracle} contradicts the specification"
        case "diverges":
            levels = ", ".join(line["divergences"])
            return f"{line['id']}: {settings.backend} diverges from {settings.oracle} ({levels})"
        case "other_version":
            shown = ranges(line["versions"])
            return f"{line['id']}: {settings.backend} shows torch {shown}, not {settings.oracle}"
        case "conforms":
            return f"{line['id']}: {settings.backend} conforms to {settings.oracle}"
        case outcome:
            return f"{line['id']}: {outcome.replace('_', ' ')}"
