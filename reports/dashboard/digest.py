"""Digests of run files: each program's standing, and sums, without traces."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, TypedDict

import msgspec

from conformance.run_files.categories import category
from conformance.run_files.causes import causes, speaks
from conformance.run_files.changes import Standing, levels
from conformance.run_files.reading import loads, read_run
from conformance.run_files.run import Run, schema
from reports.attention import attended
from reports.causes import Shown, shown
from reports.dashboard.store import Store

FORMAT = 6
"""Version of the digest format; a store of another version is discarded."""

SKIPPED = ("expected", "got")
"""Fields of a program that no page of the site shows: nine tenths of a run file."""


class Backend(msgspec.Struct, frozen=True):
    """A backend or an oracle, as in the header of a run."""

    name: str
    version: str | None
    device: str | None
    title: str | None = None
    """The name it is known by, if that is not the one by which `--backend` finds it."""


class Caused(msgspec.Struct, frozen=True):
    """A cause of divergences of a run, and the IDs of its programs by area.

    `silent` are those that contradict no comment, which count less in the order of causes.
    """

    shown: Shown
    members: dict[str, list[str]]
    silent: list[str]


class Roster(msgspec.Struct, frozen=True):
    """The programs of one area. Runs of the same suite share a roster, so it is stored once."""

    ids: list[str]
    rules: list[str | None]
    operators: list[str | None]
    dtypes: list[str | None]
    sentences: list[str | None]
    sources: str
    """Key in the store of the programs' sources, a list of strings."""


class Part(msgspec.Struct, frozen=True):
    """One area of a run: `standings[k]` indexes the digest's standings, for `roster.ids[k]`."""

    roster: str
    standings: list[int]
    oracle: float
    backend: float


class Digest(msgspec.Struct, frozen=True):
    """A run without its traces, sources and programs' descriptions."""

    run: str
    label: str
    revision: str
    url: str
    started: str
    suite: str
    backend: Backend
    oracle: Backend
    default_dtype: str
    selection: dict[str, list[str]]
    complete: bool
    stale: list[str]
    standings: list[Standing]
    parts: dict[str, Part]
    causes: list[Caused]
    """In the order of the run's own report (`conformance.run_files.causes.causes`)."""
    claims: dict[str, list[str]]
    """By level, the versions of torch for which the run supports it, newest first."""
    ulps: dict[str, dict[str, float | None]]
    """The largest error among conforming values, by operator and dtype; None is infinity."""


def digest(path: str | os.PathLike[str], store: Store) -> str:
    """Digest a run file, put the digest into the store and return its key there.

    Raises RunError if the file is not a run file.
    """
    run = read_run(path, loads=_skimmed, without=SKIPPED)
    table: dict[Standing, int] = {}
    areas: dict[str, list[dict[str, Any]]] = {}
    for line in run.programs:
        areas.setdefault(line["area"], []).append(line)
    header = run.header
    made = Digest(
        run=_clean(header["run"]),
        label=_clean(header.get("label", "")),
        revision=_clean(header.get("revision", "")),
        url=_clean(header.get("url", "")),
        started=_clean(header["started"]),
        suite=_clean(header["suite"]),
        backend=_backend(header["backend"]),
        oracle=_backend(header["oracle"]),
        default_dtype=_clean(header.get("default_dtype", "float32")),
        selection={
            _clean(name): [_clean(value) for value in values]
            for name, values in header["selection"].items()
            if isinstance(values, list)
        },
        complete=run.complete,
        stale=[_clean(entry) for entry in (run.footer or {}).get("stale", ())],
        parts={_clean(area): _part(lines, table, store) for area, lines in areas.items()},
        standings=list(table),
        causes=_causes(run),
        claims=(run.footer or {}).get("claims", {}),
        ulps=_ulps(run),
    )
    return store.put(msgspec.json.encode(made))


def _causes(run: Run) -> list[Caused]:
    found = []
    for cause in causes(run.programs, run.levels):
        members: dict[str, list[str]] = {}
        for line in cause.lines:
            members.setdefault(_clean(line["area"]), []).append(_clean(line["id"]))
        text = shown(cause)
        text = replace(text, key=_clean(text.key), program=_clean(text.program))
        silent = [_clean(line["id"]) for line in cause.lines if not speaks(line)]
        found.append(Caused(text, members, silent))
    return found


def _part(lines: list[dict[str, Any]], table: dict[Standing, int], store: Store) -> Part:
    sources = [_clean(line["source"]) for line in lines]
    columns: dict[str, Any] = {
        name + "s": [None if line[name] is None else _clean(line[name]) for line in lines]
        for name in ("id", "rule", "operator", "dtype", "sentence")
    }
    roster = Roster(**columns, sources=store.put(msgspec.json.encode(sources)))
    return Part(
        roster=store.put(msgspec.json.encode(roster)),
        standings=[table.setdefault(_standing(line), len(table)) for line in lines],
        oracle=_seconds(lines, "oracle"),
        backend=_seconds(lines, "backend"),
    )


def _standing(line: dict[str, Any]) -> Standing:
    ended = category(line)
    if ended == "conforms":
        return Standing(ended, levels(line))
    shown = attended(line)
    return Standing(ended, levels(line), (shown.where, shown.expected, shown.got, shown.reason))


def _seconds(lines: Iterable[dict[str, Any]], side: str) -> float:
    return round(sum(line["seconds"].get(side) or 0.0 for line in lines), 3)


def _ulps(run: Run) -> dict[str, dict[str, float | None]]:
    largest: dict[str, dict[str, float]] = {}
    for line in run.programs:
        if line["operator"] is None or line["levels"].get("values") != "conforms":
            continue
        for dtype, error in line["ulp"].items():
            of_operator = largest.setdefault(_clean(line["operator"]), {})
            of_operator[_clean(dtype)] = max(of_operator.get(_clean(dtype), 0.0), float(error))
    return {
        operator: {dtype: error if math.isfinite(error) else None for dtype, error in row.items()}
        for operator, row in largest.items()
    }


def _backend(described: dict[str, Any]) -> Backend:
    fields = (described.get(field) for field in ("name", "version", "device", "title"))
    name, *others = (None if text is None else _clean(text) for text in fields)
    return Backend(name or "", *others)


def _clean(text: object) -> str:
    # A lone surrogate cannot be encoded as UTF-8; it becomes its escape.
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    definitions = schema()["$defs"].values()
    names = {name for part in definitions for name in part.get("properties", ())}
    fields = {name: Any for name in sorted(names - set(SKIPPED))}
    # Fields outside of the type are validated as JSON and skipped, ten times faster than parsed.
    return msgspec.json.Decoder(TypedDict("Line", fields, total=False))  # type: ignore[operator]


def _skimmed(text: bytes) -> Any:
    """A line of a run file without its traces. Raises ValueError."""
    try:
        return _decoder().decode(text)
    except msgspec.DecodeError:
        return loads(text)  # msgspec refuses lone surrogates; for invalid JSON this raises


def file_hash(path: str | os.PathLike[str]) -> str:
    """The hash of a file's content. Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
