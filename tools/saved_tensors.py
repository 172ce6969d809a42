"""The saved tensors of the chapters' programs: their maker.

`python tools/saved_tensors.py [--anew]` writes `reference/saved/torch-2.15-cpu.json.xz` from the
torch that is installed, which has to be the newest of the history. Programs that are in it as they
are now are run only with `--anew`. Each program runs in a process of its own: some end it, or hang.
Drawings under the specification's rules show the result; a program without one is drawn without.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from conformance.backends import Backend, find
from conformance.execution.recorded import find_recording
from conformance.execution.recordings import NotRecorded
from conformance.execution.saved import (
    FILE,
    is_recorded,
    recorded_saved,
    saved_after_each,
    write_saved,
)
from conformance.isolation.forked import Answer, fork
from conformance.isolation.process import IsolationError
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.suite.chapters import read_spec

ROOT = Path(__file__).parent.parent
VERSION = "2.15"
SAVED = ROOT / "reference/saved" / FILE.format(version=VERSION, device="cpu")


TIMEOUT = 20.0
"""Seconds for a program; one that waits for a thread of its parent would wait for ever."""


def _in_a_child(program: Program, backend: Backend, recorded: Trace) -> list[Any] | None:
    """The saved tensors, or None where a process ends or hangs."""

    def begin() -> Answer:
        return lambda _: {"saved": saved_after_each(program, backend, recorded)}

    process = fork(begin)
    try:
        return process.ask({}, TIMEOUT).get("saved")
    except IsolationError:
        return None
    finally:
        process.close()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="run all programs")
    anew = parser.parse_args(arguments).anew
    backend = find("torch")
    recording = find_recording(f"recorded:torch-{VERSION}")
    found = {}
    for chapter in read_spec(ROOT / "reference/spec"):
        left = []
        for program in chapter.programs:
            rows = None
            if not anew and is_recorded(program, VERSION, "cpu"):
                rows = recorded_saved(program, VERSION, "cpu")
            else:
                with suppress(NotRecorded):
                    rows = _in_a_child(program, backend, recording.trace(program))
                if rows is None:
                    left.append(program.id)
            found[program.id] = (program, rows)
        print(chapter.area, f"left out: {left}" if left else "", flush=True)
    SAVED.parent.mkdir(exist_ok=True)
    write_saved(SAVED, found)


if __name__ == "__main__":
    main(sys.argv[1:])
