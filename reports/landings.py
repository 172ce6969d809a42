"""Landings: where the links of a report's first screen lead to without JavaScript.

A link such as `#?area=ties&verdict=diverges` asks the page's script for a list. Without scripts
the browser looks for an element of that name, so the first row of the static list that the link is
about has it, and a note has the names of links to programs that the list leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from conformance.run_files.categories import category
from conformance.run_files.causes import Cause
from reports.page import fragment_value
from reports.summary import AreaRow
from reports.versions import shown_versions


def landings(
    lines: Sequence[Mapping[str, Any]],
    listed: Iterable[str],
    causes: Iterable[Cause],
    rows: Mapping[str, AreaRow],
) -> dict[str, list[str]]:
    """The names of rows of the static list, by the IDs of their programs in order; those of the
    note are under the empty ID.

    ``listed`` are the IDs in the list, ``rows`` those of the matrix by area, the total under "".
    """
    by_id = {line["id"]: line for line in lines}
    of_cause = {line["id"]: cause.key for cause in causes for line in cause.lines}
    taken: dict[str, str] = {}
    for identifier in listed:
        for name in _names(by_id[identifier], of_cause.get(identifier)):
            taken.setdefault(name, identifier)
    for area, row in rows.items():
        for name in _linked(area, row):
            taken.setdefault(name, "")
    found: dict[str, list[str]] = {}
    for name, identifier in taken.items():
        found.setdefault(identifier, []).append(name)
    return found


def _names(line: Mapping[str, Any], cause: str | None) -> Iterator[str]:
    """The links that lead to a program's line in the list, among others."""
    kind = category(line)
    verdicts = [f"verdict={kind}"]
    verdicts += ["verdict=specification"] if line["specification"] else []
    for level, verdict in line["levels"].items():
        shown = "known" if verdict == "diverges" and kind == "known" else verdict
        verdicts.append(f"level={level}&verdict={shown}")
    area = f"area={fragment_value(line['area'])}"
    yield f"?{area}"
    for verdict in verdicts:
        yield f"?{verdict}"
        yield f"?{area}&{verdict}"
    if operator := line["operator"]:
        named = f"operator={fragment_value(operator)}"
        yield f"?{named}&verdict={kind}"
        if dtype := line["dtype"]:
            yield f"?{named}&dtype={fragment_value(dtype)}&verdict={kind}"
    if versions := shown_versions(line):
        yield f"?versions={fragment_value(versions)}"
    if cause is not None:
        yield f"?cause={fragment_value(cause)}"


def _linked(name: str, row: AreaRow) -> Iterator[str]:
    """The links of a row of the matrix."""
    area = f"area={fragment_value(name)}&" if name else ""
    yield f"?{area}".rstrip("&")
    for kind, number in row.categories.items():
        if number:
            yield f"?{area}verdict={kind}"
    for level, tally in row.levels.items():
        for kind, number in tally.items():
            if number:
                yield f"?{area}level={level}&verdict={kind}"
