"""Refusals of `impl`: each program of found/refusals.md has the trace that it has on torch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.backends import find
from conformance.compare.compare import compare
from conformance.execution.execute import trace
from conformance.program.program import Program

TEXT = (Path(__file__).parent / "found" / "refusals.md").read_text("utf-8")
PROGRAMS = dict(re.findall(r"^## (\w+)\n.*?^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_refused_is_what_torch_refuses(name):
    program = Program(name, "refusals", PROGRAMS[name], "")
    expected, got = (trace(program, find(backend)) for backend in ("torch", "impl"))
    verdict = compare(expected, got, program)
    assert verdict.outcome == "conforms", verdict.divergences
