"""Examples in torch's docstrings: which there are. torch itself has their text.

`docstrings.json` is the result of `reference.docstrings.entries` for one version of torch; another
that lacks an example raises when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources

from conformance.program.program import Program
from conformance.sweep.sample import is_entry

AREA = "docstrings"
PREFIX = "doc/"
"""The beginning of an example's ID."""


def programs() -> Iterator[Program]:
    """One program for each example, which stands for the text that the oracle has."""
    text = resources.files("conformance").joinpath("suite/docstrings.json").read_text("utf-8")
    for name, numbers in json.loads(text)["examples"].items():
        for number in numbers:
            identifier = f"{PREFIX}{name}/{number}"
            sentence = f"{name}: example {number} of its docstring"
            source = f"# {sentence} in torch:\n#     conform show {identifier}\n"
            yield Program(identifier, AREA, source, sentence)


def is_made_by_torch(program: Program) -> bool:
    """Whether a program stands for material that torch has, so that its source says nothing."""
    return program.area == AREA or is_entry(program)
