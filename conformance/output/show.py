"""One program in the terminal: the oracle's trace and the backend's, side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from conformance.base.escapes import printable
from conformance.output.display import cut, field_value, fields, observation
from conformance.output.failure import failure
from conformance.output.terminal import Terminal
from conformance.program.operations import statement_at
from conformance.settings.settings import Settings

CELL = 400
"""Longest text shown for one field in the side-by-side view."""


def show(
    console: Terminal, line: Mapping[str, Any], names: tuple[str, str], settings: Settings
) -> None:
    """Print a program's line: its source with marks, then both traces, statement by statement.

    ``names`` are those of the oracle and the backend, for the columns' heads.
    """
    expected = (line["expected"] or {}).get("steps", [])
    got = (line.get("got", line["expected"]) or {}).get("steps", [])
    console.print(Text(printable(line["id"]), style="bold"))
    if expected or got:
        console.print(_pair(Text(f"oracle {names[0]}"), Text(f"backend {names[1]}"), "underline"))
    marked, source = _divergences_at(line), line["source"].split("\n")
    for number in range(max(len(expected), len(got))):
        left = expected[number] if number < len(expected) else None
        right = got[number] if number < len(got) else None
        console.print(_statement(source, left or right or {}, marked.get(number, ())))
        console.print(_pair(_cell(left, right), _cell(right, left)))
    # The conclusion comes last, where it is still on the screen after a long trace.
    console.print()
    console.print(Text(failure(line, settings)), soft_wrap=True)


def _pair(left: Text, right: Text, style: str = "") -> Table:
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


def _cell(step: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> Text:
    if step is None:
        return Text("(no such step)", style="red")
    text = Text()
    theirs = set(_lines(other)) if other else set()
    for number, item in enumerate(_lines(step)):
        text.append("\n" if number else "")
        agrees = item in theirs
        text.append(("  " if agrees else "! ") + item, style="" if agrees else "bold red")
    return text


def _lines(step: Mapping[str, Any]) -> list[str]:
    return [cut(item, CELL) for item in _items(step)] or ["(nothing changed)"]


def _items(step: Mapping[str, Any]) -> Iterator[str]:
    if "error" in step:
        yield f"raises {field_value({'error': step['error']}).removeprefix('raises ')}"
    for warning in step.get("warnings", ()):
        yield f"warns {warning['category']}: {warning['message']}"
    if "result" in step:
        yield f"= {observation(step['result'])}"
        yield from (f"    {text}" for text in fields(step["result"]))
    for name, seen in step.get("changed", {}).items():
        yield f"{name} = {observation(seen)}"
        yield from (f"    {text}" for text in fields(seen))
    for name in step.get("deleted", ()):
        yield f"del {name}"
