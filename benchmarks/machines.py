"""Searches of random programs with 1, 2 and 4 workers over sockets, and with one that is killed.

    python benchmarks/machines.py [--backend impl] [--oracle torch] [--programs 200] [--shares 12]

Prints the figures of docs/scale.md: programs a second, the cost of a share beside its programs, the
bytes that travel, and the price of a lost worker. Exit code 0: every search found the same; 1: one
did not.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conformance.backends import find
from conformance.base.release import versions
from conformance.fuzz.crew import Crew
from conformance.fuzz.machines import Equipment, Machine
from conformance.fuzz.share import Report, Share
from conformance.fuzz.workers import SearchFailed, Worker, Zygote
from conformance.fuzz.zygote import settings_to
from conformance.settings.settings import Settings

THEMES = ("operators", "pointwise", "views", "chains")
EMPTY = Share("views", 0, 0, 0)
ROUNDS = 20


@contextmanager
def servers(count: int) -> Iterator[list[tuple[str, subprocess.Popen[bytes]]]]:
    """Interpreters on this machine that run source sent to them, with their specifications."""
    started = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            with socket.socket() as free:
                free.bind(("localhost", 0))
                address = f"localhost:{free.getsockname()[1]}"
            place = Path(folder) / str(number)
            place.mkdir()
            command = [sys.executable, "-u", "-m", "execnet.script.socketserver", address]
            process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE)
            assert process.stdout is not None
            process.stdout.readline()
            started.append((f"socket={address}", process))
        try:
            yield started
        finally:
            for _, process in started:
                process.kill()
                process.wait()


def searched(
    workers: Sequence[Worker], shares: Sequence[Share], at_first: Callable[[], None] = lambda: None
) -> tuple[float, dict[Share, Report], list[str]]:
    """Seconds from the first share to the last, the reports, and the notices of lost workers."""
    crew, told = Crew(workers), list[str]()
    crew.start()
    reports: dict[Share, Report] = {}
    begun = time.monotonic()

    def ended(share: Share, report: Report | SearchFailed) -> None:
        assert isinstance(report, Report), report
        reports[share] = report
        if len(reports) == 1:
            at_first()

    crew.each(iter(shares), lambda mine, share: mine.share(share), ended, told.append)
    seconds = time.monotonic() - begun
    crew.close()
    return seconds, reports, told


def outcome(reports: dict[Share, Report], shares: Sequence[Share]) -> list[Any]:
    """The reports in order, without times."""
    return [{**reports[share].to_json(), "seconds": 0} for share in shares]


def overhead(mine: Worker) -> float:
    """Milliseconds that a share without programs takes."""
    mine.start()
    begun = time.monotonic()
    for _ in range(ROUNDS):
        mine.share(EMPTY)
    mine.close()
    return (time.monotonic() - begun) / ROUNDS * 1000


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="impl")
    parser.add_argument("--oracle", default="torch")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--shares", type=int, default=12)
    options = parser.parse_args()
    asked = Settings(backend=options.backend, oracle=options.oracle)
    made = {**versions(), asked.backend: find(asked.backend).version}
    equipment = Equipment(settings_to(asked, (), {}), made)
    each, total = options.programs, options.programs * options.shares
    shares = [
        Share(THEMES[k % len(THEMES)], k // len(THEMES), each, total) for k in range(options.shares)
    ]
    print(f"a share without programs: {overhead(Zygote(asked)):.1f} ms in a process here")
    with servers(1) as there:
        print(f"  {overhead(Machine(there[0][0], equipment)):.1f} ms over a socket")
    first: list[Any] = []
    same, base = True, 0.0
    for count, kill in ((1, False), (2, False), (4, False), (4, True)):
        with servers(count) as there:
            workers = [Machine(one, equipment) for one, _ in there]
            end = there[0][1].kill if kill else lambda: None
            seconds, reports, told = searched(workers, shares, end)
        found = outcome(reports, shares)
        first, base = first or found, base or seconds
        same = same and found == first
        words = "one killed after the first share" if kill else "undisturbed"
        rate = f"{seconds:.1f} s, {total / seconds:.0f} programs a second"
        drawn = sum(report["programs"] for report in found)
        causes = sum(len(report["found"]) for report in found)
        print(f"{count} workers, {words}: {rate}, {base / seconds:.2f} times one")
        equal = "the same" if found == first else "OTHERS"
        print(f"  {drawn} programs, {causes} causes in shares: {equal}", flush=True)
        for text in told:
            print(f"  {text}")
    sizes = [len(json.dumps(report)) / 1000 for report in first]
    print(f"a share's report: {sum(sizes) / len(sizes):.0f} kB, at most {max(sizes):.0f} kB")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
