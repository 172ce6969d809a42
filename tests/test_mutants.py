"""Mutation test of the suite: each deliberately wrong `impl` diverges at the right rule."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

# mutant -> (a rule it must break, the level at which it shows first, a rule it must not break)
MUTANTS = {
    "first_index_ties_in_amax": ("TIES-13", "values", "TIES-11"),
    "grad_overwritten": ("ACCUM-02", "values", "ACCUM-01"),
    "detach_copies": ("ALIAS-01", "memory", "TIES-13"),
    "no_version_check": ("ALIAS-02", "values", "ALIAS-01"),
}


def run(backend: str, rules: list[str], file: Path) -> dict[str, list[dict]]:
    """The program lines of a run, by rule."""
    command = [sys.executable, "-m", "conformance.cli", "run", "--backend", backend]
    for rule in rules:
        command += ["--rule", rule]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    done = subprocess.run(
        [*command, "-n", "0", "--run-file", str(file)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=file.parent,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, list[dict]] = {rule: [] for rule in rules}
    for line in file.read_text().splitlines():
        record = json.loads(line)
        if record["type"] == "program":
            found[record["rule"]].append(record)
    return found


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutant_diverges_at_its_rule(mutant: str, tmp_path: Path) -> None:
    broken, level, sound = MUTANTS[mutant]
    found = run(f"miniature.mutants:{mutant}", [broken, sound], tmp_path / "run.jsonl")
    caught = [p for p in found[broken] if p["outcome"] == "diverges"]
    assert caught, f"{mutant} was not caught by {broken}"
    assert any(level in p["divergences"] for p in caught)
    assert [p["outcome"] for p in found[sound]] == ["conforms"] * len(found[sound])
    assert found[sound], f"{sound} has no programs"
