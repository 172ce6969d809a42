"""Directories of run files for the tests of the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_runs

from conformance.base.levels import LEVELS

SELECTION: dict[str, Any] = {"levels": list(LEVELS), "areas": [], "rules": []}


def run(folder: Path, number: int, lines: list[dict[str, Any]], **how: Any) -> Path:
    """Write run `number` of a directory; each starts a day after the previous one."""
    fields = {
        "run": f"run{number:03d}",
        "started": f"2026-01-{number + 1:02d}T10:00:00+00:00",
        "selection": SELECTION,
        **how,
    }
    folder.mkdir(parents=True, exist_ok=True)
    return made_runs.run_file(folder / f"{fields['run']}.jsonl", lines, **fields)


def backend(name: str = "impl", version: str = "0.1.0", device: str = "cpu") -> dict[str, Any]:
    """A backend as in a run's header."""
    return {"name": name, "version": version, "device": device}


def flipping(outcomes: str, name: str = "SEED-01.1") -> list[dict[str, Any]]:
    """One program in successive runs: `.` conforms, `x` diverges, `o` not run, `e` error."""
    made = {
        ".": made_runs.line(name, "seeds", rule="SEED-01"),
        "x": made_runs.diverging(name, "seeds", "graph", rule="SEED-01"),
        "o": made_runs.uncompared(name, "seeds", "not_run", "no device", rule="SEED-01"),
        "e": made_runs.uncompared(name, "seeds", "error", "it hung", rule="SEED-01"),
    }
    return [made[outcome] for outcome in outcomes]


def archive(folder: Path) -> Path:
    """Four runs of one configuration over two versions, one of another, and one interrupted."""
    conforming = [made_runs.line(f"TIES-02.{n}", "ties", rule="TIES-02") for n in range(1, 6)]
    worse = [made_runs.diverging("TIES-02.1", "ties", "values", rule="TIES-02"), *conforming[1:]]
    lacking = made_runs.uncompared("TIES-02.2", "ties", "unsupported", "no 'amax'", rule="TIES-02")
    run(folder, 0, conforming[:4])
    run(folder, 1, conforming)
    run(folder, 2, worse, backend=backend(version="0.2.0"))
    run(
        folder,
        3,
        [*worse[:1], lacking, *worse[2:], *made_runs.small()[3:]],
        backend=backend(version="0.2.0"),
    )
    run(folder, 4, made_runs.small(), backend=backend("torch:cuda", "2.13.0+cu130", "cuda"))
    run(folder, 5, conforming[:2], backend=backend(version="0.2.0"), interrupted=True, programs=5)
    return folder


def versions_of_torch(folder: Path, first: int = 0) -> Path:
    """Four runs of torch against its newest version, not in its versions' order."""
    for number, minor in enumerate((15, 0, 10, 9), start=first):
        other = made_runs.other_version("TIES-37.1", "ties", [f"2.{minor}"], rule="TIES-37")
        same = made_runs.line("TIES-37.1", "ties", rule="TIES-37")
        run(
            folder,
            number,
            [made_runs.line("LEAF-01.1", "leaves"), same if minor == 15 else other],
            backend=backend(f"recorded:torch-2.{minor}", f"2.{minor}.1+cpu"),
            oracle=backend("recorded:torch-2.15", "2.15.0"),
        )
    return folder


def regressing(folder: Path) -> Path:
    """Three runs: all conforms; two causes appear; one of them is mended, and a program is new."""
    ids = [f"TIES-02.{n}" for n in range(1, 13)]
    good = [made_runs.line(name, "ties", rule="TIES-02") for name in ids]
    wrong = [made_runs.diverging(name, "ties", "values", rule="TIES-02") for name in ids]
    other = made_runs.diverging("SEED-01.1", "seeds", "graph", rule="SEED-01")
    fine = made_runs.line("SEED-01.1", "seeds", rule="SEED-01")
    url = "https://ci.example/{}/report.html"
    for number, lines in enumerate(([*good, fine], [*wrong, other], [*wrong, fine])):
        made = {"revision": f"c0ffee{number}", "url": url.format(number)}
        run(folder, number, lines, **made)
    return folder
