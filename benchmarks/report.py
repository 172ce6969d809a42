"""Benchmark of the report of a run: size, and speed in headless Chromium.

    python benchmarks/report.py [RUNFILE] [--programs 10000] [--repeat 5] [--out FILE.json]

Without a run file the programs are made up. With one, its programs are repeated under new IDs up to
the requested number, so that sizes are those of real traces. Times are medians in milliseconds:
`first paint` and `interactive` from the navigation's start, `search ready` when the sources can be
searched too, `open program` from the navigation's start to a program opened by its link; each
filter from the event to the next painted frame, and the part of it that is script.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import made_runs  # noqa: E402
from chromium import chromium, missing  # noqa: E402

from conformance.run_files.reading import read_run  # noqa: E402
from conformance.run_files.run import Run  # noqa: E402
from reports.run import write  # noqa: E402

MARKS = "return Object.fromEntries(performance.getEntries().map((e) => [e.name, e.startTime]))"
FILTERS = (
    ("q", "o"),
    ("q", "tensor float64"),
    ("q", "no such thing anywhere"),
    ("q", ""),
    ("area", "operators"),
    ("area", ""),
    ("verdict", "diverges"),
    ("verdict", "conforms"),
    ("level", "values"),
    ("verdict", ""),
    ("level", ""),
)
FILTER = """
const [name, value, done] = arguments;
const field = document.getElementById(`filter-${name}`);
const began = performance.now();
field.value = value;
field.dispatchEvent(new Event("input", { bubbles: true }));
const script = performance.now() - began;
requestAnimationFrame(() => setTimeout(() => done([script, performance.now() - began])));
"""


def repeated(run: Run, count: int) -> Run:
    """The run with its programs repeated under new IDs, `count` in all."""
    lines = run.programs
    many = [
        {**line, "id": f"{line['id']}~{turn}" if turn else line["id"]}
        for turn in range(-(-count // len(lines)))
        for line in lines
    ][:count]
    return Run({**run.header, "programs": count}, many, run.footer)


def milliseconds(values: list[float]) -> float:
    """The median, rounded to a tenth."""
    return round(statistics.median(values), 1)


def measured(page: Path, last: str, repeat: int) -> dict[str, Any]:
    """The times of the report at `page`; `last` is the fragment of its last program."""
    loads: list[dict[str, float]] = []
    opened: list[float] = []
    filters: dict[str, list[list[float]]] = {f"{name}={value}": [] for name, value in FILTERS}
    with chromium() as browser:
        browser.set_script_timeout(60)
        for _ in range(repeat):
            loads.append(marks(browser, page.as_uri(), "search-ready"))
            for name, value in FILTERS:
                took = browser.execute_async_script(FILTER, name, value)
                filters[f"{name}={value}"].append(took)
            shown = marks(browser, f"{page.as_uri()}#{last}", "program-shown")
            opened.append(shown["program-shown"])
    return {
        "first paint": milliseconds([one["first-paint"] for one in loads]),
        "interactive": milliseconds([one["report-ready"] for one in loads]),
        "search ready": milliseconds([one["search-ready"] for one in loads]),
        "open program": milliseconds(opened),
        "filters": {
            name: {
                "script": milliseconds([script for script, _ in took]),
                "painted": milliseconds([painted for _, painted in took]),
            }
            for name, took in filters.items()
        },
    }


def marks(browser: Any, url: str, until: str) -> dict[str, float]:
    """The page's performance entries, read after the one named `until` exists."""
    browser.get("about:blank")
    browser.get(url)
    for _ in range(1000):
        found = browser.execute_script(MARKS)
        if until in found and "first-paint" in found:
            return found
        time.sleep(0.02)
    raise TimeoutError(f"{url}: {until} did not come within 20 s")


def main() -> int:
    """Run the benchmark, print a table, and write the figures to a file if requested."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run_file", nargs="?", type=Path, help="repeat the programs of this run")
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    options = parser.parse_args()
    if why := missing():
        parser.error(f"no browser to measure in: {why}")
    with tempfile.TemporaryDirectory() as folder:
        if options.run_file:
            run = repeated(read_run(options.run_file), options.programs)
        else:
            made = made_runs.run_file(Path(folder, "r.jsonl"), made_runs.many(options.programs))
            run = read_run(made)
        began = time.perf_counter()
        page = write(run, Path(folder, "report.html"))
        figures: dict[str, Any] = {
            "programs": len(run.programs),
            "page MB": round(page.stat().st_size / 1e6, 2),
            "write s": round(time.perf_counter() - began, 2),
            **measured(page, run.programs[-1]["id"], options.repeat),
        }
    for name, value in figures.items():
        if name != "filters":
            print(f"{name:14} {value:>10,}")
    for name, took in figures["filters"].items():
        print(f"filter {name:26} {took['script']:7} ms script {took['painted']:7} ms painted")
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
