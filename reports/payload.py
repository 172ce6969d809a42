"""The data of a run inside a page: an eager index, the sources, and traces in lazy chunks."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.base.tolerances import TOLERANCES
from conformance.run_files.categories import CATEGORIES, category
from conformance.run_files.causes import Cause
from conformance.run_files.identity import is_web_address
from conformance.run_files.run import Run
from reports.attention import NOTHING, attended
from reports.categories import SYMBOLS, WORDS
from reports.rules import spec_site
from reports.versions import shown_versions

CHUNK = 256 * 1024
"""Characters of JSON in a chunk of traces. Opening a program decodes one chunk; a chunk beyond
gzip's window of 32 KiB does not compress better."""

LEVEL_BITS = 3
LEVEL_CODES = {"conforms": 0, "diverges": 1, "not_applicable": 2, "other_version": 3}
"""Codes of the verdict at a level in the index, three bits for each level."""

NO_VERDICT = 7
"""Code of a level that was not compared."""

DETAILS = (
    "levels",
    "divergences",
    "permitted",
    "specification",
    "ulp",
    "reason",
    "known",
    "since",
    "expected",
    "got",
    "saved",
    "seconds",
    "sweep",
    "convention",
    "file",
    "line",
)
"""Fields of a program's line that only the program's own page shows; stored in the chunks."""

_LONG_INTEGER = re.compile(r"(?<![\d.\"])\d{16,}")


@dataclass(frozen=True)
class Payload:
    """Base64 texts of gzipped JSON. `chunks[k]` begins at program `index.chunks[k]`."""

    index: str
    sources: str
    chunks: list[str]


def payload(run: Run, causes: Sequence[Cause]) -> Payload:
    """The data of a report: index for lists and filters, sources for the search, trace chunks.

    `causes` are those of the run's divergences.
    """
    starts, chunks = _chunks(run.programs)
    index = _index(run)
    keys = {line["id"]: cause.key for cause in causes for line in cause.lines}
    index["cause"] = Column(keys.get(line["id"]) for line in run.programs).json()
    index["causeWords"] = {cause.key: cause.words for cause in causes}
    index["chunks"] = starts
    sources = [line["source"] for line in run.programs]
    return Payload(packed(json_text(index)), packed(json_text(sources)), chunks)


def packed(text: str) -> str:
    """`text` gzipped and encoded in base64, deterministically."""
    compressed = gzip.compress(text.encode("ascii"), compresslevel=6, mtime=0)
    return base64.b64encode(compressed).decode("ascii")


def json_text(value: Any) -> str:
    """ASCII JSON without loss in JavaScript: long integers and NaN become strings."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(_lossless(value), separators=(",", ":"))
    if _LONG_INTEGER.search(text):
        return json.dumps(_lossless(value), separators=(",", ":"))
    return text


def _lossless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lossless(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lossless(item) for item in value]
    if isinstance(value, int) and abs(value) > 2**53:
        return str(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return str(value)
    return value


def _chunks(lines: list[dict[str, Any]]) -> tuple[list[int], list[str]]:
    starts: list[int] = []
    chunks: list[str] = []
    texts: list[str] = []
    size = 0
    for number, line in enumerate(lines):
        text = json_text({key: line[key] for key in DETAILS if key in line})
        if texts and size + len(text) > CHUNK:
            chunks.append(packed(f"[{','.join(texts)}]"))
            texts, size = [], 0
        if not texts:
            starts.append(number)
        texts.append(text)
        size += len(text)
    if texts:
        chunks.append(packed(f"[{','.join(texts)}]"))
    return starts, chunks


class Column:
    """A column of texts, dictionary encoded: each distinct text is stored once."""

    def __init__(self, texts: Iterable[str | None]) -> None:
        self.numbers: dict[str, int] = {}
        self.cells = [
            -1 if text is None else self.numbers.setdefault(text, len(self.numbers))
            for text in texts
        ]

    def json(self) -> dict[str, Any]:
        """The distinct texts, and for each cell the index of its text, or -1."""
        return {"texts": list(self.numbers), "cells": self.cells}


def _index(run: Run) -> dict[str, Any]:
    header, lines = run.header, run.programs
    columns = {
        key: Column(line[key] for line in lines).json()
        for key in ("area", "rule", "operator", "dtype", "sentence")
    }
    columns["versions"] = Column(shown_versions(line) for line in lines).json()
    categories = [category(line) for line in lines]
    return {
        "backend": {key: text for key, text in header["backend"].items() if key != "names"},
        "oracle": header["oracle"],
        "about": {
            "suite": header["suite"],
            "seed": header["seed"],
            "dtype": header.get("default_dtype", "float32"),
            "revision": header.get("revision"),
            "url": url if is_web_address(url := header.get("url", "")) else None,
            "specification": spec_site(header.get("spec_url")),
        },
        "counted": run.levels,
        "words": WORDS,
        "symbols": SYMBOLS,
        "levels": LEVELS,
        "tolerances": TOLERANCES,
        "nothing": NOTHING,
        "categories": CATEGORIES,
        "id": [line["id"] for line in lines],
        **columns,
        "category": [CATEGORIES.index(kind) for kind in categories],
        "verdicts": [
            _level_code({} if line["outcome"] in NOT_COMPARED else line["levels"]) for line in lines
        ],
        "specification": [n for n, line in enumerate(lines) if line["specification"]],
        "briefs": {
            n: _brief(line, run.levels)
            for n, (line, kind) in enumerate(zip(lines, categories, strict=True))
            if kind != "conforms"
        },
    }


def _level_code(levels: dict[str, str]) -> int:
    code = 0
    for position, level in enumerate(LEVELS):
        verdict = LEVEL_CODES[levels[level]] if level in levels else NO_VERDICT
        code |= verdict << (LEVEL_BITS * position)
    return code


def _brief(line: dict[str, Any], levels: Sequence[str]) -> list[str]:
    item = attended(line, levels)
    return [item.where, item.expected, item.got, item.reason]
