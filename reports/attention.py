"""Selection of the programs to list first: all that do not conform, the most urgent first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.base.levels import LEVELS
from conformance.run_files.categories import CATEGORIES, category
from conformance.run_files.shown import first_divergence
from reports.text import brief_pair, visible
from reports.versions import shown_versions

LONG_LIST = 12
"""Longest value that a line of text shows in full; of longer ones the first difference is shown."""
NOTHING = {"error": "no error", "warnings": "no warning"}
"""Text for a side without an error or a warning, where the other side raised or warned."""


@dataclass(frozen=True)
class Attention:
    """An entry of the list of failures: a program with a category other than `conforms`."""

    id: str
    category: str
    sentence: str
    where: str
    expected: str
    got: str
    reason: str


def attention(lines: Iterable[dict[str, Any]], levels: Sequence[str] = LEVELS) -> list[Attention]:
    """Entries for the list of failures, in the order of the categories."""
    found = [attended(line, levels) for line in lines if category(line) != "conforms"]
    return sorted(found, key=lambda item: CATEGORIES.index(item.category))


def attended(line: dict[str, Any], levels: Sequence[str] = LEVELS) -> Attention:
    """One entry of the list of failures, each side in one line of text: the divergence of the first
    statement that diverges at one of the levels, or at any."""
    where = expected = got = ""
    found = first_divergence(line, levels)
    if found is not None:
        where = place(*found)
        expected, got = sides(found[1])
    elif line["specification"]:
        failed = line["specification"][0]
        where = f"specification, line {failed['line']}"
        expected, got = brief_pair(failed["expected"], failed["got"])
    reason = (line["known"] or {}).get("reason") or line["reason"] or ""
    if versions := shown_versions(line):
        reason = f"as torch {versions}"
    return Attention(
        id=line["id"],
        category=category(line),
        sentence=visible(line["sentence"] or ""),
        where=visible(where),
        expected=expected,
        got=got,
        reason=visible(reason),
    )


def place(level: str, divergence: Mapping[str, Any]) -> str:
    """The location of a divergence: `values, line 4, x.grad.values`."""
    name, of = divergence["name"], divergence["field"]
    what = of if not name else f"{name}{of}" if of.startswith("[") else f"{name}.{of}"
    if _is_long(divergence):
        what += f"[{divergence['index']}]"
    line = f"line {divergence['line']}" if divergence["line"] else ""
    return ", ".join(filter(None, (level, line, what)))


def sides(divergence: Mapping[str, Any], limit: int = 80) -> tuple[str, str]:
    """The expected and the other value of a divergence, each in a line of `limit` characters."""
    pair = [divergence["expected"], divergence["got"]]
    if _is_long(divergence):
        pair = [side[divergence["index"]] for side in pair]
    nothing = NOTHING.get(divergence["field"])
    if divergence["field"] == "warnings":
        pair = ["; ".join(f"{category}: {text}" for category, text in side) for side in pair]
    expected, got = (side if side or nothing is None else nothing for side in pair)
    return brief_pair(expected, got, limit)


def _is_long(divergence: Mapping[str, Any]) -> bool:
    """Whether both sides are long lists, of which only the first differing element is shown."""
    index, sides = divergence.get("index"), (divergence["expected"], divergence["got"])
    return index is not None and all(
        isinstance(side, list) and len(side) > LONG_LIST and index < len(side) for side in sides
    )
