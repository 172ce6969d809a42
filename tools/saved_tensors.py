"""The saved tensors of the chapters' programs: their maker.

`python tools/saved_tensors.py` writes `reference/saved/torch-2.15-cpu.json.xz` from the torch that
is installed, which has to be the newest of the history. Each program runs in a process of its own:
some end it. Drawings under the specification's rules show the result; a program that is not in it
is drawn without.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from conformance.backends import Backend, find
from conformance.execution.recorded import find_recording
from conformance.execution.recordings import NotRecorded
from conformance.execution.saved import FILE, saved_after_each, write_saved
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.suite.chapters import read_spec

ROOT = Path(__file__).parent.parent
VERSION = "2.15"
SAVED = ROOT / "reference/saved" / FILE.format(version=VERSION, device="cpu")


def _in_a_child(program: Program, backend: Backend, recorded: Trace) -> list[Any] | None:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        text = "null"
        try:
            text = json.dumps(saved_after_each(program, backend, recorded))
        finally:
            with os.fdopen(writing, "w") as pipe:
                pipe.write(text)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: list[Any] | None = json.loads(text or "null")
    return found


def main() -> None:
    backend = find("torch")
    recording = find_recording(f"recorded:torch-{VERSION}")
    found = {}
    for chapter in read_spec(ROOT / "reference/spec"):
        left = []
        for program in chapter.programs:
            try:
                rows = _in_a_child(program, backend, recording.trace(program))
            except NotRecorded:
                rows = None
            if rows is None:
                left.append(program.id)
            elif any(rows):
                found[program.id] = (program, rows)
        print(chapter.area, f"left out: {left}" if left else "", flush=True)
    SAVED.parent.mkdir(exist_ok=True)
    write_saved(SAVED, found)


if __name__ == "__main__":
    main()
