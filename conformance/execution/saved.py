"""The saved tensors of a program's nodes after each statement, and the file of torch's.

Traces do not have them: reading them takes time, and may change how a program goes on. So a program
is run anew for them. The file is for drawings; no verdict depends on it.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from conformance.backends import Backend
from conformance.base.reference import reference_folder
from conformance.execution.execute import looked_at
from conformance.execution.recordings import fingerprint
from conformance.observe.saved import saved_tensors
from conformance.observe.trace import Trace
from conformance.program.program import Program

FILE = "torch-{version}-{device}.json.xz"

# Words of programs in which a saved tensor may pass hooks.
HOOKS = ("saved_tensors_hooks", "register_hooks", "save_on_cpu", "checkpoint")


def saved_after_each(
    program: Program, backend: Backend, recorded: Trace, parts: bool = True
) -> list[Any] | None:
    """The saved tensors after each statement; None where the program shows another trace now.

    With ``parts`` it is run anew up to each statement where one run cannot tell.
    """
    found = in_one_run(program, backend, recorded)
    return by_parts(program, backend, recorded) if found is None and parts else found


def in_one_run(program: Program, backend: Backend, recorded: Trace) -> list[Any] | None:
    """The saved tensors, read after each statement while the program runs.

    None where a saved tensor may pass hooks, which reading it calls, or reading changes the trace.
    """
    if _has_hooks(program):
        return None
    shown, found = looked_at(program, backend, partial(saved_tensors, hooks=False))
    return found if shown.to_json() == recorded.to_json() else None


def by_parts(program: Program, backend: Backend, recorded: Trace) -> list[Any] | None:
    """The saved tensors, for which the program is run anew up to each statement.

    None where it shows another trace now. Whatever its last statements would undo stays as it is,
    so the process should run no other program afterwards.
    """
    look = partial(saved_tensors, hooks=_has_hooks(program))
    found = []
    for count, _ in enumerate(recorded.steps, start=1):
        shown, seen = looked_at(program, backend, look, only_after=count)
        if _graphs(shown) != _graphs(Trace(recorded.steps[:count])):
            return None
        found += seen
    return found


def _has_hooks(program: Program) -> bool:
    return any(word in program.source for word in HOOKS)


def _graphs(trace: Trace) -> dict[str, Any]:
    return {
        name: (seen.get("graph"), seen.get("storage"), seen.get("version"))
        for name, seen in trace.state().items()
        if seen.get("kind") == "tensor"
    }


def write_saved(path: Path, found: Mapping[str, tuple[Program, list[Any] | None]]) -> None:
    """Write the saved tensors of programs, which are given by ID; None stands for none."""
    content = {
        name: [fingerprint(program), rows if rows and any(rows) else None]
        for name, (program, rows) in sorted(found.items())
    }
    text = json.dumps(content, separators=(",", ":"))
    path.write_bytes(lzma.compress(text.encode("ascii"), preset=9))


@cache
def _content(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return content


def recorded_saved(program: Program, version: str, device: str) -> list[Any] | None:
    """The saved tensors of a program by statement, on a version of torch.

    None where there are none, or none are recorded for the program's present code.
    """
    return _entry(program, version, device)[1]


def is_recorded(program: Program, version: str, device: str) -> bool:
    """Whether the program's present code was run, be there saved tensors or not."""
    return _entry(program, version, device)[0] is not None


def _entry(program: Program, version: str, device: str) -> tuple[str | None, list[Any] | None]:
    """The program's fingerprint and its saved tensors, or two times None."""
    folder = reference_folder("saved")
    path = folder / FILE.format(version=version, device=device) if folder else None
    if path is None or not path.exists():
        return None, None
    made_for, rows = _content(path).get(program.id, (None, None))
    return (made_for, rows) if made_for == fingerprint(program) else (None, None)
