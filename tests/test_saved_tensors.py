"""The saved tensors of programs after each statement, and those recorded of torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import made_drawings
import pytest
from made_backends import doubled_sinh

from conformance.backends import find
from conformance.base.reference import reference_folder
from conformance.compare.known import KnownDivergences
from conformance.execution.execute import trace
from conformance.execution.recorded import find_recording
from conformance.execution.saved import recorded_saved, saved_after_each
from conformance.isolation.child import Child
from conformance.isolation.process import IsolationError
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.run.sides import Here, Sides
from conformance.settings.settings import Settings
from conformance.suite.chapters import read_spec

IMPL = find("impl")
HOOKED = """\
x = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): y = x.exp()
"""
PARTS = """\
x = torch.ones(2, requires_grad=True)
ys = [x.exp(), (x * x, 3)]
"""


def saved(source: str) -> list[object] | None:
    program = Program("SAVED-01.1", "saved", source, "")
    return saved_after_each(program, IMPL, trace(program, IMPL))


def test_a_node_has_its_saved_tensors_until_they_are_freed():
    assert saved(made_drawings.CHAIN) == [
        {},
        {"y": {"0": [["result", "y", 0, 0]]}},
        {"y": {"0": [["result", "y", 0, 0]]}, "z": {"1": [["result", "y", 0, 0]]}},
        {"y": {"0": None}, "z": {"1": None}},
    ]


def test_a_stale_one_has_both_versions():
    rows = saved(made_drawings.ALIASED)
    assert rows[2] == {"y": {"0": [["result", "y", 0, 0]]}}
    assert rows[3] == rows[4] == {"y": {"0": [["result", None, 0, 1]]}}


def test_versions_are_left_out_where_hooks_may_have_unpacked():
    assert saved(HOOKED)[1] == {"y": {"0": [["result", "y", None, None]]}}


def test_parts_of_containers_have_theirs():
    assert saved(PARTS)[1] == {
        "ys[0]": {"0": [["result", "ys[0]", 0, 0]]},
        "ys[1][0]": {"0": [["other", "x", 0, 0], ["self", "x", 0, 0]]},
    }


def test_a_program_that_shows_another_trace_has_none():
    program = Program("SAVED-01.1", "saved", made_drawings.CHAIN, "")
    other = replace(program, source=made_drawings.DIAMOND)
    assert saved_after_each(program, IMPL, trace(other, IMPL)) is None


CHAPTERS = {chapter.area: chapter.programs for chapter in read_spec(reference_folder("spec"))}


OTHERS = {
    "AUTOCAST-02.2": "a layer of an LSTM saves its four results as two, under other names",
    "COMPLEX-07.1": "a node whose gradient is refused is freed, which torch does after the check",
    "FIND-16.1": "the operand of kron is a view without its base, whose storage is another's",
    "FIND-48.1": "as FIND-16.1",
    "RANDOM-17.1": "a mask of zeros is made, and not written, which would count as a version",
    "SPARSE-04.2": "a node without a derivative saves its operand",
    "SPARSE-22.1": "the mask's gradient is computed from the value, which torch does not save",
    "SPARSE-24.1": "the gradient of a softmax is computed from its result alone",
    "TRANSFORM-18.1": "a power's gradient saves both factors of its product",
    "TRANSFORM-23.1": "as TRANSFORM-18.1",
}
"""Examples in which impl saves other tensors than torch, which no program notices, and why."""


@pytest.mark.parametrize("area", CHAPTERS)
def test_impl_saves_what_torch_saves(area: str):
    found = {one.id: (one, recorded_saved(one, "2.15", "cpu")) for one in CHAPTERS[area]}
    differ = {
        name
        for name, (program, rows) in found.items()
        if rows and saved_after_each(program, IMPL, trace(program, IMPL)) != rows
    }
    assert differ == OTHERS.keys() & found.keys()


def test_those_of_torch_are_recorded_for_the_statements_of_its_traces():
    recording = find_recording("recorded:torch-2.15")
    found = {one.id: recorded_saved(one, "2.15", "cpu") for one in CHAPTERS["versions"]}
    known = [one for one in CHAPTERS["versions"] if found[one.id]]
    assert len(known) > len(found) / 2
    for program in known:
        assert len(found[program.id]) == len(recording.trace(program).steps)
    assert recorded_saved(replace(known[0], source="x = torch.ones(1)"), "2.15", "cpu") is None
    assert recorded_saved(known[0], "1.0", "cpu") is None


SINH = """\
x = torch.ones(2, requires_grad=True)
y = torch.sinh(x)
"""


def judged(program: Program, settings: Settings, **sides: Any) -> dict[str, Any]:
    judge = Judge(settings, KnownDivergences(), sides=Sides(settings, **sides))
    try:
        return judge.line(program)
    finally:
        judge.close()


@pytest.mark.parametrize("isolation", [True, False])
def test_a_diverging_program_has_those_of_both_sides(isolation: bool):
    settings = Settings(backend="made_backends:doubled_sinh", isolation=isolation)
    line = judged(Program("SAVED-01.1", "saved", SINH, ""), settings)
    assert line["outcome"] == "diverges"
    assert line["saved"] == {
        "expected": [{}, {"y": {"0": [["self", "x", 0, 0]]}}],
        "got": [{}, {"y": {"0": [["other", None, 0, 0]], "1": [["self", "x", 0, 0]]}}],
    }


def test_a_conforming_program_has_those_of_torch_that_are_recorded():
    settings = Settings(oracle="recorded:torch-2.15", isolation=False)
    program = next(one for one in CHAPTERS["versions"] if recorded_saved(one, "2.15", "cpu"))
    line = judged(program, settings)
    assert line["outcome"] == "conforms"
    assert line["saved"] == {"expected": recorded_saved(program, "2.15", "cpu")}
    older = judged(program, replace(settings, oracle="recorded:torch-2.13"))
    assert older["outcome"] == "conforms" and "saved" not in older


@pytest.mark.parametrize("given", [IsolationError("it died"), "rubbish", [{"y": {"0": [[1]]}}]])
def test_a_side_that_cannot_give_them_costs_nothing(given: Any):
    class Silent(Here):
        def saved(self, *_: Any, **__: Any) -> Any:
            if isinstance(given, Exception):
                raise given
            return given

    program = Program("SAVED-01.1", "saved", SINH, "")
    settings = Settings(isolation=False)
    line = judged(program, settings, backend=Silent(doubled_sinh()))
    assert line["outcome"] == "diverges"
    assert list(line["saved"]) == ["expected"]


def test_a_process_that_ran_parts_of_a_program_runs_no_other():
    plain, hooked = (Program("SAVED-01.1", "saved", one, "") for one in (PARTS, HOOKED))
    with Child("impl") as child:
        assert child.saved(plain, child.trace(plain)) == saved(PARTS)
        first = child._process
        assert first is not None
        assert child.saved(hooked, child.trace(hooked)) == saved(HOOKED)
        assert child._process is None


def test_a_process_is_not_spent_for_a_divergence_that_is_known():
    plain, hooked = (Program("SAVED-01.1", "saved", one, "") for one in (PARTS, HOOKED))
    with Child("impl") as child:
        assert child.saved(hooked, child.trace(hooked), by_parts=False) is None
        first = child._process
        assert child.saved(plain, child.trace(plain), by_parts=False) == saved(PARTS)
        assert first is not None and child._process is first
