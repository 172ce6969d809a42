"""Random programs: drawing, findings, shrinking, storage and replay."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest
from command import environment
from hypothesis import given
from hypothesis import strategies as st

from conformance import backends
from conformance.compare.verdict import Divergence
from conformance.execution.execute import quiet, silent, trace
from conformance.fuzz import findings as kept_findings
from conformance.fuzz.choices import Choices
from conformance.fuzz.corpus import read_corpus, write_corpus
from conformance.fuzz.coverage import Coverage
from conformance.fuzz.draft import Draft
from conformance.fuzz.endings import end
from conformance.fuzz.findings import folder, keep, own_folder
from conformance.fuzz.modes import MODES
from conformance.fuzz.moves import MOVES, ONE, TWO, wider
from conformance.fuzz.mutations import mutated
from conformance.fuzz.operands import LAYOUTS, new_tensor
from conformance.fuzz.operators import offered, read_line, signatures
from conformance.fuzz.program_builder import LiveTensor
from conformance.fuzz.programs import Source, moved, named
from conformance.fuzz.rounding import is_rounding
from conformance.fuzz.scale import Scale
from conformance.fuzz.share import Found, Report, Share, program_of, shares
from conformance.fuzz.shrinking import shrunk, simpler
from conformance.fuzz.themes import MOVED, SHARE, THEMES
from conformance.fuzz.workers import Here
from conformance.program.operations import operator_of
from conformance.program.program import Program
from conformance.run.plan import WrongInput
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection, findings

# Legitimate errors of drawn programs; any other error is a mistake of a move.
REFUSALS = (
    "a leaf Variable that requires grad is being used in an in-place operation",
    "a view of a leaf Variable that requires grad is being used in an in-place operation",
    "one of the variables needed for gradient computation has been modified",
    "unsupported operation: more than one element of the written-to tensor",
    "does not require grad and does not have a grad_fn",
)
DRAWS = 150


def settings(backend: str, *levels: str, **more) -> Settings:
    selection = Selection(levels=levels or ("values",))
    return Settings(backend=backend, oracle="impl", isolation=False, selection=selection, **more)


def search(backend: str, examples: int = 400, theme: str = "pointwise", **more) -> Report:
    return Here(settings(backend, **more)).share(Share(theme, 0, examples, examples))


def moved_program(theme: str, index: int) -> Program:
    return named(moved(Choices(f"0/{theme}/{index}"), MOVED[theme]), "")


@pytest.mark.parametrize("theme", list(MOVED))
def test_moves_do_what_they_mean_to_do(theme):
    pytest.importorskip("torch")
    oracle = backends.find("torch")
    drawn = set()
    for index in range(DRAWS):
        program = moved_program(theme, index)
        drawn.add(program.id)
        for step in trace(program, oracle).steps:
            message = step.error["message"] if step.error else ""
            assert not step.error or any(text in message for text in REFUSALS), message
    # Duplicates are rare; otherwise the moves would cover little.
    assert len(drawn) > DRAWS // 2


@pytest.mark.parametrize(
    ("theme", "wanted"),
    [
        ("pointwise", r"float\('nan'\)"),
        ("pointwise", r"float\('inf'\)"),
        ("pointwise", r"-0\.0"),
        ("pointwise", r"x = torch\.tensor\(-?\d"),
        ("pointwise", r"torch\.empty\("),
        ("pointwise", r"torch\.tensor\(\[\[\["),
        ("pointwise", r"as_strided\(.*\(0, "),
        ("reductions", r"torch\.amax\("),
        ("reductions", r"retain_graph"),
        ("views", r"torch\.cat\("),
        ("writes", r"\.detach\(\)\.zero_\(\)"),
        ("writes", r"\[0\] = 2\.0"),
        ("products", r" @ "),
        ("operators", r"torch\.linalg\."),
        ("operators", r"torch\.fft\."),
        ("operators", r"torch\.special\."),
        ("operators", r"out="),
        ("operators", r"np\.float"),
        ("operators", r"\.register_hook"),
        ("operators", r"create_graph=True"),
        ("operators", r"inputs="),
        ("operators", r"make_dual"),
        ("operators", r"no_grad\(\)"),
        ("operators", r"inference_mode"),
        ("operators", r"saved_tensors_hooks"),
        ("operators", r"anomaly"),
        ("operators", r"threading\.Thread"),
        ("operators", r"repr\("),
        ("operators", r"channels_last"),
        ("layers", r"torch\.nn\.Conv"),
        ("layers", r"state_dict"),
        ("optimisers", r"torch\.optim\.SGD"),
        ("optimisers", r"\.step\("),
    ],
)
def test_what_the_suite_asks_for_is_drawn(theme, wanted):
    assert re.search(wanted, drawn_text(theme)), wanted


_TEXTS: dict[str, str] = {}


def drawn_text(theme: str) -> str:
    if theme not in _TEXTS:
        source = Source(backends.find("impl"))
        with source.oracle.session(), quiet(), silent():
            programs = [source.draw(theme, Choices(f"1/{theme}/{k}")) for k in range(700)]
        _TEXTS[theme] = "\n".join("\n".join(statements) for statements in programs)
    return _TEXTS[theme]


def test_the_table_of_operators_has_torchs_public_names():
    names = {name for signature in signatures() for name in signature.spellings}
    assert {"torch.add", "Tensor.add_", "torch.linalg.norm", "torch.fft.fft"} <= names
    assert {"torch.nn.functional.gelu", "torch.special.erfcx", "Tensor.T"} <= names
    assert {"torch.nn.Conv2d"} <= {s.spellings[0] for s in signatures("modules")}
    assert {"torch.optim.Adam"} <= {s.spellings[0] for s in signatures("optimisers")}
    assert not any("empty" in name for name in names), "their values are not defined"


def test_the_table_is_that_of_the_torch_that_is_installed():
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.15"):
        pytest.skip("the table is of torch 2.15")
    assert all(offered(torch, name) for s in signatures() for name in s.spellings)


def test_a_signature_is_read():
    read = read_line("torch.sum Tensor.sum (Tensor self, int[]? dim, bool keepdim=False, *, x y=1)")
    assert read.spellings == ("torch.sum", "Tensor.sum")
    assert [a.type for a in read.arguments] == ["Tensor", "int[]", "bool", "x"]
    assert [a.default for a in read.arguments] == [None, None, "False", "1"]
    assert [a.optional for a in read.arguments] == [False, True, False, False]
    assert [a.keyword for a in read.arguments] == [False, False, False, True]
    with pytest.raises(ValueError, match="not an argument"):
        read_line("torch.sum (Tensor)")


def test_tensors_have_every_layout_and_what_is_drawn_runs():
    impl = backends.find("impl")
    text = ""
    for k in range(400):
        draft = Draft(Choices(f"layout/{k}"), impl)
        name = new_tensor(draft)
        assert isinstance(draft.namespace[name], impl.namespace.Tensor)
        text += draft.statements[-1] + "\n"
    assert len(LAYOUTS) == 9
    for part in ("movedim", "[::2]", "[1:]", ".expand(", "channels_last", "as_strided", "numpy()"):
        assert part in text, part


def test_a_draft_keeps_only_statements_that_run():
    draft = Draft(Choices("x"), backends.find("impl"))
    assert draft.attempt("x = torch.ones(2, requires_grad=True)")
    assert not draft.attempt("y = x.no_such_thing")
    assert not draft.attempt("y = torch.ones(100, 100)"), "too large to compare"
    assert draft.attempt("y = x * np.float32(2)")
    assert draft.statements[1] == "import numpy as np"
    assert draft.linked() == ["y"]
    end(draft)
    assert len(draft.statements) > 3


@pytest.mark.parametrize("mode", list(MODES), ids=lambda mode: mode.__name__)
def test_modes_make_programs_that_parse(mode):
    for k in range(20):
        statements = mode(Choices(str(k)), ["x = torch.ones(2)", "y = x * 2", "y.sum()"])
        assert named(statements, "").statements


def test_mutations_change_a_program():
    statements = ["x = torch.ones(2, dtype=torch.float64)", "y = torch.sum(x, dim=0)", "z = y + 1"]
    changed = {"\n".join(mutated(Choices(str(k)), statements)) for k in range(40)}
    assert len(changed) > 15
    assert mutated(Choices("1"), statements) == mutated(Choices("1"), statements)


def test_themes_are_made_of_moves():
    assert all(move in MOVES for moves in MOVED.values() for move in moves)
    assert set(MOVED["chains"]) == set(MOVES)
    assert set(MOVED) < set(THEMES)


def test_an_unknown_theme_is_refused():
    with pytest.raises(WrongInput, match="cheese"):
        shares(["cheese"])


def test_nothing_is_found_on_a_backend_that_is_right():
    result = search("miniature.right:namespace", 60)
    assert not result.found
    assert set(result.outcomes) == {"conforms"}


def of_relu(report: Report) -> Found:
    """The divergence whose program ends with relu; those that follow it with more show it, too."""
    return next(found for found in report.found if found.cause.operator == "gradient of relu")


def test_a_finding_is_shrunk_to_what_matters():
    here = Here(settings("miniature.kinks:relu"))
    found = of_relu(here.share(Share("pointwise", 3, 400, 400)))
    statements, cause = here.shrink(found.statements, found.cause)
    assert cause.field == "values"
    assert len(statements) < len(found.statements) or len(statements) <= 4
    assert "relu" in "".join(statements)


def test_a_tie_is_found_and_the_share_goes_on():
    result = search("miniature.kinks:maximum", 500)
    assert result.programs == 500
    assert "gradient of maximum" in {found.cause.operator for found in result.found}
    assert sum(found.count for found in result.found) > len(result.found)


def test_the_same_seed_finds_the_same_and_another_seed_draws_others():
    first, again = (search("miniature.kinks:relu").to_json() for _ in range(2))
    for report in (first, again):
        del report["reached"], report["seconds"]
    assert first == again
    assert search("miniature.kinks:relu", seed=1).to_json()["found"] != first["found"]


def test_a_name_that_the_backend_lacks_is_not_drawn_or_not_a_finding():
    result = search("miniature.kinks:without_relu", 200)
    assert not result.found
    assert result.outcomes["unsupported"] > 0
    assert result.lacking["torch.relu"] > 0
    lacking = backends.find("miniature.kinks:without_relu")
    drawn = Source(backends.find("impl"), lacking).operators
    assert not any("torch.relu" in s.spellings[:1] for s in drawn)


def test_a_finding_is_kept_once_per_cause_and_replayed(tmp_path):
    found = of_relu(search("miniature.kinks:relu"))
    program = program_of(found)
    path = keep(program, tmp_path)
    assert path.name == f"{program.id.removeprefix('fuzz/')}.json"
    other = dataclasses.replace(program, id="fuzz/0", source=program.source + "1\n")
    assert keep(other, tmp_path) == path
    (replayed,) = findings(tmp_path)
    assert replayed == program
    assert replayed.area == "fuzz"
    assert json.loads(path.read_text("utf-8"))["file"] is None


def test_the_identifier_is_the_hash_of_the_content():
    program = named(["x = torch.ones(2)"], "one")
    assert program.id == named(["x = torch.ones(2)"], "two").id
    assert program.id != named(["x = torch.ones(3)"], "one").id
    kind, digest = program.id.split("/")
    assert kind == "fuzz"
    assert len(digest) == 12
    assert int(digest, 16) >= 0


@pytest.mark.parametrize(
    ("source", "operator"),
    [
        ("y = torch.sum(x)", "sum"),
        ("y = x.sin().cos()", "cos"),
        ("y = x + 1", "Add"),
        ("x += 1", "Add="),
        ("x[0] = 1", "setitem"),
        ("y = x[0]", "getitem"),
        ("y = x.T", "T"),
        ("with torch.no_grad():\n    y = torch.exp(x)", "exp"),
        ("x.grad = None", "grad="),
    ],
)
def test_the_operator_of_a_statement(source, operator):
    assert operator_of(source) == operator


def test_shrinking_drops_statements_unwraps_blocks_and_simplifies_arguments():
    statements = [
        "x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)",
        "a = x * 1",
        "with torch.no_grad():\n    b = torch.sum(x, dim=0, keepdim=True)\n    c = b * 2",
    ]

    def still(tried: list[str]) -> bool:
        return "torch.sum(x" in "\n".join(tried) and "x = " in "\n".join(tried)

    small = shrunk(statements, still)
    assert small[1:] == ["b = torch.sum(x)"]
    assert list(simpler("def broken(")) == []


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


def test_coverage_counts_the_lines_that_a_program_reaches_first():
    coverage = Coverage("impl")
    program = named(["x = torch.ones(2, requires_grad=True)", "(x * 2).sum().backward()"], "")
    impl = backends.find("impl")
    with coverage.watched():
        trace(program, impl)
    first = len(coverage.reached)
    assert first > 50
    with coverage.watched():
        trace(program, impl)
    assert len(coverage.reached) < first / 5
    assert first < coverage.total()
    assert all(name.endswith(".py") for name, _ in coverage.lines)
    with Coverage("cmd: something").watched():
        pass


def test_a_corpus_is_written_small_and_read_back(tmp_path):
    lines = [("a.py", 1), ("a.py", 2)]
    reached = [(["x = 1"], lines[:1]), (["x = 2", "y = 3"], lines), (["x = 4"], lines[1:])]
    assert write_corpus(tmp_path, reached) == 1
    assert read_corpus(tmp_path) == [["x = 2", "y = 3"]]
    assert read_corpus(tmp_path / "new") == []
    assert read_corpus(None) == []


@pytest.mark.parametrize("content", [b"def (", b"", b"\xff\xfe", b"x = 1\n" * 20000])
def test_a_malformed_corpus_is_refused(tmp_path, content):
    (tmp_path / "odd.py").write_bytes(content)
    with pytest.raises(WrongInput, match=r"odd\.py: not a program of the corpus"):
        read_corpus(tmp_path)


def test_shares_add_up_and_do_not_depend_on_each_other():
    drawn = shares(["views", "writes"], SHARE * 2 + 50)
    assert [str(share) for share in drawn if share.theme == "views"] == [
        *("views-0", "views-1", "views-2")
    ]
    for theme in ("views", "writes"):
        assert sum(share.examples for share in drawn if share.theme == theme) == SHARE * 2 + 50
    assert shares(["views", "writes"], SHARE * 2) == [
        dataclasses.replace(share, total=SHARE * 2) for share in drawn if share.number < 2
    ]
    assert [str(share) for share in shares(examples=7)] == list(THEMES)


@pytest.mark.parametrize("theme", ["operators", "layers", "views"])
def test_what_is_drawn_does_not_depend_on_the_process(tmp_path, theme):
    script = f"""
from conformance import backends
from conformance.fuzz.choices import Choices
from conformance.fuzz.programs import Source, named
impl = backends.find("impl")
source = Source(impl)
print([named(source.draw("{theme}", Choices(f"0/{{k}}")), "").id for k in range(40)])
"""
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert first.count("fuzz/") == 40
    assert first == second
    assert list(tmp_path.iterdir()) == []


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
    assert list((tmp_path / "found").glob("*.json"))


def test_under_pytest_what_is_not_compared_is_no_pass(tmp_path):
    done = fuzz_suite(
        *("--conform-backend=torch:hpu", "--conform-theme=views", "--conform-examples=3"),
        cwd=tmp_path,
    )
    assert "1 skipped" in done.stdout, done.stdout + done.stderr


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
