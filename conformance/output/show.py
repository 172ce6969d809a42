"""One program in the terminal: the oracle's trace and the backend's, side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from conformance.base.escapes import printable
from conformance.base.levels import NOT_COMPARED
from conformance.output.aligned import Aligned, texts
from conformance.output.display import cut
from conformance.output.failure import failure
from conformance.output.terminal import Terminal
from conformance.program.operations import statement_at
from conformance.settings.settings import Settings

CELL = 400
"""Longest text shown for one field in the side-by-side view."""


def show(
    console: Terminal,
    line: Mapping[str, Any],
    names: tuple[str, str],
    settings: Settings,
    prose: str = "",
) -> None:
    """Print a program's line: its source with marks, then both traces, statement by statement.

    ``names`` are those of the oracle and the backend, for the columns' heads; ``prose`` is that of
    the program's rule.
    """
    expected = (line["expected"] or {}).get("steps", [])
    got = (line.get("got", line["expected"]) or {}).get("steps", [])
    console.print(Text(printable(line["id"]), style="bold"))
    compared = line["outcome"] not in NOT_COMPARED and bool(expected) and bool(got)
    marked, source = _divergences_at(line), line["source"].split("\n")
    if compared:
        console.print(_row(Text(f"oracle {names[0]}"), Text(f"backend {names[1]}"), "underline"))
        sides = Aligned([level for level, v in line["levels"].items() if v != "not_applicable"])
        for number in range(max(len(expected), len(got))):
            left = expected[number] if number < len(expected) else None
            right = got[number] if number < len(got) else None
            console.print(_statement(source, left or right or {}, marked.get(number, ())))
            shown = sides.step(left, right)
            console.print(_row(_cell(shown[0]), _cell(shown[1])))
    else:
        # Nothing was compared: one trace stands alone, and why the other does not is said below.
        whose = f"oracle {names[0]}" if expected else f"backend {names[1]}"
        if alone := expected or got:
            console.print(Text(whose, style="underline"))
        for step in alone:
            console.print(_statement(source, step, ()))
            console.print(_cell([(text, True) for text in texts(step) or ["(nothing changed)"]]))
    # The conclusion comes last, where it is still on the screen after a long trace.
    console.print()
    console.print(Text(failure(line, settings)), soft_wrap=True)
    for level, one in line.get("permitted", {}).items():
        text = f"permitted difference: {level}, line {one['line']}, {one['field']}"
        console.print(Text(printable(text)), soft_wrap=True)
    if prose:
        said = "\n".join(map(printable, prose.split("\n")))
        console.print(Text(f"\n{line['rule']} in the specification:\n\n{said}"))


def _row(left: Text, right: Text, style: str = "") -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_header=False, show_edge=False, expand=True, style=style)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    table.add_row(left, right, style=style)
    return table


def _statement(source: list[str], step: Mapping[str, Any], levels: Collection[str]) -> Text:
    first = step["line"]
    text = Text(f"{first:4}  ")
    text.append("\n      ".join(statement_at(source, first)), style="bold")
    if levels:
        text.append(f"   <-- first divergence: {', '.join(levels)}", style="bold red")
    return text


def _divergences_at(line: Mapping[str, Any]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for level, divergence in line["divergences"].items():
        found.setdefault(divergence["step"], []).append(level)
    return found


def _cell(shown: Sequence[tuple[str, bool]]) -> Text:
    """Lines of text, each with whether the other side agrees."""
    text = Text()
    for number, (item, agrees) in enumerate(shown):
        text.append("\n" if number else "")
        cut_item = cut(item, CELL)
        text.append(("  " if agrees else "! ") + cut_item, style="" if agrees else "bold red")
    return text
