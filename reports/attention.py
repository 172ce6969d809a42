"""The programs that a reader should look at, each with the first place at which it differs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from conformance.categories import CATEGORIES, category
from conformance.runs import LEVELS
from reports.text import brief_pair, visible

LONG_LIST = 12
"""Elements of a value that a line of text can show; of longer ones it shows what differs first."""
NOTHING = {"error": "no error", "warnings": "no warning"}
"""What a side is called that has nothing where the other raised or warned."""


@dataclass(frozen=True)
class Attention:
    """A program that does not simply conform, as the list of failures has it."""

    id: str
    category: str
    sentence: str
    where: str
    expected: str
    got: str
    reason: str


def attention(lines: Iterable[dict[str, Any]]) -> list[Attention]:
    """Programs that need a reader: diverging first, then what was not compared, then known."""
    found = [attended(line) for line in lines if category(line) != "conforms"]
    return sorted(found, key=lambda item: CATEGORIES.index(item.category))


def attended(line: dict[str, Any]) -> Attention:
    """One program of the list of failures: where it differs first, in one line of text each."""
    where = expected = got = ""
    for level in LEVELS:
        if level in line["divergences"]:
            first = line["divergences"][level]
            where = place(level, first)
            expected, got = _sides(first)
            break
    else:
        if line["specification"]:
            failed = line["specification"][0]
            where = f"specification, line {failed['line']}"
            expected, got = brief_pair(failed["expected"], failed["got"])
    reason = (line["known"] or {}).get("reason") or line["reason"] or ""
    return Attention(
        id=line["id"],
        category=category(line),
        sentence=visible(line["sentence"] or ""),
        where=visible(where),
        expected=expected,
        got=got,
        reason=visible(reason),
    )


def place(level: str, divergence: dict[str, Any]) -> str:
    """Where a divergence is: `values, line 4, x.grad.values`."""
    name, of = divergence["name"], divergence["field"]
    what = of if not name else f"{name}{of}" if of.startswith("[") else f"{name}.{of}"
    if _is_long(divergence):
        what += f"[{divergence['index']}]"
    line = f"line {divergence['line']}" if divergence["line"] else ""
    return ", ".join(filter(None, (level, line, what)))


def _sides(divergence: dict[str, Any]) -> tuple[str, str]:
    sides = [divergence["expected"], divergence["got"]]
    if _is_long(divergence):
        sides = [side[divergence["index"]] for side in sides]
    nothing = NOTHING.get(divergence["field"])
    if divergence["field"] == "warnings":
        sides = ["; ".join(f"{category}: {text}" for category, text in side) for side in sides]
    expected, got = (side if side or nothing is None else nothing for side in sides)
    return brief_pair(expected, got)


def _is_long(divergence: dict[str, Any]) -> bool:
    """Whether the sides are long lists of which only the first differing element is shown."""
    index, sides = divergence.get("index"), (divergence["expected"], divergence["got"])
    return index is not None and all(
        isinstance(side, list) and len(side) > LONG_LIST and index < len(side) for side in sides
    )
