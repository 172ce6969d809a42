"""The entries of the sweep: the operators of torch's database, listed without torch.

`entries.json` is the result of `reference.opinfo.entries` for one version of torch; another that
lacks an entry raises when its samples are read.
"""

from __future__ import annotations

import json
from importlib import resources

from conformance.program.program import Program
from conformance.sweep.sample import AREA


def programs() -> list[Program]:
    """One program for each entry and dtype, which stands for all samples of it."""
    text = resources.files("conformance").joinpath("sweep/entries.json").read_text("utf-8")
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
        for entry, dtypes in json.loads(text)["entries"].items()
        for dtype in dtypes
    ]
