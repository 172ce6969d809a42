"""Faults planted in twenty common operators: random programs find each of them soon."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from command import environment

PROGRAMS = 2000

SCRIPT = f"""
import json
from miniature.planted import NAMES, OPERATORS, PLANTED
from conformance import backends
from conformance.execution.execute import quiet, silent, trace
from conformance.fuzz.choices import Choices
from conformance.fuzz.programs import Source, named
from conformance.fuzz.themes import THEMES
from conformance.program.program import ProgramError

assert OPERATORS == set(NAMES), set(NAMES) - OPERATORS
impl = backends.find("impl")
source, themes = Source(impl), [theme for theme in THEMES if theme != "database"]
left, found = set(NAMES), {{}}
for index in range({PROGRAMS}):
    theme = themes[index % len(themes)]
    with impl.session(), quiet(), silent():
        drawn = named(source.draw(theme, Choices(f"0/{{theme}}/{{index}}")), "")
    try:
        right = trace(drawn, impl)
    except ProgramError:
        continue
    for name in sorted(left):
        PLANTED[:] = [name]
        if trace(drawn, impl).steps != right.steps:
            found[name] = index
            left.discard(name)
    PLANTED.clear()
    if not left:
        break
print(json.dumps(found))
"""


@pytest.mark.slow
def test_a_fault_in_any_common_operator_is_found(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 20, found
    assert max(found.values()) < PROGRAMS
