"""Recordings: an oracle's traces in a file, for comparisons without torch.

A recording is JSON Lines, compressed if its name ends in `.xz`: a header, then one line per
program, sorted by ID, so that two recordings differ where their oracles do. Each trace carries the
fingerprint of its program's text: a program that was changed since counts as not recorded.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.backends import BackendError
from conformance.base.json_lines import dumps
from conformance.observe.trace import Trace, TraceError
from conformance.program.program import Program

SCHEMA = 2
PREFIX = "recorded:"
ENDINGS = (".jsonl.xz", ".jsonl")
_FIRST_KEY = b'{"id":'


class RecordingError(BackendError):
    """A recording cannot be read, or was made with other settings; names the file."""


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
    if "unspecified" in program.source:
        text += (
            f"# {[statement.index for statement in program.statements if statement.unspecified]}"
        )
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def located(program: Program, found: Trace) -> Trace:
    """The trace with the lines that the program's statements have now: comments move them."""
    for statement, step in zip(program.statements, found.steps, strict=False):
        step.line = statement.line
    return found


class Recording:
    """The traces in a file; each is parsed on demand."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises RecordingError for a file that is missing, damaged, cut, or something else."""
        self.path = Path(path)
        lines = self._content().split(b"\n")
        self.header = self._header(lines[0])
        self._lines: dict[str, tuple[int, bytes]] = {}
        for number, line in enumerate(lines[1:], start=2):
            if line:
                self._lines[self._id(line, number)] = number, line
        if (missing := self.header["programs"] - len(self._lines)) or lines[-1]:
            raise RecordingError(
                f"{self.path}: the recording breaks off: of its {self.header['programs']:,} traces "
                f"{max(missing, 1):,} are missing."
            )

    @property
    def oracle(self) -> dict[str, Any]:
        """The oracle's name, version and device."""
        return self.header["oracle"]

    def ids(self) -> list[str]:
        """The IDs of the recorded programs, in the file's order."""
        return list(self._lines)

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
        except (ValueError, KeyError, TraceError) as error:
            raise RecordingError(f"{self.path}:{number}: no trace: {error}.") from None

    def _content(self) -> bytes:
        try:
            content = self.path.read_bytes()
            return lzma.decompress(content) if self.path.suffix == ".xz" else content
        except (OSError, EOFError, lzma.LZMAError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise RecordingError(f"{self.path}: the recording cannot be read: {reason}.") from None

    def _header(self, line: bytes) -> dict[str, Any]:
        try:
            header = json.loads(line)
            if header["type"] != "recording":
                raise ValueError("its type is another")
            if header["schema"] != SCHEMA:
                raise RecordingError(
                    f"{self.path}: the recording's format is {header['schema']}, which this suite "
                    f"does not read; it reads {SCHEMA}."
                )
            if missing := {"oracle", "seed", "default_dtype", "programs"} - header.keys():
                raise ValueError(f"it has no {min(missing)}")
        except (ValueError, KeyError, TypeError) as error:
            raise RecordingError(
                f"{self.path}:1: not the header of a recording: {error}."
            ) from None
        return header

    def _id(self, line: bytes, number: int) -> str:
        end = line.find(b",", len(_FIRST_KEY))
        try:
            if not line.startswith(_FIRST_KEY):
                raise ValueError
            return str(json.loads(line[len(_FIRST_KEY) : end]))
        except ValueError:
            raise RecordingError(f"{self.path}:{number}: not a recorded trace.") from None


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
        line = {"id": program.id, "source": fingerprint(program), "trace": found}
        lines.append(dumps(line))
    head = {"type": "recording", "schema": SCHEMA, **header, "programs": len(lines)}
    content = "\n".join([dumps(head), *lines, ""]).encode("utf-8", "backslashreplace")
    if path.suffix == ".xz":
        content = lzma.compress(content)
    part = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
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
