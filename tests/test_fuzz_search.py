"""Searches of random programs: comparison at the end and in detail, and processes that die."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from conformance import backends
from conformance.execution.execute import quiet, silent, trace
from conformance.fuzz.causes import Cause
from conformance.fuzz.choices import Choices
from conformance.fuzz.drawn import drawn
from conformance.fuzz.examiner import Examiner
from conformance.fuzz.programs import Source, named
from conformance.fuzz.search import WARMING
from conformance.fuzz.setup import search_of
from conformance.fuzz.share import Share
from conformance.fuzz.workers import Zygote
from conformance.program.program import ProgramError
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection

pytestmark = pytest.mark.usefixtures("copied")


def test_drawn_statements_are_those_of_a_program():
    source = Source(backends.find("impl"))
    with source.oracle.session(), quiet(), silent():
        programs = [source.draw("layers", Choices(f"0/{k}")) for k in range(30)]
    for statements in programs:
        one, other = (p.statements for p in (drawn(statements), named(statements, "")))
        shown = [[dataclasses.replace(s, code=None) for s in side] for side in (one, other)]
        assert shown[0] == shown[1]
    with pytest.raises(ProgramError):
        drawn(["x = 1; y = 2"])


LEFT = ["x = torch.ones(2, requires_grad=True)", "y = torch.relu(x)", "y.sum().backward()"]


def test_what_a_program_leaves_is_compared_and_then_each_statement():
    values = Selection(levels=("values",))
    asked = Settings(backend="miniature.kinks:relu", oracle="impl", selection=values)
    examiner = search_of(asked).examiner
    zeros = ["x = torch.zeros(2, requires_grad=True)", *LEFT[1:]]
    assert examiner.examine_at_end(LEFT).outcome == "conforms"
    assert examiner.examine_at_end(zeros) == examiner.examine(zeros)
    assert examiner.examine(zeros).cause == Cause("gradient of relu", "values", "other values")
    assert examiner.examine_at_end(["def ("]).outcome == "malformed"


def test_a_known_divergence_of_what_a_program_calls_is_no_finding():
    asked = Settings(backend="miniature.kinks:relu", oracle="impl")
    zeros = ["x = torch.zeros(2, requires_grad=True)", *LEFT[1:]]
    for text, levels, outcome in (
        ("torch.relu(", ("values", "graph", "memory", "diagnostics"), "known"),
        ("torch.relu(", ("memory",), "diverges"),
        ("torch.tanh(", ("values", "graph", "memory", "diagnostics"), "diverges"),
    ):
        examiner = search_of(asked, known={text: levels}).examiner
        assert examiner.examine_at_end(zeros).outcome == outcome
    assert search_of(asked, known={"torch.relu(": ("values",)}).examiner.examine(LEFT).cause


def test_what_shows_only_without_observations_is_found():
    sides = [backends.find(name) for name in ("impl", "miniature.kinks:relu")]
    seen = [functools.partial(trace, backend=sides[0])] * 2
    unseen = [functools.partial(trace, backend=side, at_end=True) for side in sides]
    examiner = Examiner(*seen, levels=("values",), at_end=(unseen[0], unseen[1]))
    statements = ["x = torch.zeros(2, requires_grad=True)", "torch.relu(x).sum().backward()"]
    found = examiner.examine_at_end(statements)
    assert found.cause == Cause("at the end", "values", "other values")


def test_observed_at_the_end_are_the_names_and_before_it_results_and_errors():
    program = named(["x = torch.ones(2)", "x.shape", "x.nothing", "x *= 2", "y = x[0]"], "")
    steps = trace(program, backends.find("impl"), at_end=True).steps
    assert [list(step.changed) for step in steps] == [[], [], [], [], ["x", "y"]]
    assert steps[1].result == {"kind": "size", "value": [2]}
    assert steps[2].error is not None
    assert steps[4].changed["x"]["version"] == 1


def test_only_programs_of_the_themes_of_a_search_are_run_before_its_shares():
    begun: list[int] = []
    search = search_of(Settings(backend="impl", oracle="impl"))
    search.warm(begun.append, (), ("views",))
    assert begun == list(range(WARMING))


def test_a_process_that_dies_costs_its_program_only():
    selection = Selection(levels=("values",))
    asked = Settings(backend="miniature.crashing:relu", oracle="impl", selection=selection)
    zygote = Zygote(asked)
    try:
        report = zygote.share(Share("pointwise", 0, 40, 40))
    finally:
        zygote.close()
    assert report.programs + len(report.lost) == 40
    assert report.lost
    for statements, reason in report.lost:
        assert "relu" in "\n".join(statements)
        assert reason.startswith("backend: the process ended with 0")


def test_a_process_that_dies_before_the_first_share_is_followed_by_another():
    # Half of the programs that are run before any share use the operator that ends the process.
    asked = Settings(backend="miniature.crashing:sum", oracle="impl", selection=Selection())
    zygote = Zygote(asked)
    try:
        report = zygote.share(Share("views", 0, 10, 10))
    finally:
        zygote.close()
    assert report.programs + len(report.lost) == 10
