"""Run files of a few bare programs."""

from __future__ import annotations

from pathlib import Path

import made_runs

from conformance.base.levels import LEVELS
from conformance.run_files.totals import exit_code, footer
from conformance.run_files.writing import RunWriter


def header(programs: int = 2) -> dict:
    return made_runs.header(run="0123456789ab", programs=programs)


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
