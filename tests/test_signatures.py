"""The table of torch's signatures, by which `impl` reads arguments and the suite draws calls."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import impl
from conformance import signatures
from conformance.signatures.python import read_python_table
from conformance.signatures.table import read_table
from impl.arg_parser.unordered_map import unordered

ROOT = Path(__file__).parent.parent


def test_impl_and_the_suite_have_one_table() -> None:
    ours = (ROOT / "impl/arg_parser/signatures.txt").read_text().splitlines()
    public = [line for line in ours if not line.startswith(("_VF.", "_nn.", "_Tensor."))]
    theirs = (ROOT / "conformance/signatures/torch.txt").read_text().splitlines()
    assert public == [line.partition("\t")[0] for line in theirs]


def test_the_table_is_what_its_tool_reads_from_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    table = (ROOT / "impl/arg_parser/signatures.txt").read_text().splitlines()
    if not torch.__version__.startswith("2.15."):
        pytest.skip("the table is that of torch 2.15")
    assert runpy.run_path(str(ROOT / "tools/signature_table.py"))["signature_lines"]() == table


def test_the_table_of_python_functions_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.__version__.startswith("2.15."):
        pytest.skip("the table is that of torch 2.15")
    lines = runpy.run_path(str(ROOT / "tools/python_signature_table.py"))["signature_lines"]()
    stored = (ROOT / "conformance/signatures/python.txt").read_text().splitlines()
    assert lines == [line.partition("\t")[0] for line in stored]


def test_layers_have_their_own_parameters() -> None:
    with pytest.raises(TypeError, match=r"^_MaxPoolNd.__init__\(\) missing 1 required"):
        impl.nn.MaxPool1d()
    with pytest.raises(TypeError, match=r"^ReLU.forward\(\) got an unexpected keyword"):
        impl.nn.ReLU()(x=1)
    assert impl.nn.L1Loss()(input=impl.ones(2), target=impl.zeros(2)) == 1


def test_every_program_is_a_program() -> None:
    programs = list(signatures.programs())
    assert len(programs) == 2 * len(read_table()) + 3 * len(read_python_table()) > 4500
    assert all(program.statements for program in programs)


def test_keywords_are_listed_as_in_a_map_of_libstdcpp() -> None:
    assert unordered(["start", "step", "end"]) == ["end", "step", "start"]


def test_spellings_of_numpy_are_read() -> None:
    x = impl.ones(2, 3)
    assert x.sum(axis=1, keepdims=True).shape == (2, 1)
    assert impl.add(x1=x, x2=x).sum() == 12
    assert impl.zeros(2, dtype=float).dtype is impl.float64


def test_a_list_that_was_accepted_alone_does_not_vouch_for_another_argument() -> None:
    x = impl.ones(2)
    impl.cat([x])
    with pytest.raises(TypeError, match=r"argument 'dim' .position 2. must be int, not Tensor"):
        impl.cat([x], impl.tensor(0.5))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: x.sum(0, 1), "sum(): argument 'keepdim' (position 2) must be bool, not int"),
        (lambda x: impl.sin(), 'sin() missing 1 required positional arguments: "input"'),
        (lambda x: x.cumsum("a"), "cumsum(): argument 'dim' (position 1) must be int, not str"),
        (lambda x: impl.cat([x, 3]), "expected Tensor as element 1 in argument 0, but got int"),
        (lambda x: x.sin(1), "TensorBase.sin() takes no arguments (1 given)"),
    ],
)
def test_refusals_have_the_texts_of_torch(call, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        call(impl.ones(2))
    assert str(caught.value) == text
    assert type(caught.value) is TypeError
