"""Run files of a few bare programs."""

from __future__ import annotations

from pathlib import Path

from conformance.base.levels import LEVELS
from conformance.run_files.totals import exit_code, footer
from conformance.run_files.writing import RunWriter


def header(programs: int = 2) -> dict:
    return {
        "type": "header",
        "schema": 3,
        "run": "0123456789ab",
        "started": "2026-01-01T00:00:00+00:00",
        "suite": "0.1.0",
        "backend": {"name": "impl", "version": "0.1.0", "device": "cpu"},
        "oracle": {"name": "torch", "version": "2.13.0", "device": "cpu"},
        "host": {"python": "3.11.2", "platform": "Linux"},
        "seed": 0,
        "programs": programs,
        "selection": {"areas": [], "levels": list(LEVELS)},
    }


def program(identifier: str, outcome: str = "conforms", **changed) -> dict:
    verdict = "diverges" if outcome == "diverges" else "conforms"
    step = {"statement": 0, "line": 2, "changed": {"x": {"kind": "float", "value": 0.1}}}
    divergence = {"step": 0, "line": 2, "name": "x", "field": "value", "expected": 0.1, "got": 0.2}
    return {
        "type": "program",
        "id": identifier,
        "area": "seeds",
        "rule": "SEED-01",
        "operator": None,
        "sentence": "A sentence",
        "dtype": None,
        "file": "03-seeds.md",
        "line": 7,
        "source": "import torch\nx = 0.1\n",
        "outcome": outcome,
        "levels": dict.fromkeys(LEVELS, verdict),
        "divergences": {"values": divergence} if outcome == "diverges" else {},
        "specification": [],
        "ulp": {"float32": 0.5},
        "reason": None,
        "known": None,
        "expected": {"steps": [step]},
        "seconds": {"oracle": 0.001, "backend": 0.002},
        **changed,
    }


def written(path: Path, *lines: dict, order=("A.1", "A.2", "B.1")) -> Path:
    writer = RunWriter(path, header(len(lines)), order)
    for line in lines:
        writer.write(line)
    code = exit_code(lines)
    writer.close(footer(lines, "2026-01-01T00:00:09+00:00", code))
    return path
