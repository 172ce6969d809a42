"""Reading of run files, each line checked."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from conformance.base.levels import LEVEL_VERDICTS, LEVELS, OUTCOMES
from conformance.base.torch_versions import order
from conformance.run_files.run import (
    READ,
    SCHEMA,
    Duplicate,
    Malformed,
    Mismatched,
    NotARun,
    Run,
    Truncated,
    WrongSchema,
)
from conformance.run_files.totals import totals

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
    A last line that breaks off is an error, unless the caller expects a `torn` file: the
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
                _check_claims(path, number, line.get("claims", {}))
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
    if header.get("schema") not in READ:
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
    if line["outcome"] == "other_version" and not _are_versions(line.get("versions")):
        raise Malformed(path, number, f"no versions of torch: {json.dumps(line.get('versions'))}.")
    if "since" in line and not _is_since(line["since"]):
        raise Malformed(path, number, f"no change since a version: {json.dumps(line['since'])}.")


def _check_claims(path: str | os.PathLike[str], number: int, claims: Any) -> None:
    if not isinstance(claims, dict) or not all(
        level in LEVELS and _are_versions(versions) for level, versions in claims.items()
    ):
        raise Malformed(path, number, f"no claims: {json.dumps(claims)}.")


def _are_versions(found: Any) -> bool:
    """Whether this is a list of minor versions of torch, and not an empty one."""
    try:
        return isinstance(found, list) and bool([order(version) for version in found])
    except (TypeError, ValueError):
        return False


def _is_since(found: Any) -> bool:
    """Whether this names a version, and the levels that changed since."""
    if not isinstance(found, dict) or not isinstance(found.get("levels"), list):
        return False
    return _are_versions([found.get("version")]) and set(found["levels"]) <= set(LEVELS)


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
