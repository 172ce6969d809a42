"""Conventions at ties and kinks: read from traces, and reported if they are unknown."""

import pytest
import torch
from made_backends import changed

from conformance.backends import find
from conformance.compare.known import KnownDivergences
from conformance.execution.execute import trace
from conformance.output.failure import headline
from conformance.run.judge import Judge
from conformance.run.sides import Here, Sides
from conformance.settings.settings import Settings
from conformance.suite.conventions import KINKS, TIES, Kink, Tie, convention_of, programs
from reports.conventions import conventions

TIE = Tie("amax", "three", (), "", (1, 2, 3))


@pytest.mark.parametrize(
    ("gradient", "name"),
    [
        ([0, 1 / 3, 1 / 3, 1 / 3], "even split"),
        ([0, 1, 0, 0], "first"),
        ([0, 0, 0, 1], "last"),
        ([0, 0, 1, 0], "number 2 of 3"),
        ([0, 1, 1, 1], "every tied element"),
        ([0, 0, 0, 0], "none"),
        ([0, float("nan"), 0, 0], "NaN"),
        ([1, 0, 0, 0], "other: 1, 0, 0, 0"),
        ([0, 0.5, 0.5, 0], "other: 0.5, 0.5, 0"),
    ],
)
def test_the_conventions_of_a_tie(gradient, name):
    assert TIE.read(gradient) == name


@pytest.mark.parametrize(
    ("slope", "name"),
    [
        (-1.0, "left"),
        (3.0, "right"),
        (1.0, "mean"),
        (0.0, "zero"),
        (float("nan"), "NaN"),
        (float("inf"), "infinite"),
        (2.0, "slope 2"),
    ],
)
def test_the_conventions_of_a_kink(slope, name):
    assert Kink("f", "at 0", (), "", -1.0, 3.0).read([slope]) == name


def test_a_one_sided_slope_of_zero_says_so():
    assert Kink("relu", "at 0", (), "", 0.0, 1.0).read([0.0]) == "left (zero)"


def test_every_program_shows_a_convention_on_torch():
    found = programs()
    assert len({program.id for program in found}) == len(found) == len(TIES) + len(KINKS)
    for program in found:
        observed = trace(program, find("torch"))
        shown = convention_of(program.id, observed, observed)["oracle"]
        assert shown is not None and not shown.startswith("other"), program.id


def test_a_port_is_told_which_convention_it_follows():
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, dim):
            ctx.save_for_backward(x)
            return x.max()

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return torch.zeros_like(x).index_fill(0, x.argmax(), gradient.item()), None

    settings = Settings(isolation=False)
    backend = Here(changed(amax=First.apply))
    judge = Judge(settings, KnownDivergences(), sides=Sides(settings, backend=backend))
    program = next(p for p in programs() if p.id == "convention/amax/two-maxima")
    line = judge.line(program)
    assert line["convention"] == {
        "situation": "two maxima",
        "oracle": "even split",
        "backend": "first",
    }
    assert headline(line, ("values",)).endswith("first, where the oracle follows: even split")
    (shown,) = conventions([line])
    assert (shown.operator, shown.situation, shown.differs) == ("amax", "two maxima", True)
