"""Benchmark of the dashboard: size and speed for a given number of runs and programs.

    python benchmarks/dashboard.py [RUNFILE] [--runs 1000] [--programs 10000] [-n N] [--keep DIR]

Runs are variations of a real one (or of a made-up one, without a run file): four configurations
with twenty-five versions each; in every run a few programs start or stop diverging, and three are
flaky. The files are gzipped. The figures are the size of the archive, the time of a build with an
empty store and of one with a single new run, the size of the site, and the medians in milliseconds
until each page is usable in headless Chromium. With `--storage` the histories of 100 runs are also
stored in SQLite and Parquet, for comparison (needs duckdb).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

import made_runs  # noqa: E402
from chromium import chromium, missing  # noqa: E402
from report import marks, milliseconds, repeated  # noqa: E402

from conformance.base.levels import LEVELS  # noqa: E402
from conformance.run_files.reading import read_run  # noqa: E402
from conformance.run_files.seal import sealed  # noqa: E402
from conformance.run_files.totals import exit_code, footer  # noqa: E402
from reports.dashboard.archive import read_archive  # noqa: E402
from reports.dashboard.site import build  # noqa: E402
from reports.dashboard.store import Store  # noqa: E402

BLOCK = 100
"""Programs that are compressed together: only blocks with a change are compressed again."""

CONFIGURATIONS = (("impl", "cpu"), ("torch:cuda", "cuda"), ("port_a", "cpu"), ("port_b", "gpu"))
VERSIONS = 25
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def base(run_file: Path | None, programs: int) -> list[dict[str, Any]]:
    """The given number of program lines: a run's, repeated, or made-up ones."""
    if run_file is None:
        return made_runs.many(programs)
    return repeated(read_run(run_file), programs).programs


class Variation:
    """One configuration over time: a run's lines, with small changes from run to run."""

    def __init__(self, lines: list[dict[str, Any]], seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines = list(lines)
        self.flaky = self.draw.sample(range(len(lines)), 3)
        self.blocks = [self._block(at) for at in range(0, len(lines), BLOCK)]

    def step(self) -> None:
        """Change up to five programs permanently, and the flaky ones at random."""
        moved = self.draw.sample(range(len(self.lines)), self.draw.randrange(6))
        moved += [place for place in self.flaky if self.draw.random() < 0.2]
        for place in moved:
            self.lines[place] = self._turned(self.lines[place])
        for block in {place // BLOCK for place in moved}:
            self.blocks[block] = self._block(block * BLOCK)

    def _turned(self, line: dict[str, Any]) -> dict[str, Any]:
        conforms = line["outcome"] == "conforms"
        level = self.draw.choice(LEVELS)
        at = {"step": 2, "line": 4, "name": "x", "field": "grad.values"}
        got = [round(self.draw.uniform(-3, 3), 4), 1.0]
        return {
            **line,
            "outcome": "diverges" if conforms else "conforms",
            "levels": {
                **dict.fromkeys(LEVELS, "conforms"),
                **({level: "diverges"} if conforms else {}),
            },
            "divergences": {level: {**at, "expected": [2.0, 1.0], "got": got}} if conforms else {},
            "specification": [],
            "known": None,
            "reason": None,
        }

    def _block(self, begin: int) -> Member:
        return member(self.lines[begin : begin + BLOCK])


class Member(NamedTuple):
    """Lines of a run file, and their form as a member of a gzipped file."""

    plain: bytes
    packed: bytes


def member(lines: Iterable[dict[str, Any]]) -> Member:
    """A member with these lines."""
    plain = b"".join(map(sealed, lines))
    return Member(plain, gzip.compress(plain, compresslevel=6, mtime=0))


def archive(folder: Path, lines: list[dict[str, Any]], runs: int) -> Iterator[Path]:
    """Write runs that vary `lines` into a folder, and yield the path of each."""
    made = [Variation(lines, seed) for seed in range(len(CONFIGURATIONS))]
    each = max(1, runs // len(CONFIGURATIONS) // VERSIONS)
    for number in range(runs):
        turn, at = divmod(number, len(CONFIGURATIONS))
        variation, (name, device) = made[at], CONFIGURATIONS[at]
        variation.step()
        started = BEGAN + timedelta(hours=6 * number)
        head = made_runs.header(
            run=f"run{number:05d}",
            started=started.isoformat(),
            backend={"name": name, "version": f"0.{turn // each}.0", "device": device},
            programs=len(lines),
        )
        code = exit_code(variation.lines)
        foot = footer(variation.lines, (started + timedelta(minutes=5)).isoformat(), code)
        path = folder / f"{head['run']}.jsonl.gz"
        parts = [member([head]), *variation.blocks]
        foot["sha256"] = hashlib.sha256(b"".join(part.plain for part in parts)).hexdigest()
        path.write_bytes(b"".join(part.packed for part in [*parts, member([foot])]))
        yield path


def size(folder: Path) -> float:
    """The total size of the files under a folder, in MB."""
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 2)


def timed(name: str, folder: Path, site: Path, store: Path, processes: int) -> dict[str, float]:
    """Wall-clock seconds of a build, and CPU seconds of all its processes."""
    began, work = time.perf_counter(), sum(os.times()[:4])
    build(folder, site, store, processes)
    return {
        f"{name}, s": round(time.perf_counter() - began, 2),
        f"{name}, s of work": round(sum(os.times()[:4]) - work, 2),
    }


def measured(site: Path, repeat: int) -> dict[str, float]:
    """Milliseconds from the navigation's start until each kind of page is usable."""
    pages = {
        "overview": ("index.html", "first-contentful-paint"),
        "programs of the newest run": ("programs.html", "site-ready"),
        "one program": (f"programs.html#{program(site)}", "site-ready"),
        "newest runs compared": ("compare.html", "site-ready"),
    }
    found: dict[str, float] = {}
    with chromium() as browser:
        for name, (page, until) in pages.items():
            url = (site / "index.html").as_uri().removesuffix("index.html") + page
            found[name] = milliseconds([marks(browser, url, until)[until] for _ in range(repeat)])
        url = (site / "compare.html").as_uri()
        marks(browser, url, "site-ready")
        found["search in a comparison, a keystroke"] = typed(browser, repeat)
    return found


def typed(browser: Any, repeat: int) -> float:
    """Milliseconds from a keystroke in the search until the list is painted."""
    script = """
        const done = arguments[1], field = document.getElementById("filter-q");
        const began = performance.now();
        field.value = arguments[0];
        field.dispatchEvent(new Event("input", { bubbles: true }));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
    """
    took = [browser.execute_async_script(script, "op float"[: n % 8 + 1]) for n in range(repeat)]
    return round(statistics.median(took), 1)


def program(site: Path) -> str:
    """The fragment of a program that the overview links to."""
    text = (site / "index.html").read_text("utf-8")
    return text.split("programs.html#", 1)[1].split('"', 1)[0]


def stores(folder: Path, store: Path, runs: int = 100) -> dict[str, Any]:
    """The last runs' histories in SQLite and Parquet: size and time; a row per run and program."""
    import csv
    import sqlite3

    import duckdb

    found: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    kinds: dict[Any, int] = {}
    rows = [
        (at, numbers.setdefault(name, len(numbers)), kinds.setdefault(one, len(kinds)))
        for at, run in enumerate(read_archive(folder, Store(store)).runs[-runs:])
        for name, _, one in run.programs()
    ]
    found["rows in other stores"] = len(rows)
    with tempfile.TemporaryDirectory() as scratch:
        began = time.perf_counter()
        base = sqlite3.connect(Path(scratch, "runs.sqlite"))
        base.execute(
            "CREATE TABLE standing (run INTEGER, program INTEGER, kind INTEGER,"
            " PRIMARY KEY (run, program)) WITHOUT ROWID"
        )
        base.executemany("INSERT INTO standing VALUES (?, ?, ?)", rows)
        base.execute("CREATE INDEX by_program ON standing (program, run, kind)")
        base.commit()
        found["SQLite, s"] = round(time.perf_counter() - began, 1)
        found["SQLite, MB"] = size(Path(scratch))
        table = Path(scratch, "rows.csv")
        with open(table, "w", newline="") as file:
            csv.writer(file).writerows([("run", "program", "kind"), *rows])
        began = time.perf_counter()
        path = Path(scratch, "runs.parquet")
        query = f"SELECT * FROM read_csv('{table}') ORDER BY program, run"
        duckdb.connect().execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
        found["Parquet, s"] = round(time.perf_counter() - began, 1)
        found["Parquet, MB"] = round(path.stat().st_size / 1e6, 2)
    return found


def main() -> int:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run_file", nargs="?", type=Path, help="vary this run")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("-n", dest="processes", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="make the archive, the store and the site here")
    parser.add_argument("--storage", action="store_true", help="other ways to store it, too")
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    options = parser.parse_args()
    if why := missing():
        parser.error(f"no browser to measure in: {why}")
    with ExitStack() as stack:
        place = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder, site, store = (place / name for name in ("runs", "site", "store"))
        folder.mkdir(parents=True, exist_ok=True)
        *_, last = archive(folder, base(options.run_file, options.programs), options.runs)
        figures: dict[str, Any] = {"runs": options.runs, "programs": options.programs}
        figures["archive, MB"] = size(folder)
        figures["largest run file unpacked, MB"] = round(
            len(gzip.decompress(last.read_bytes())) / 1e6, 1
        )
        aside = last.rename(place / last.name)
        figures |= timed("first build", folder, site, store, options.processes)
        aside.rename(last)
        figures |= timed("one new run", folder, site, store, options.processes)
        figures |= timed("nothing new", folder, site, store, options.processes)
        figures["store, MB"] = size(store)
        figures["site, MB"] = size(site)
        figures["data files, MB"] = size(site / "data")
        figures |= measured(site, options.repeat)
        if options.storage:
            figures |= stores(folder, store)
    for name, value in figures.items():
        print(f"{name:40} {value:>12,}")
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
