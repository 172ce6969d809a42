"""Rounding in random programs: differences that it explains, and scales that keep numbers exact."""

from __future__ import annotations

import re

import hypothesis
from hypothesis import given
from hypothesis import strategies as st
from made_searches import moved_program

from conformance import backends
from conformance.compare.verdict import Divergence
from conformance.execution.execute import trace
from conformance.fuzz.programs import named
from conformance.fuzz.rounding import is_rounding
from conformance.fuzz.scale import Scale


def rounding_of(source: str, field: str):
    """The value of a field of y after the second statement of a program, and the test of whether
    rounding explains another value."""
    oracle = backends.find("impl")
    program = named(source.splitlines(), "")
    expected = trace(program, oracle)
    shown = expected.steps[1].changed["y"][field]

    def explains(got, index=None) -> bool:
        step = Divergence(1, 3, "y", field, shown, got, index)
        return is_rounding(program, step, expected, lambda p: trace(p, oracle))

    return shown, explains


def test_a_difference_that_rounding_makes_is_no_finding():
    source = "x = torch.tensor([0.1, 0.2, 0.3])\ny = (x * 1e7).floor() - 1e7 * x\n"
    values, explains = rounding_of(source, "values")
    assert explains([v + 1e-8 for v in values], 0)
    assert not explains([1e6] * 3, 0)


def test_texts_differ_by_rounding_where_only_their_numbers_do():
    source = "x = torch.tensor([0.1, 0.2])\ny = str(((x * 1e7).floor() - 1e7 * x).sum())\n"
    text, explains = rounding_of(source, "value")
    number = float(text[7:-1])
    assert explains(f"tensor({number + 1e-8})")
    for got in (f"Tensor({number + 1e-8})", "tensor(1e6)", text):
        assert not explains(got), got


def test_singular_matrices_move_each_number_by_itself():
    ones = "x = torch.ones(2, 2)\n"
    values, explains = rounding_of(ones + "y = torch.linalg.pinv(x, 0.0)\n", "values")
    assert explains([-v for v in values], 0)
    values, explains = rounding_of(ones + "y = torch.linalg.inv(x + torch.eye(2))\n", "values")
    assert not explains([v + 0.01 for v in values], 0)


def test_numbers_of_float32_agree_whatever_dtype_they_are_stored_in():
    call = "torch.digamma(x, out=torch.zeros(0, dtype=torch.float64))"
    values, explains = rounding_of(f"x = torch.tensor([1, 255])\ny = {call}\n", "values")
    assert explains([-0.5772159099578857, values[1]], 0)
    assert not explains([-0.5772156649015329, values[1]], 0)  # of float64
    text, explains = rounding_of("x = torch.tensor([2.0, 3.0])\ny = str(x / 3)\n", "value")
    assert explains(text.replace("0.6667", "0.6666"))
    assert not explains(text.replace("0.6667", "-0.6667"))


exact = st.builds(
    Scale, st.integers(0, 64).map(float), st.integers(0, 8), st.booleans(), st.just(True)
)
few = hypothesis.settings(max_examples=100, database=None, deadline=None, derandomize=True)


@given(exact, exact)
@few
def test_scales_bound_sums_and_products(a, b):
    for x in (-a.bound, a.bound, 2.0**-a.places):
        for y in (-b.bound, b.bound, 2.0**-b.places):
            for value, scale in ((x + y, a.plus(b)), (x * y, a.times(b))):
                if abs(x) <= a.bound and abs(y) <= b.bound:
                    assert abs(value) <= scale.bound
                    assert (value * 2**scale.places).is_integer()


@given(exact, exact)
@few
def test_scales_are_finite_only_if_both_are(a, b):
    assert a.plus(b).finite is (a.finite and b.finite)


def test_what_tells_zeros_apart_does_not_follow_what_chooses_between_them():
    choosing = r"torch\.(maximum|minimum|fmax|fmin|amax|amin|max|min|sort)\(([a-z])"
    telling = r"torch\.(reciprocal|sqrt|rsqrt|log|log2|log10)\(([a-z])\)"
    checked = 0
    for index in range(600):
        program = moved_program("chains", index)
        chosen = set()
        for line in program.source.splitlines():
            name = line.partition(" = ")[0]
            if re.search(choosing, line):
                chosen.add(name)
                checked += 1
            if told := re.search(telling, line):
                assert told[2] not in chosen, program.source
    assert checked > 30


def test_the_sign_of_a_zero_stays_open():
    assert Scale().plus(Scale()).times(Scale()).signed
    assert not Scale().plus(Scale().chosen()).signed
    assert not Scale().chosen().times(Scale()).to_the(2).signed


def test_a_scale_is_exact_only_as_far_as_float32_is():
    scale = Scale(bound=2.0, places=1)
    grown = [scale]
    while grown[-1].exact:
        grown.append(grown[-1].times(grown[-1]))
    assert 2 < len(grown) < 6
    assert not grown[-1].times(scale).exact
    assert not scale.rounded().exact
