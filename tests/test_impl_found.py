"""Programs that testers found, in Markdown files: each has the trace of torch on impl."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.backends import find
from conformance.compare.compare import compare
from conformance.execution.execute import trace
from conformance.program.program import Program

SECTION = re.compile(r"^## (\w+)\n.*?^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROGRAMS = {
    f"{path.stem}/{name}": program
    for path in sorted((Path(__file__).parent / "found").glob("*.md"))
    for name, program in SECTION.findall(path.read_text("utf-8"))
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_on_torch(name):
    program = Program(name, "found", PROGRAMS[name], "")
    expected, got = (trace(program, find(backend)) for backend in ("torch", "impl"))
    verdict = compare(expected, got, program)
    assert verdict.outcome == "conforms", verdict.divergences
