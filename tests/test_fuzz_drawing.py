"""Drawing of random programs: moves, modes, mutations, operators and tensors."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from command import environment
from made_searches import moved_program

from conformance import backends
from conformance.execution.execute import quiet, silent, trace
from conformance.fuzz.choices import Choices
from conformance.fuzz.draft import Draft
from conformance.fuzz.endings import end
from conformance.fuzz.modes import MODES
from conformance.fuzz.moves import MOVES, ONE, TWO, wider
from conformance.fuzz.mutations import mutated
from conformance.fuzz.operands import LAYOUTS, new_tensor
from conformance.fuzz.operators import offered, read_line, signatures
from conformance.fuzz.program_builder import LiveTensor
from conformance.fuzz.programs import Source, named
from conformance.fuzz.share import shares
from conformance.fuzz.themes import MOVED, THEMES
from conformance.run.plan import WrongInput

# Legitimate errors of drawn programs; any other error is a mistake of a move.
REFUSALS = (
    "a leaf Variable that requires grad is being used in an in-place operation",
    "a view of a leaf Variable that requires grad is being used in an in-place operation",
    "one of the variables needed for gradient computation has been modified",
    "unsupported operation: more than one element of the written-to tensor",
    "does not require grad and does not have a grad_fn",
)
DRAWS = 150


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


DRAWN = """
import json, sys
from conformance import backends
from conformance.fuzz.choices import Choices
from conformance.fuzz.programs import Source, named
source = Source(backends.find("impl"))
def drawn(theme):
    return [named(source.draw(theme, Choices(f"0/{k}")), "").id for k in range(40)]
print(json.dumps({theme: drawn(theme) for theme in sys.argv[1:]}))
"""
APART = ("operators", "layers", "views")


@pytest.fixture(scope="module")
def drawn_apart(tmp_path_factory) -> list[dict[str, list[str]]]:
    """By theme, the programs that two processes draw whose sets have other orders."""
    folder = tmp_path_factory.mktemp("apart")
    drawn = [
        subprocess.run(
            [sys.executable, "-c", DRAWN, *APART],
            cwd=folder,
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert list(folder.iterdir()) == []
    return list(map(json.loads, drawn))


@pytest.mark.parametrize("theme", APART)
def test_what_is_drawn_does_not_depend_on_the_process(drawn_apart, theme):
    first, second = (drawn[theme] for drawn in drawn_apart)
    assert len(first) == 40 and all(name.startswith("fuzz/") for name in first)
    assert first == second


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
