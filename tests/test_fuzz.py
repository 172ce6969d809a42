"""Random programs: drawing, findings, shrinking, storage and replay."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import environment
from hypothesis import find, given, seed
from hypothesis import strategies as st

from conformance import backends
from conformance.base.levels import LEVELS
from conformance.compare.known import KnownDivergences
from conformance.execution.execute import trace
from conformance.fuzz import findings as kept_findings
from conformance.fuzz import report as reports_of_searches
from conformance.fuzz import search as searches
from conformance.fuzz.findings import folder, keep, own_folder
from conformance.fuzz.moves import MOVES, ONE, TWO, wider
from conformance.fuzz.program_builder import LiveTensor
from conformance.fuzz.programs import named, programs
from conformance.fuzz.report import search_report
from conformance.fuzz.scale import Scale
from conformance.fuzz.search import (
    HarnessFault,
    Search,
    Share,
    differs,
    profile,
    search_with,
    shares,
)
from conformance.fuzz.themes import THEMES
from conformance.program.givens import Given
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.run.plan import WrongInput
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection, findings

# Legitimate errors of drawn programs; any other error is a mistake of the strategy.
REFUSALS = (
    "a leaf Variable that requires grad is being used in an in-place operation",
    "a view of a leaf Variable that requires grad is being used in an in-place operation",
    "one of the variables needed for gradient computation has been modified",
    "unsupported operation: more than one element of the written-to tensor",
    "does not require grad and does not have a grad_fn",
)


DRAWS = 150


def search(backend: str, **options) -> Search:
    options = {"theme": "pointwise", "levels": ("values",), "isolation": False, **options}
    return searches.search(backend, "impl", **options)


@pytest.mark.parametrize("theme", list(THEMES))
def test_drawn_programs_do_what_they_mean_to_do(theme):
    pytest.importorskip("torch")
    oracle = backends.find("torch")
    drawn = set()

    @given(programs(theme))
    @profile(DRAWS)
    def run(program: Program) -> None:
        drawn.add(program.id)
        for step in trace(program, oracle).steps:
            message = step.error["message"] if step.error else ""
            assert not step.error or any(text in message for text in REFUSALS), message

    run()
    # Duplicates are rare; otherwise the strategies would cover little.
    assert len(drawn) > DRAWS // 2


def seen(theme: str, wanted) -> Program:
    """A program of the theme that satisfies `wanted`; raises NoSuchExample if none is drawn."""
    return find(programs(theme), wanted, settings=profile(600), random=random.Random("seen"))


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
    assert all(move in MOVES for moves in THEMES.values() for move in moves)
    assert set(THEMES["chains"]) == set(MOVES)


def test_an_unknown_theme_is_refused():
    with pytest.raises(KeyError, match="cheese"):
        searches.search("impl", "impl", theme="cheese", isolation=False)


def test_a_backend_that_does_not_exist_is_refused():
    with pytest.raises(WrongInput, match="no_such_backend"):
        searches.search("no_such_backend:namespace", "impl", isolation=False)


def test_a_fault_of_the_oracle_is_no_finding():
    line = {"outcome": "error", "reason": "the oracle: ValueError: odd", "source": "y = 1"}
    with pytest.raises(HarnessFault, match="ValueError: odd"):
        differs(line)
    assert differs({**line, "reason": "the backend: it died"})


def test_ties_are_common():
    ties = total = 0

    @seed(0)
    @given(programs("reductions"))
    @profile(100)
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
    path = keep(finding, tmp_path)
    assert path.name == f"{finding.program.id.removeprefix('fuzz/')}.json"
    (replayed,) = findings(tmp_path)
    assert replayed == finding.program
    judge = Judge(
        Settings(backend="miniature.kinks:relu", oracle="impl", isolation=False), KnownDivergences()
    )
    assert judge.line(replayed)["outcome"] == "diverges"


def test_the_identifier_is_the_hash_of_the_content():
    x = Given("x", "float32", (2,), (1.0, 2.0))
    program = named((x,), ["x.sum()"], "chains")
    assert program.id == named((x,), ["x.sum()"], "views").id
    assert program.id != named((x,), ["x.prod()"], "chains").id
    assert program.id != named((), ["x.sum()"], "chains").id
    kind, digest = program.id.split("/")
    assert kind == "fuzz"
    assert len(digest) == 12
    assert int(digest, 16) >= 0


def test_a_finding_pastes_as_ordinary_torch(tmp_path):
    finding = search("miniature.kinks:relu", examples=400).finding
    lines = finding.program.paste().splitlines()
    assert lines[0] == "import torch"
    assert lines[1].startswith("x = torch.tensor(")
    data = json.loads(keep(finding, tmp_path).read_text("utf-8"))
    assert data["area"] == "fuzz"
    assert "file" not in data or data["file"] is None


def judge_of(backend: str, *levels: str) -> Judge:
    selection = Selection(levels=levels or LEVELS)
    return Judge(
        Settings(backend=backend, oracle="impl", isolation=False, selection=selection),
        KnownDivergences(),
    )


POINTWISE = Share("pointwise", 0, 400, 400)


def test_a_report_shows_the_program_and_says_where_it_is_kept(tmp_path):
    report = search_report(judge_of("miniature.kinks:relu", "values"), POINTWISE, tmp_path)
    assert "torch.relu(x)" in report.message
    assert "first divergence" in report.message
    (path,) = tmp_path.glob("*.json")
    assert f"written to {path}: conform run --findings {tmp_path} replays it" in report.message
    assert f"show it again: conform show {report.line['id']}" in report.message
    assert f"--findings {tmp_path}" in report.message


def test_what_is_kept_where_the_suite_looks_is_replayed(tmp_path, monkeypatch):
    monkeypatch.setattr(reports_of_searches, "own_folder", lambda: tmp_path)
    report = search_report(judge_of("miniature.kinks:relu", "values"), POINTWISE, tmp_path)
    assert "the suite replays it from now on" in report.message
    assert "--findings" not in report.message


def test_a_finding_that_is_not_kept_can_be_drawn_again(tmp_path):
    report = search_report(judge_of("miniature.kinks:relu", "values"), POINTWISE, None)
    assert "it is not kept" in report.message
    assert (
        "show it again: conform fuzz --backend miniature.kinks:relu --oracle impl "
        "--theme pointwise --examples 400 --seed 0 --level values"
    ) in report.message


def test_what_cannot_be_kept_is_said(tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    report = search_report(judge_of("miniature.kinks:relu", "values"), POINTWISE, in_the_way)
    assert "it could not be kept" in report.message
    assert "torch.relu(x)" in report.message


def test_a_fault_of_the_harness_is_reported_and_is_no_finding(monkeypatch):
    def broken(*args):
        raise HarnessFault("the oracle: odd")

    monkeypatch.setattr(reports_of_searches, "search_with", broken)
    report = search_report(judge_of("impl"), POINTWISE, None)
    assert report.fault == "the oracle: odd"
    assert report.line is None


def test_shares_add_up_and_do_not_depend_on_each_other():
    drawn = shares(["views", "writes"], 250)
    assert [str(share) for share in drawn if share.theme == "views"] == [
        *("views-0", "views-1", "views-2")
    ]
    for theme in ("views", "writes"):
        assert sum(share.examples for share in drawn if share.theme == theme) == 250
    assert shares(["views", "writes"], 200) == [
        dataclasses.replace(share, total=200) for share in drawn if share.number < 2
    ]
    assert [str(share) for share in shares(examples=7)] == list(THEMES)


def test_shares_draw_different_programs():
    def drawn(number: int) -> set[str]:
        seen = set()
        judge = judge_of("impl")
        monkey = judge.line
        judge.line = lambda program: seen.add(program.id) or monkey(program)
        search_with(judge, 30, 0, "views", number)
        return seen

    assert drawn(0) == drawn(0)
    assert len(drawn(0) - drawn(1)) > 15


def test_what_is_drawn_does_not_depend_on_the_modules_that_are_loaded(tmp_path):
    # Hypothesis prefers the constants of local modules; this one has many of them.
    (tmp_path / "numbers_galore.py").write_text(f"NUMBERS = {list(range(2, 600))}")
    script = """
import sys
if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])
    import numbers_galore
from conformance.fuzz.search import search_with
from conformance.run.judge import Judge
from conformance.compare.known import KnownDivergences
from conformance.settings.settings import Settings
judge = Judge(Settings(backend="impl", oracle="impl", isolation=False), KnownDivergences())
line, drawn = judge.line, []
judge.line = lambda program: drawn.append(program.id) or line(program)
search_with(judge, 60, 0, "chains")
print(drawn)
"""
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script, *more],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for more in ([], [str(tmp_path)])
    )
    assert first.count("fuzz/") >= 60
    assert first == second
    assert not (tmp_path / ".hypothesis").exists()


def test_findings_are_written_into_a_checkout_and_never_into_an_installed_package(monkeypatch):
    monkeypatch.setattr(kept_findings, "checkout", lambda: Path("/somewhere"))
    assert folder() == own_folder()
    monkeypatch.setattr(kept_findings, "checkout", lambda: None)
    assert folder() == Path("findings")


def fuzz_suite(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """pytest with the plugin over the suite's module of random programs."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "conformance.plugin", "-p", "no:cacheprovider"),
            *("--pyargs", "conformance.test_fuzz", "--conform-oracle=impl", *arguments),
        ],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_the_number_of_programs_is_an_option(tmp_path):
    done = fuzz_suite(
        *("-k", "views", "--conform-examples=3", "--conform-backend=miniature.right:namespace"),
        "-v",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_random_programs[views] PASSED" in done.stdout


def test_under_pytest_a_finding_is_a_failure_with_the_program(tmp_path):
    done = fuzz_suite(
        *("--conform-backend=miniature.kinks:relu", "--conform-theme=pointwise"),
        *("--conform-examples=400", "--conform-level=values", "--conform-keep-in=found"),
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "\ny = torch.relu(x)" in done.stdout
    assert "conformance/run/judge.py" not in done.stdout
    assert len(list((tmp_path / "found").glob("*.json"))) == 1


def test_under_pytest_what_is_not_compared_is_no_pass(tmp_path):
    done = fuzz_suite(
        *("--conform-backend=torch:hpu", "--conform-theme=views", "--conform-examples=3"),
        cwd=tmp_path,
    )
    assert "1 skipped" in done.stdout, done.stdout + done.stderr


exact = st.builds(
    Scale, st.integers(0, 64).map(float), st.integers(0, 8), st.booleans(), st.just(True)
)


@given(exact, exact)
@profile(100)
def test_scales_bound_sums_and_products(a, b):
    for x in (-a.bound, a.bound, 2.0**-a.places):
        for y in (-b.bound, b.bound, 2.0**-b.places):
            for value, scale in ((x + y, a.plus(b)), (x * y, a.times(b))):
                if abs(x) <= a.bound and abs(y) <= b.bound:
                    assert abs(value) <= scale.bound
                    assert (value * 2**scale.places).is_integer()


@given(exact, exact)
@profile(100)
def test_scales_are_finite_only_if_both_are(a, b):
    assert a.plus(b).finite is (a.finite and b.finite)


def test_what_tells_zeros_apart_does_not_follow_what_chooses_between_them():
    choosing = r"torch\.(maximum|minimum|fmax|fmin|amax|amin|max|min|sort)\(([a-z])"
    telling = r"torch\.(reciprocal|sqrt|rsqrt|log|log2|log10)\(([a-z])\)"
    checked = 0

    @seed(0)
    @given(programs("chains"))
    @profile(400)
    def check(program: Program) -> None:
        nonlocal checked
        chosen = set()
        for line in program.source.splitlines():
            name = line.partition(" = ")[0]
            if re.search(choosing, line):
                chosen.add(name)
                checked += 1
            if told := re.search(telling, line):
                assert told[2] not in chosen, program.source

    check()
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
    live = [LiveTensor("x", shape, dtype, "x", True, True) for shape, dtype in (a, b)]
    made = [torch.zeros(shape, dtype=getattr(torch, dtype)) for shape, dtype in (a, b)]
    assert wider(*live) == expected
    assert (made[0] + made[1]).dtype == getattr(torch, expected)


def test_drawn_operators_are_those_of_the_samples():
    assert {"neg", "relu", "exp"} <= {o.name for o in ONE}
    assert {"add", "maximum", "fmax"} <= {o.name for o in TWO}
    assert all(not o.unlinked for o in (*ONE, *TWO))
