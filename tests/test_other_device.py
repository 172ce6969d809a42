"""The other device: how programs that need a second device are bound, shown and judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from conformance import backends
from conformance.backends import TorchShaped
from conformance.execution.execute import Renamed, trace
from conformance.neutral.compile import neutral
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.run.sides import Here, Sides
from conformance.settings.settings import Settings

SOURCE = """
x = torch.ones(2, requires_grad=True)
y = x.to(other_device)
y.device == other_device
(x * 2).backward(torch.ones(2, device=other_device))
"""


def program(source: str) -> Program:
    return Program("devices/0", "devices", source.strip(), "a second device", file="a.md", line=7)


def test_the_name_is_bound_before_the_first_statement():
    made = program(SOURCE)
    assert made.names_other_device
    assert made.paste().startswith('import torch\nother_device = torch.device("meta")\nx = ')
    assert made.statements[0].source == "x = torch.ones(2, requires_grad=True)"
    assert made.place(3) == ("a.md", 7)
    assert program("import torch\n" + SOURCE).statements[0].source == "import torch"


@pytest.mark.parametrize("source", ["other_device = 3", "another_device", "x = 1  # nothing"])
def test_programs_without_the_name_have_no_such_line(source):
    assert not program(source).names_other_device
    assert "other_device = torch" not in program(source).paste()


def test_what_is_bound_is_not_observed_and_elements_are_not_read():
    for backend in (backends.find("torch", ()), backends.find("impl", ())):
        steps = trace(program(SOURCE), backend).to_json()["steps"]
        assert set(steps[0]["changed"]) == {"x"}
        moved = steps[1]["changed"]["y"]
        assert "values" not in moved and moved["shape"] == [2]
        assert steps[2]["result"]["value"] is True
        assert steps[3]["error"]["message"].endswith("expected device cpu but got meta")


def test_messages_name_the_devices_of_torch_on_the_cpu():
    renamed = Renamed(TorchShaped("mine", torch, "1", "mine:0"))
    text = "expected device mine:0 but got cpu; mine is 'mine:1', not cpufreq or my.cpu"
    assert (
        renamed(text) == "expected device cpu but got meta; cpu is 'cpu:1', not cpufreq or my.cpu"
    )
    usual = Renamed(backends.find("torch", ()))
    assert usual("expected device cpu but got meta") == "expected device cpu but got meta"


class _OneDevice(TorchShaped):
    other_device = None  # type: ignore[assignment]


def test_a_backend_without_another_device_does_not_run_them(tmp_path: Path):
    here = Here(_OneDevice("single", torch, torch.__version__))
    oracle = Here(backends.find("torch", ()))
    sides = Sides(Settings(), backend=here, oracle=oracle)
    judge = Judge(Settings(), known=_Nothing(), sides=sides)  # type: ignore[arg-type]
    line = judge.line(program(SOURCE))
    assert (line["outcome"], line["reason"]) == ("not_run", "the backend has no other device")
    assert judge.line(program("x = torch.ones(1)"))["outcome"] == "conforms"


class _Nothing:
    def known_divergence(self, *arguments):
        return None


def test_the_neutral_form_refers_to_it():
    form = neutral(program("y = torch.ones(1).to(other_device)"))
    assert '{"ref": "other_device"}' in str(form["statements"]).replace("'", '"')
