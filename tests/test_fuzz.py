"""Tests of random programs: what is drawn, what is found, how it is shrunk, kept and replayed."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys

import pytest
from command import environment
from hypothesis import find, given
from hypothesis import strategies as st

from conformance import backends, fuzz
from conformance.execute import trace
from conformance.judge import Judge
from conformance.known import KnownDivergences
from conformance.moves import MOVES, ONE, TWO, Live, wider
from conformance.options import Settings
from conformance.plan import WrongInput
from conformance.program import Given, Program
from conformance.scale import Scale
from conformance.suite import Selection, findings
from conformance.test_fuzz import test_random_programs as random_programs

# What a drawn program may be refused for; anything else is a slip of the strategy.
REFUSALS = (
    "a leaf Variable that requires grad is being used in an in-place operation",
    "a view of a leaf Variable that requires grad is being used in an in-place operation",
    "one of the variables needed for gradient computation has been modified",
    "unsupported operation: more than one element of the written-to tensor",
    "does not require grad and does not have a grad_fn",
)


def search(backend: str, **options) -> fuzz.Search:
    options = {"theme": "pointwise", "levels": ("values",), "isolation": False, **options}
    return fuzz.search(backend, "impl", **options)


@pytest.mark.parametrize("theme", list(fuzz.THEMES))
def test_drawn_programs_do_what_they_mean_to_do(theme):
    pytest.importorskip("torch")
    oracle = backends.find("torch")
    drawn = set()

    @given(fuzz.programs(theme))
    @fuzz.profile(150)
    def run(program: Program) -> None:
        drawn.add(program.id)
        for step in trace(program, oracle).steps:
            message = step.error["message"] if step.error else ""
            assert not step.error or any(text in message for text in REFUSALS), message

    run()
    assert len(drawn) > 100


def seen(theme: str, wanted) -> Program:
    """A program of the theme of which `wanted` holds; raises NoSuchExample if none is drawn."""
    return find(
        fuzz.programs(theme), wanted, settings=fuzz.profile(600), random=random.Random("seen")
    )


def has_value(program: Program, wanted) -> bool:
    return any(wanted(v) for g in program.givens if g.name != "v" for v in g.values)


@pytest.mark.parametrize(
    ("theme", "wanted"),
    [
        ("pointwise", lambda p: has_value(p, math.isnan)),
        ("pointwise", lambda p: has_value(p, math.isinf)),
        ("pointwise", lambda p: has_value(p, lambda v: v == 0 and math.copysign(1, v) < 0)),
        ("pointwise", lambda p: any(g.shape == () for g in p.givens)),
        ("pointwise", lambda p: any(0 in g.shape for g in p.givens)),
        ("pointwise", lambda p: any(len(g.shape) == 3 for g in p.givens)),
        ("pointwise", lambda p: any(g.strides and 0 in g.strides for g in p.givens)),
        ("pointwise", lambda p: {g.dtype for g in p.givens} == {"float32", "float64"}),
        ("reductions", lambda p: "torch.amax(" in p.source),
        ("reductions", lambda p: "retain_graph" in p.source),
        ("views", lambda p: "torch.cat(" in p.source),
        ("writes", lambda p: ".detach().zero_()" in p.source),
        ("writes", lambda p: "[0] = 2.0" in p.source),
        ("products", lambda p: " @ " in p.source),
        ("chains", lambda p: p.source.count("\n") == 5),
    ],
)
def test_what_the_suite_asks_for_is_drawn(theme, wanted):
    assert wanted(seen(theme, wanted))


def test_themes_are_made_of_moves():
    assert all(move in MOVES for moves in fuzz.THEMES.values() for move in moves)
    assert set(fuzz.THEMES["chains"]) == set(MOVES)


def test_an_unknown_theme_is_refused():
    with pytest.raises(KeyError, match="cheese"):
        fuzz.search("impl", "impl", theme="cheese", isolation=False)


def test_a_backend_that_does_not_exist_is_refused():
    with pytest.raises(WrongInput, match="no_such_backend"):
        fuzz.search("no_such_backend:namespace", "impl", isolation=False)


def test_a_fault_of_the_oracle_is_no_finding():
    line = {"outcome": "error", "reason": "the oracle: ValueError: odd", "source": "y = 1"}
    with pytest.raises(fuzz.HarnessFault, match="ValueError: odd"):
        fuzz.differs(line)
    assert fuzz.differs({**line, "reason": "the backend: it died"})


def test_ties_are_common():
    ties = total = 0

    @given(fuzz.programs("reductions"))
    @fuzz.profile(100)
    def count(program: Program) -> None:
        nonlocal ties, total
        values = program.givens[0].values
        total += 1
        ties += len(set(values)) < len(values)

    count()
    assert ties > total / 4


def test_nothing_is_found_on_a_backend_that_is_right():
    result = search("miniature.right:namespace", examples=60)
    assert result.finding is None
    assert set(result.outcomes) == {"conforms"}
    assert result.outcomes["conforms"] > 40


def test_a_finding_is_shrunk_to_what_matters():
    finding = search("miniature.kinks:relu", examples=400).finding
    assert finding is not None
    assert "relu" in finding.program.source
    assert len(finding.program.source.splitlines()) == 2
    leaf = finding.program.givens[0]
    assert len(leaf.values) == 1
    assert leaf.values[0] == 0
    assert finding.line["outcome"] == "diverges"
    assert finding.line["divergences"]["values"]["field"] == "grad.values"


def test_a_tie_is_found():
    finding = search("miniature.kinks:maximum", examples=600).finding
    assert finding is not None
    assert "maximum" in finding.program.source


def test_the_same_seed_finds_the_same_and_another_seed_draws_others():
    first, again = (search("miniature.kinks:relu", examples=400) for _ in range(2))
    assert first.finding.program == again.finding.program
    assert first.outcomes == again.outcomes
    other = search("miniature.kinks:relu", examples=400, seed=1)
    assert other.outcomes != first.outcomes


def test_a_name_that_the_backend_lacks_is_no_finding():
    result = search("miniature.kinks:without_relu", examples=200)
    assert result.finding is None
    assert result.outcomes["unsupported"] > 0


def test_a_finding_is_kept_and_replayed(tmp_path):
    finding = search("miniature.kinks:relu", examples=400).finding
    path = fuzz.keep(finding, tmp_path)
    assert path.name == f"{finding.program.id.removeprefix('fuzz/')}.json"
    (replayed,) = findings(tmp_path)
    assert replayed == finding.program
    judge = Judge(
        Settings(backend="miniature.kinks:relu", oracle="impl", isolation=False), KnownDivergences()
    )
    assert judge.line(replayed)["outcome"] == "diverges"


def test_what_cannot_be_kept_is_said(tmp_path):
    program = fuzz.named((), ["y = 1"], "chains")
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    said = fuzz.kept(fuzz.Finding(program, {}), in_the_way)
    assert said.startswith("could not be kept")


def test_the_identifier_is_the_hash_of_the_content():
    x = Given("x", "float32", (2,), (1.0, 2.0))
    program = fuzz.named((x,), ["x.sum()"], "chains")
    assert program.id == fuzz.named((x,), ["x.sum()"], "views").id
    assert program.id != fuzz.named((x,), ["x.prod()"], "chains").id
    assert program.id != fuzz.named((), ["x.sum()"], "chains").id
    kind, digest = program.id.split("/")
    assert kind == "fuzz"
    assert len(digest) == 12
    assert int(digest, 16) >= 0


def test_a_finding_pastes_as_ordinary_torch(tmp_path):
    finding = search("miniature.kinks:relu", examples=400).finding
    lines = finding.program.paste().splitlines()
    assert lines[0] == "import torch"
    assert lines[1].startswith("x = torch.tensor(")
    data = json.loads(fuzz.keep(finding, tmp_path).read_text("utf-8"))
    assert data["area"] == "fuzz"
    assert "file" not in data or data["file"] is None


def test_the_suite_reports_a_finding_with_the_program_and_where_it_is_kept(
    tmp_path, monkeypatch, pytestconfig
):
    monkeypatch.setattr(fuzz, "folder", lambda: tmp_path)
    settings = Settings(
        backend="miniature.kinks:relu",
        oracle="impl",
        isolation=False,
        selection=Selection(levels=("values",)),
    )
    judge = Judge(settings, KnownDivergences())
    with pytest.raises(pytest.fail.Exception) as failed:
        random_programs("pointwise", judge, settings, pytestconfig)
    message = str(failed.value)
    assert "torch.relu(x)" in message
    assert "first divergence" in message
    assert "the suite replays it from now on" in message
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_the_suite_passes_on_a_backend_that_is_right(pytestconfig):
    settings = Settings(backend="miniature.right:namespace", oracle="impl", isolation=False)
    random_programs("views", Judge(settings, KnownDivergences()), settings, pytestconfig)


def test_the_number_of_programs_is_an_option(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "conformance.plugin", "-p", "no:cacheprovider"),
            *("--pyargs", "conformance.test_fuzz", "-k", "views", "--conform-examples=3", "-v"),
            *("--conform-backend=miniature.right:namespace", "--conform-oracle=impl"),
        ],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_random_programs[views] PASSED" in done.stdout


exact = st.builds(
    Scale, st.integers(0, 64).map(float), st.integers(0, 8), st.booleans(), st.just(True)
)


@given(exact, exact)
@fuzz.profile(100)
def test_scales_bound_sums_and_products(a, b):
    for x in (-a.bound, a.bound, 2.0**-a.places):
        for y in (-b.bound, b.bound, 2.0**-b.places):
            for value, scale in ((x + y, a.plus(b)), (x * y, a.times(b))):
                if abs(x) <= a.bound and abs(y) <= b.bound:
                    assert abs(value) <= scale.bound
                    assert (value * 2**scale.places).is_integer()


@given(exact, exact)
@fuzz.profile(100)
def test_scales_are_finite_only_if_both_are(a, b):
    assert a.plus(b).finite is (a.finite and b.finite)


def test_a_scale_is_exact_only_as_far_as_float32_is():
    scale = Scale(bound=2.0, places=1)
    grown = [scale]
    while grown[-1].exact:
        grown.append(grown[-1].times(grown[-1]))
    assert 2 < len(grown) < 6
    assert not grown[-1].times(scale).exact
    assert not scale.rounded().exact


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (((2,), "float32"), ((2,), "float64"), "float64"),
        (((2,), "float32"), ((), "float64"), "float32"),
        (((), "float32"), ((2,), "float64"), "float64"),
        (((), "float32"), ((), "float64"), "float64"),
    ],
)
def test_the_wider_type_is_torchs(a, b, expected):
    torch = pytest.importorskip("torch")
    live = [Live("x", shape, dtype, "x", True, True) for shape, dtype in (a, b)]
    made = [torch.zeros(shape, dtype=getattr(torch, dtype)) for shape, dtype in (a, b)]
    assert wider(*live) == expected
    assert (made[0] + made[1]).dtype == getattr(torch, expected)


def test_drawn_operators_are_those_of_the_samples():
    assert {"neg", "relu", "exp"} <= {o.name for o in ONE}
    assert {"add", "maximum", "fmax"} <= {o.name for o in TWO}
    assert all(not o.unlinked for o in (*ONE, *TWO))
