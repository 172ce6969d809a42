"""The verdict on an entry of the sweep, as a line of the run file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from conformance.base.levels import LEVELS


def settle(line: dict[str, Any], tally: Mapping[str, Any], levels: Collection[str]) -> None:
    """Fill in the results of an entry: its cells, levels, divergences and outcome."""
    cells: Mapping[str, Mapping[str, Any]] = tally["cells"]
    line["sweep"] = cells
    compared = sum(cell["samples"] for cell in cells.values())
    lacking = sum(cell["lacking"] for cell in cells.values())
    if compared:
        diverging = {level for cell in cells.values() for level in cell["diverging"]}
        line["levels"] = {
            level: "diverges" if level in diverging else "conforms" for level in LEVELS
        }
    first = tally["first"]
    line["divergences"] = {level: _divergence(first[level]) for level in LEVELS if level in first}
    if any(line["levels"].get(level) == "diverges" for level in levels):
        line["outcome"] = "diverges"
    elif lacking or not compared:
        line["outcome"] = "unsupported"
        line["reason"] = (
            f"the backend lacks {tally['lacks']}, which {lacking} samples need"
            if lacking
            else "the database has no sample of this entry that a program can hold"
        )
        line["levels"] = {}
    else:
        line["outcome"] = "conforms"


def _divergence(first: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "step": 0,
        "line": 1,
        "name": None,
        "field": f"{first['column']}: {first['field']}",
        "expected": first["expected"],
        "got": first["got"],
        "sample": first["sample"],
    }


def add_first_sample(line: dict[str, Any], shown: Mapping[str, Any]) -> None:
    """Add the source and the traces of the first diverging sample to an entry's line."""
    for name in ("source", "expected", "got", "saved"):
        if name in shown:
            line[name] = shown[name]
    for level, divergence in shown["divergences"].items():
        if level in line["divergences"]:
            sample = line["divergences"][level]["sample"]
            line["divergences"][level] = {**divergence, "sample": sample}
