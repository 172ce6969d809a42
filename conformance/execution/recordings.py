"""Recordings: an oracle's traces in a file, for comparisons without torch.

A recording is JSON Lines, compressed if its name ends in `.xz`: a header, then one line per
program, sorted by ID, so that two recordings differ where their oracles do. Each trace carries the
fingerprint of its program's text: a program that was changed since counts as not recorded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from conformance.base.forms import Count
from conformance.execution.trace_file import RecordingError, TraceFile
from conformance.observe.trace import Trace, TraceError
from conformance.program.expectations import OPEN
from conformance.program.program import Program

PREFIX = "recorded:"
ENDINGS = (".jsonl.xz", ".jsonl")


class NotRecorded(Exception):
    """The recording has no trace of this program, or one of another text of it."""


class DiedThen(NotRecorded):
    """The recorded version has no trace of this program because its process died of it."""


def is_recorded(name: str) -> bool:
    """Whether an oracle's name is that of a recording."""
    return name.startswith(PREFIX)


def fingerprint(program: Program) -> str:
    """The first half of the SHA-256 of a program's code, in hexadecimal.

    Its comments do not count, but those that call values unspecified: a trace holds no numbers of
    these.
    """
    text = program.code
    if any(word in program.source for word in OPEN):
        text += (
            f"# {[statement.index for statement in program.statements if statement.unspecified]}"
        )
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def located(program: Program, found: Trace) -> Trace:
    """The trace with the lines that the program's statements have now: comments move them."""
    for statement, step in zip(program.statements, found.steps, strict=False):
        step.line = statement.line
    return found


class Oracle(TypedDict):
    """The oracle of a recording."""

    name: str
    version: str | None
    device: str | None


class Header(TypedDict):
    """The first line of a recording."""

    type: str
    schema: int
    oracle: Oracle
    seed: int
    default_dtype: Literal["float32", "float64"]
    programs: Count


class Recording(TraceFile):
    """The traces of one oracle in a file."""

    kind, schema = "recording", 2
    form = Header
    units, refused = "traces", "not a recorded trace"

    @property
    def oracle(self) -> dict[str, Any]:
        """The oracle's name, version and device."""
        return self.header["oracle"]

    def check(self, seed: int, default_dtype: str) -> None:
        """Raise RecordingError unless the traces were made with this seed and default dtype."""
        asked = {"seed": seed, "default_dtype": default_dtype}
        for name, value in asked.items():
            if self.header[name] != value:
                option = f"--{name.replace('_', '-')}"
                raise RecordingError(
                    f"{self.path}: the recording was made with {option} {self.header[name]}, "
                    f"not {value}."
                )

    def trace(self, program: Program) -> Trace:
        """The oracle's trace of a program; raises NotRecorded, RecordingError."""
        if program.id not in self._lines:
            raise NotRecorded(f"{self.path.name} has no trace of this program")
        source, found = self.entry(program.id)
        if source != fingerprint(program):
            raise NotRecorded(f"{self.path.name} has a trace of another text of this program")
        return located(program, found)

    def entry(self, identifier: str) -> tuple[str, Trace]:
        """The fingerprint and the trace of a recorded program; raises RecordingError, KeyError."""
        number, line = self._lines[identifier]
        try:
            data = json.loads(line)
            return str(data["source"]), Trace.from_json(data["trace"])
        except (ValueError, KeyError, TypeError, RecursionError, TraceError) as error:
            raise RecordingError(f"{self.path}:{number}: no trace: {error}.") from None


def record(
    path: Path,
    header: Mapping[str, Any],
    programs: Iterable[Program],
    trace: Callable[[Program], Trace],
) -> dict[str, str]:
    """Write a recording of `programs`; return the errors of those left out, by ID.

    `header` has the oracle, the seed and the default dtype. The same traces give the same bytes:
    values that a program calls unspecified (such as uninitialised memory) are recorded as zeros.
    The file is replaced when the recording is complete. Raises OSError.
    """
    lines, failed = [], {}
    for program in sorted(programs, key=lambda program: program.id):
        try:
            found = settled(program, trace(program)).to_json()
        except Exception as error:
            failed[program.id] = f"{type(error).__name__}: {error}"
            continue
        lines.append({"id": program.id, "source": fingerprint(program), "trace": found})
    Recording.write(path, header, lines)
    return failed


def settled(program: Program, found: Trace) -> Trace:
    """The trace with zeros for numbers that the program's statements call unspecified."""
    unspecified = program.unspecified()
    for statement, names, step in zip(program.statements, unspecified, found.steps, strict=False):
        for name in names & step.changed.keys():
            step.changed[name] = _zeroed(step.changed[name])
        if statement.unspecified and step.result is not None:
            step.result = _zeroed(step.result)
    return found


def _zeroed(seen: Any) -> Any:
    if isinstance(seen, list):
        return [_zeroed(item) for item in seen]
    if not isinstance(seen, dict):
        return seen
    zeroed = {key: _zeroed(value) for key, value in seen.items()}
    if "dtype" in seen and isinstance(seen.get("values"), list):  # an error is kept
        zeroed["values"] = _zeros(seen["values"])
    return zeroed


def _zeros(values: Any) -> Any:
    if isinstance(values, list):
        return [_zeros(value) for value in values]
    return type(values)(0) if isinstance(values, (bool, int)) else 0.0
