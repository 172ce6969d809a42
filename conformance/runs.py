"""Run files: one pass of the suite on one backend, written as JSON Lines and read back."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance import schemas

SCHEMA = 1
"""Version of the run file's format; it changes when an older reader would misread a newer file."""

OUTCOMES = ("conforms", "diverges", "unsupported", "error", "not_run")
LEVELS = ("values", "graph", "memory", "diagnostics")
LEVEL_VERDICTS = ("conforms", "diverges", "not_applicable")

NOT_COMPARED = ("unsupported", "error", "not_run")
"""Outcomes of programs that say nothing about conformance: they count neither way."""

CHAPTER_AREAS = ("leaves", "ties", "seeds", "accumulation", "aliasing", "inplace")
AREAS = (*CHAPTER_AREAS, "programs", "operators", "conventions", "laws", "sweep", "fuzz")
"""The suite's areas in its order; a run of other chapters may have more."""


class RunError(Exception):
    """A run file cannot be read; says which file, which line and what is wrong there."""

    def __init__(self, path: str | os.PathLike[str], line: int | None, message: str) -> None:
        where = f"{os.fspath(path)}, line {line}" if line else os.fspath(path)
        super().__init__(f"{where}: {message}")
        self.path = Path(path)
        self.line = line
        self.message = message


class NotARun(RunError):
    """The file is missing, empty, or something else than a run file."""


class WrongSchema(RunError):
    """The run file was written in a version of the format that this reader does not know."""


class Truncated(RunError):
    """The last line breaks off: the run was cut while it was being written or copied."""


class Malformed(RunError):
    """A line in the middle of the file is not what the format says."""


class Duplicate(RunError):
    """A program, the header or the footer occurs twice."""


class Mismatched(RunError):
    """The footer's totals are not those of the programs above it."""


@dataclass(frozen=True)
class Run:
    """A run as it was read: header, one mapping per program in the file's order, footer."""

    header: dict[str, Any]
    programs: list[dict[str, Any]]
    footer: dict[str, Any] | None
    path: Path | None = None

    @property
    def complete(self) -> bool:
        """Whether the run came to its end; an interrupted run has no footer."""
        return self.footer is not None

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that counted for pass or fail in this run."""
        return tuple(self.header.get("selection", {}).get("levels") or LEVELS)

    def program(self, identifier: str) -> dict[str, Any]:
        """The line of one program; raises KeyError when the run has none of that ID."""
        for line in self.programs:
            if line["id"] == identifier:
                return line
        raise KeyError(identifier)


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) that each line of a run file meets."""
    return schemas.schema("run")


def dumps(line: Mapping[str, Any]) -> str:
    """One line of a run file, without its newline; the same mapping gives the same bytes."""
    return json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _encoded(line: Mapping[str, Any]) -> bytes:
    # A lone surrogate (a backend may print one) becomes its JSON escape, \udc80.
    return dumps(line).encode("utf-8", "backslashreplace") + b"\n"


def totals(lines: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many programs had each outcome, every outcome named."""
    counted = Counter(line["outcome"] for line in lines)
    return {outcome: counted[outcome] for outcome in OUTCOMES}


def level_totals(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many programs had each verdict at each level; programs not compared are in none."""
    counted: Counter[tuple[str, str]] = Counter()
    for line in lines:
        counted.update(line["levels"].items())
    return {
        level: {verdict: counted[level, verdict] for verdict in LEVEL_VERDICTS} for level in LEVELS
    }


def is_known(line: Mapping[str, Any]) -> bool:
    """Whether a program's divergence is one that the list of known divergences excuses."""
    return line["outcome"] == "diverges" and line["known"] is not None


def is_failing(line: Mapping[str, Any]) -> bool:
    """Whether a program diverges and nothing excuses it."""
    return line["outcome"] == "diverges" and line["known"] is None


def exit_code(
    lines: Iterable[Mapping[str, Any]],
    stale: Iterable[str] = (),
    allowed: Collection[str] = (),
) -> int:
    """The exit code that a finished run with these programs has: 0, 1 or 3.

    ``stale`` are the known divergences that diverge no longer; any of them fails the run. Outcomes
    that are ``allowed`` do not make it incomplete, if anything was compared at all.
    """
    found = set()
    for line in lines:
        if is_failing(line):
            return 1
        found.add(line["outcome"])
    if any(True for _ in stale):
        return 1
    missing = found & set(NOT_COMPARED)
    compared = found - missing
    return 3 if missing - set(allowed) or (missing and not compared) else 0


class RunWriter:
    """Writes a run file as its results come in.

    Until `close` the file is a journal: the header, then one line per program in the order of
    arrival, each handed to the operating system at once, so that a killed run is readable. `close`
    replaces it atomically by the same lines in suite order, with the footer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        order: Iterable[str] = (),
        taken: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Begin the file, with the lines ``taken`` from earlier runs; ``order`` is the suite's
        order of program IDs. What the file had before is replaced when the new one has those
        lines: a run that is resumed loses none of them. Raises OSError.
        """
        self.path = Path(path)
        self.header = dict(header)
        self.lines: dict[str, dict[str, Any]] = {line["id"]: dict(line) for line in taken}
        self._order = {identifier: position for position, identifier in enumerate(order)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._replace([self.header, *self.in_suite_order()])
        self._journal = open(self.path, "ab", buffering=0)  # noqa: SIM115 (closed by close/abandon)

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one program's line; raises ValueError when the program was written already."""
        if line["id"] in self.lines:
            raise ValueError(f"{line['id']} is in the run already")
        self._journal.write(_encoded(line))
        self.lines[line["id"]] = dict(line)

    def in_suite_order(self) -> list[dict[str, Any]]:
        """The lines written so far, sorted as the suite is; IDs it does not know come last."""
        last = len(self._order)
        return sorted(
            self.lines.values(), key=lambda line: (self._order.get(line["id"], last), line["id"])
        )

    def close(self, footer: Mapping[str, Any]) -> None:
        """Rewrite the file in suite order with the footer; the run is complete then."""
        self._journal.close()
        self._replace([self.header, *self.in_suite_order(), dict(footer)])

    def abandon(self) -> None:
        """Rewrite the file in suite order without a footer: the run was interrupted."""
        self._journal.close()
        self._replace([self.header, *self.in_suite_order()])

    def _replace(self, lines: list[dict[str, Any]]) -> None:
        finished = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            with open(finished, "wb") as file:
                file.writelines(_encoded(line) for line in lines)
            os.replace(finished, self.path)
        finally:
            with suppress(FileNotFoundError):
                finished.unlink()


def footer(
    lines: Iterable[Mapping[str, Any]], finished: str, exit: int, stale: Iterable[str] = ()
) -> dict[str, Any]:
    """The last line of a complete run over these programs."""
    lines = list(lines)
    return {
        "type": "footer",
        "finished": finished,
        "totals": totals(lines),
        "known": sum(1 for line in lines if is_known(line)),
        "stale": list(stale),
        "levels": level_totals(lines),
        "exit": exit,
    }


_NO_TYPE: tuple[type, ...] = (type(None),)
_HEADER_FIELDS: dict[str, tuple[type, ...]] = {
    "run": (str,),
    "started": (str,),
    "suite": (str,),
    "backend": (dict,),
    "oracle": (dict,),
    "host": (dict,),
    "seed": (int,),
    "programs": (int,),
    "selection": (dict,),
}
_PROGRAM_FIELDS: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "area": (str,),
    "rule": (str, *_NO_TYPE),
    "operator": (str, *_NO_TYPE),
    "sentence": (str, *_NO_TYPE),
    "dtype": (str, *_NO_TYPE),
    "file": (str, *_NO_TYPE),
    "line": (int, *_NO_TYPE),
    "source": (str,),
    "outcome": (str,),
    "levels": (dict,),
    "divergences": (dict,),
    "specification": (list,),
    "ulp": (dict,),
    "reason": (str, *_NO_TYPE),
    "known": (dict, *_NO_TYPE),
    "expected": (dict, *_NO_TYPE),
    "seconds": (dict,),
}
_FOOTER_FIELDS: dict[str, tuple[type, ...]] = {
    "finished": (str,),
    "totals": (dict,),
    "levels": (dict,),
    "exit": (int,),
}


def read_run(
    path: str | os.PathLike[str],
    loads: Callable[[bytes], Any] = json.loads,
    without: Collection[str] = (),
    torn: bool = False,
) -> Run:
    """The run in a file; a file without a footer is a run that was interrupted (not `complete`).

    The file may be gzipped. `loads` reads a line (ValueError: it is not JSON); a reader that needs
    no traces can skip them, and names in `without` the fields of programs that it leaves out.
    A last line that breaks off is an error, unless a `torn` file is what the caller expects: the
    run ends before that line then.
    Raises NotARun, WrongSchema, Truncated, Malformed, Duplicate or Mismatched, all RunError.
    """
    data = _content(path)
    raw = data.split(b"\n")
    if raw[-1] == b"":
        raw.pop()
    if not raw:
        raise NotARun(path, None, "the file is empty; a run begins with a header.")
    last = len(raw)
    header = _read_header(path, raw[0], only=last == 1 and not data.endswith(b"\n"))
    needed = {name: types for name, types in _PROGRAM_FIELDS.items() if name not in without}
    programs: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    foot: dict[str, Any] | None = None
    for number, text in enumerate(raw[1:], start=2):
        try:
            line = _read_line(path, number, text, loads, is_last=number == last)
        except Truncated:
            if torn:
                break
            raise
        if foot is not None:
            what = "a second footer" if line.get("type") == "footer" else "a line after the footer"
            raise Duplicate(path, number, f"{what}; were two runs written into one file?")
        match line.get("type"):
            case "program":
                _check_program(path, number, line, needed)
                if line["id"] in seen:
                    raise Duplicate(
                        path,
                        number,
                        f"program {line['id']} was on line {seen[line['id']]} already.",
                    )
                seen[line["id"]] = number
                programs.append(line)
            case "footer":
                _check_fields(path, number, line, _FOOTER_FIELDS, "footer")
                foot = line
            case "header":
                raise Duplicate(path, number, "a second header; were two runs put into one file?")
            case other:
                raise Malformed(path, number, f"unknown type of line: {json.dumps(other)}.")
    if foot is not None:
        _check_totals(path, last, programs, foot)
    return Run(header, programs, foot, Path(path))


def _content(path: str | os.PathLike[str]) -> bytes:
    try:
        data = Path(path).read_bytes()
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except EOFError:
        raise Truncated(path, None, "the gzipped file breaks off: it was cut.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Malformed(path, None, f"the gzipped file is damaged: {error}.") from None
    except OSError as error:
        raise NotARun(path, None, f"cannot be read: {error.strerror}.") from None


def _read_header(path: str | os.PathLike[str], text: bytes, only: bool) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        if only and text.lstrip().startswith(b'{"type":"header"'):
            raise Truncated(path, 1, "the header breaks off; nothing of the run is left.") from None
        raise NotARun(path, 1, "not JSON; a run file is JSON Lines with a header first.") from None
    if not isinstance(header, dict) or header.get("type") != "header":
        raise NotARun(path, 1, 'not a run file: its first line has no "type":"header".')
    if header.get("schema") != SCHEMA:
        raise WrongSchema(
            path,
            1,
            f"the run has schema {json.dumps(header.get('schema'))}, this version of the suite "
            f"reads schema {SCHEMA}.",
        )
    _check_fields(path, 1, header, _HEADER_FIELDS, "header")
    return header


def _read_line(
    path: str | os.PathLike[str],
    number: int,
    text: bytes,
    loads: Callable[[bytes], Any],
    is_last: bool,
) -> dict[str, Any]:
    try:
        line = loads(text)
    except (ValueError, RecursionError):
        if is_last:
            raise Truncated(
                path,
                number,
                f"the line breaks off: the run was cut here. The {number - 1} lines above are "
                "whole; without this one the file reads as an interrupted run.",
            ) from None
        raise Malformed(path, number, "not JSON.") from None
    if not isinstance(line, dict):
        raise Malformed(path, number, "not a JSON object.")
    return line


def _check_program(
    path: str | os.PathLike[str],
    number: int,
    line: dict[str, Any],
    needed: dict[str, tuple[type, ...]],
) -> None:
    _check_fields(path, number, line, needed, "program")
    if line["outcome"] not in OUTCOMES:
        raise Malformed(path, number, f"unknown outcome {json.dumps(line['outcome'])}.")
    for level, verdict in line["levels"].items():
        if level not in LEVELS or verdict not in LEVEL_VERDICTS:
            raise Malformed(path, number, f"unknown level or verdict: {level}: {verdict}.")


def _check_fields(
    path: str | os.PathLike[str],
    number: int,
    line: dict[str, Any],
    fields: dict[str, tuple[type, ...]],
    what: str,
) -> None:
    for name, types in fields.items():
        if name not in line:
            raise Malformed(path, number, f'not a {what}: "{name}" is missing.')
        if not isinstance(line[name], types):
            raise Malformed(path, number, f'not a {what}: "{name}" is {json.dumps(line[name])}.')


def _check_totals(
    path: str | os.PathLike[str],
    number: int,
    programs: list[dict[str, Any]],
    foot: dict[str, Any],
) -> None:
    counted = {outcome: n for outcome, n in totals(programs).items() if n}
    stated = {outcome: n for outcome, n in foot["totals"].items() if n}
    if counted != stated:
        raise Mismatched(
            path,
            number,
            f"the footer counts {json.dumps(stated)}, the lines above are {json.dumps(counted)}; "
            "lines were lost or added after the run.",
        )
