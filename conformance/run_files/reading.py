"""Reading of run files, each line checked against the form and its checksum."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NoReturn

from conformance.base import compressed
from conformance.base.forms import check
from conformance.base.levels import LEVELS
from conformance.run_files.form import FORMS
from conformance.run_files.run import (
    READ,
    SCHEMA,
    SEALED,
    Altered,
    Duplicate,
    Malformed,
    Mismatched,
    NotARun,
    Run,
    RunError,
    Truncated,
    WrongSchema,
)
from conformance.run_files.seal import unsealed
from conformance.run_files.totals import totals
from conformance.suite.shard import shard

_NUMERALS = bytes.maketrans(b"E123456789", b"e000000000")
_HUGE = (b"e000", b"e+000", b"0" * 300)


def loads(text: bytes) -> Any:
    """The value of a line of JSON with finite numbers; raises ValueError, RecursionError."""
    if _may_be_huge(text):
        return json.loads(text, parse_constant=_no_number, parse_float=_finite)
    return json.loads(text, parse_constant=_no_number)


def _may_be_huge(text: bytes) -> bool:
    """Whether a number may be beyond the largest float: it has 300 digits, or such an exponent."""
    numerals = text.translate(_NUMERALS)
    return any(huge in numerals for huge in _HUGE)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text[:40])


def read_run(
    path: str | os.PathLike[str],
    loads: Callable[[bytes], Any] = loads,
    without: Collection[str] = (),
    torn: bool = False,
) -> Run:
    """The run in a file; a file without a footer is a run that was interrupted (not `complete`).

    The file may be compressed (gzip, xz), and as large as `base.compressed` allows. `loads` reads
    a line (ValueError: it is not JSON); a reader that needs no traces can skip them, and names in
    `without` the fields of programs that it leaves out.
    A last line that breaks off is an error, unless the caller expects a `torn` file: the
    run ends before that line then.
    Raises NotARun, WrongSchema, Truncated, Malformed, Altered, Duplicate or Mismatched, all
    RunError.
    """
    return _Reader(path, loads, without).run(torn)


class _Reader:
    """Reads one run file; `number` is that of the line at which it is."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        loads: Callable[[bytes], Any],
        without: Collection[str],
    ) -> None:
        self.path, self.number = path, 0
        self._loads = loads
        self._traces = [name for name in ("expected",) if name not in without]
        self._sealed = False
        self._digest = hashlib.sha256()
        self._seen: dict[str, int] = {}
        self.programs: list[dict[str, Any]] = []
        self.footer: dict[str, Any] | None = None

    def run(self, torn: bool) -> Run:
        """The run; raises RunError."""
        header: dict[str, Any] | None = None
        for raw, is_last in self._lines():
            if header is None:
                header = self._header(raw, is_last)
            else:
                try:
                    self._add(raw, is_last)
                except Truncated:
                    if torn:
                        break
                    raise
            self._digest.update(raw)
        if header is None:
            raise NotARun(self.path, None, "the file is empty; a run begins with a header.")
        return Run(header, self.programs, self.footer, Path(self.path))

    def _lines(self) -> Iterator[tuple[bytes, bool]]:
        """The file's lines, and whether each is the last."""
        former: bytes | None = None
        try:
            for line in compressed.lines(self.path):
                if former is not None:
                    self.number += 1
                    yield former, False
                former = line
        except compressed.BreaksOff as error:
            raise Truncated(self.path, None, f"{error}.") from None
        except compressed.Unreadable as error:
            raise NotARun(self.path, None, f"{error}.") from None
        if former is not None:
            self.number += 1
            yield former, True

    def _header(self, raw: bytes, is_last: bool) -> dict[str, Any]:
        text, is_right = unsealed(raw.removesuffix(b"\n"))
        try:
            header = loads(text)
        except (ValueError, RecursionError):
            only = is_last and not raw.endswith(b"\n")
            if only and text.lstrip().startswith(b'{"type":"header"'):
                self._fail(Truncated, "the header breaks off; nothing of the run is left.")
            self._fail(NotARun, "not JSON; a run file is JSON Lines with a header first.")
        if not isinstance(header, dict) or header.get("type") != "header":
            self._fail(NotARun, 'not a run file: its first line has no "type":"header".')
        schema = header.get("schema")
        if type(schema) is not int or schema not in READ:
            self._fail(
                WrongSchema,
                f"the run has schema {_shown(schema)}, this version of the suite reads "
                f"schema {SCHEMA}.",
            )
        self._sealed = schema >= SEALED
        self._check_seal(is_right)
        self._check(header, "header")
        for name in ("python", "platform"):
            if name not in header["host"]:
                self._fail(Malformed, f'not a header: "host.{name}" is missing.')
        self._check_selection(header["selection"])
        return header

    def _add(self, raw: bytes, is_last: bool) -> None:
        """Take a line after the header."""
        text, is_right = unsealed(raw.removesuffix(b"\n"))
        line = self._line(text, is_last)
        kind = line.get("type")
        if self.footer is not None:
            second = "a second footer" if kind == "footer" else "a line after the footer"
            self._fail(Duplicate, f"{second}; were two runs written into one file?")
        if kind == "header":
            self._fail(Duplicate, "a second header; were two runs put into one file?")
        if kind not in ("program", "footer"):
            self._fail(Malformed, f"unknown type of line: {_shown(kind)}.")
        self._check_seal(is_right)
        self._check(line, kind)
        if kind == "program":
            self._program(line)
        else:
            self._check_footer(line, line.pop("sha256", None))
            self.footer = line

    def _line(self, text: bytes, is_last: bool) -> dict[str, Any]:
        if not text.strip():
            self._fail(Malformed, "the line is empty.")
        try:
            line = self._loads(text)
        except (ValueError, RecursionError) as error:
            if is_last:
                self._fail(
                    Truncated,
                    f"the line breaks off: the run was cut here. The {self.number - 1} lines above "
                    "are whole; without this one the file reads as an interrupted run.",
                )
            self._fail(Malformed, f"not JSON: {str(error)[:200]}.")
        if not isinstance(line, dict):
            self._fail(Malformed, "not a JSON object.")
        return line

    def _program(self, line: dict[str, Any]) -> None:
        for name in self._traces:
            if name not in line:
                self._fail(Malformed, f'not a program: "{name}" is missing.')
        if line["outcome"] == "other_version" and "versions" not in line:
            self._fail(Malformed, 'not a program: "versions" is missing.')
        if (before := self._seen.setdefault(line["id"], self.number)) != self.number:
            self._fail(Duplicate, f"program {line['id'][:200]} was on line {before} already.")
        self.programs.append(line)

    def _check_seal(self, is_right: bool | None) -> None:
        if is_right is False:
            self._fail(Altered, "the line was changed: its checksum (crc) is that of another.")
        if is_right is None and self._sealed:
            self._fail(Altered, 'its checksum is missing: a line ends with "crc".')

    def _check(self, line: dict[str, Any], kind: str) -> None:
        try:
            check(line, FORMS[kind])
        except ValueError as error:
            self._fail(Malformed, f"not a {kind}: {error}.")

    def _check_selection(self, selection: dict[str, list[str]]) -> None:
        levels = selection.get("levels", [])
        if not levels or not set(levels) <= set(LEVELS):
            self._fail(Malformed, f'not a header: "selection.levels" is {_shown(levels)}.')
        for text in selection.get("shard", ()):
            try:
                shard(text)
            except argparse.ArgumentTypeError as error:
                self._fail(Malformed, f'not a header: "selection.shard": {error}.')

    def _check_footer(self, line: dict[str, Any], digest: str | None) -> None:
        counted = {outcome: n for outcome, n in totals(self.programs).items() if n}
        stated = {outcome: n for outcome, n in line["totals"].items() if n}
        if counted != stated:
            self._fail(
                Mismatched,
                f"the footer counts {json.dumps(stated)}, the lines above are "
                f"{json.dumps(counted)}; lines were lost or added after the run.",
            )
        if self._sealed and digest != self._digest.hexdigest():
            self._fail(
                Mismatched,
                "the checksum (sha256) is not that of the lines above; lines were moved, lost or "
                "added after the run.",
            )

    def _fail(self, error: type[RunError], message: str) -> NoReturn:
        raise error(self.path, self.number, message) from None


def _shown(value: Any) -> str:
    """A value of a file in a message, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
