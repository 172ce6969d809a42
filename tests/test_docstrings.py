"""The area `docstrings`: the examples in torch's own docstrings, as programs."""

from __future__ import annotations

import json
from importlib import resources

import pytest
from command import conform

from conformance.backends import find
from conformance.compare.compare import compare
from conformance.execution.execute import trace
from conformance.suite.docstrings import programs

torch = pytest.importorskip("torch")
docstrings = pytest.importorskip("reference.docstrings")


def listed():
    text = resources.files("conformance").joinpath("suite/docstrings.json").read_text("utf-8")
    return json.loads(text)


def test_the_list_is_that_of_torch_2_15():
    found = listed()
    if torch.__version__.startswith(found["torch"]):
        assert found == json.loads(docstrings.written(docstrings.entries()))
    assert len(list(programs())) > 600


def test_the_suite_has_none_of_the_text():
    assert all(line.startswith("#") for p in programs() for line in p.source.splitlines())


def test_an_example_runs_on_both_sides():
    oracle, backend = find("torch"), find("impl")
    program = oracle.example("doc/torch.amax/1")
    assert "torch.amax(" in program.source
    verdict = compare(trace(program, oracle), trace(program, backend), program)
    assert verdict.outcome == "conforms"


@pytest.mark.parametrize(
    "source, expected",
    [
        ("x = torch.ones(2)\nx.cuda()\ny = x + 1", "x = torch.ones(2)\ny = x + 1\n"),
        ("x = torch.ones(2).cuda()\ny = x + 1\nz = 1", "z = 1\n"),
        ("m = nn.ReLU()", "from torch import nn\nm = nn.ReLU()\n"),
        (
            "x = torch.empty(2)  # prose\ny = x + 1\nx = torch.ones(2)\nx",
            "x = torch.empty(2)  # unspecified\ny = x + 1  # unspecified\nx = torch.ones(2)\nx\n",
        ),
    ],
)
def test_statements_that_cannot_be_compared_are_left_out_or_unspecified(source, expected):
    assert docstrings._program_of(source, "torch") == (expected, None)


@pytest.mark.parametrize(
    "source, reason",
    [
        ("x = model(1)", "it does not define model"),
        ("x = torch.ones(2).cuda()\nx + 1", "it needs an accelerator"),
        ("import torchvision", "it imports torchvision"),
        ("x = (", "it does not parse"),
    ],
)
def test_what_is_no_program_has_a_reason(source, reason):
    assert docstrings._program_of(source, "torch") == (source, reason)


def test_paragraphs_are_joined_where_one_uses_the_names_of_another():
    text = "Prose.\n\n>>> x = 1\n\nMore.\n\n>>> x + 1\n2\n\nMore.\n\n>>> y = 2\n"
    assert list(docstrings._blocks(text)) == ["x = 1\nx + 1\n", "y = 2\n"]


def test_a_recording_has_no_examples(tmp_path):
    ended = conform(
        *("run", "--id", "doc/torch.amax/1", "--oracle", "recorded:torch-2.15", "-n", "0"),
        cwd=tmp_path,
    )
    assert ended.returncode == 3
    assert "a recording has no docstrings of torch" in ended.stdout


def test_show_prints_the_example(tmp_path):
    ended = conform("show", "doc/torch.amax/1", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "torch.amax(" in ended.stdout
