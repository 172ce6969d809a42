"""The entries of the sweep: the operators of torch's database, listed without torch.

`entries.json` is the result of `reference.opinfo.entries` for one version of torch; another that
lacks an entry raises when its samples are read.
"""

from __future__ import annotations

import json
from importlib import resources

from conformance.program.program import Program
from conformance.sweep.sample import AREA


def table() -> dict[str, list[str]]:
    """The entries of the database, and the dtypes that each has samples of."""
    text = resources.files("conformance").joinpath("sweep/entries.json").read_text("utf-8")
    entries: dict[str, list[str]] = json.loads(text)["entries"]
    return entries


def programs() -> list[Program]:
    """One program for each entry and dtype, which stands for all samples of it."""
    return [
        Program(
            f"{AREA}/{entry}/{dtype}",
            AREA,
            f"# Every sample of {entry} in torch's database of operators, {dtype}. The first one:\n"
            f"#     conform show {AREA}/{entry}/{dtype}/plain/0\n",
            f"{entry}: every sample of torch's database",
            operator=entry.partition("/")[0],
            dtype=dtype,
        )
        for entry, dtypes in table().items()
        for dtype in dtypes
    ]
