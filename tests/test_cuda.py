"""CUDA without a GPU: the recorded traces of its chapter, the list of what differs, and texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import conform

from conformance.backends import BackendError, find
from conformance.compare.compare import stated
from conformance.compare.known import KnownDivergences, default_path, read_known
from conformance.execution.execute import trace
from conformance.execution.recorded import ACCELERATOR, history
from conformance.observe.trace import Step, Trace
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.settings.settings import Settings
from conformance.suite.suite import read_suite
from reference.devices import as_on_cpu

ON_ACCELERATORS = [program for program in read_suite().programs if program.needs_accelerator]


def test_comments_about_accelerators_are_held_against_what_was_recorded_on_one(tmp_path):
    found = history(ACCELERATOR)
    assert found is not None
    assert {program.area for program in ON_ACCELERATORS} == {"accelerators", "cuda"}
    assert sum(found.entry(program) is not None for program in ON_ACCELERATORS) > 50
    chapter = Path(__file__).parents[1] / "reference/spec/38-cuda.md"
    wrong = tmp_path / chapter.name
    wrong.write_text(chapter.read_text("utf-8").replace("[5000.0, 0.0]", "[5001.0, 0.0]", 1))
    right, mistaken = (
        conform("check", "--oracle", "none", str(path), cwd=tmp_path) for path in (chapter, wrong)
    )
    assert right.returncode == 0 and "0 problems" in right.stdout
    assert mistaken.returncode == 1 and "expected: [5001.0, 0.0]" in mistaken.stdout


def test_a_rule_about_cuda_runs_there_only():
    program = next(one for one in ON_ACCELERATORS if one.rule == "CUDA-01")
    assert [program.runs_on(device) for device in ("cuda", "cuda:1", "cpu", "mps", None)] == [
        *(True, True),
        *(False, False, False),
    ]
    judge = Judge(Settings(backend="impl", oracle="none"), KnownDivergences())
    try:
        line = judge.line(program)
    finally:
        judge.close()
    assert (line["outcome"], line["reason"]) == (
        "not_run",
        "it is about CUDA, and the backend's device is cpu",
    )


def test_the_list_of_what_differs_on_cuda_names_programs_that_there_are():
    path, suite = default_path("torch:cuda"), read_suite()
    assert path is not None
    entries = read_known(path, suite.ids(), list(suite.programs_of_rule())).entries
    assert len(entries) > 100
    assert not [entry for entry in entries if not entry.named(suite.programs_of_rule())]


@pytest.mark.parametrize(
    ("on_cuda", "on_cpu"),
    [
        ("[CUDABoolType [2, 3]] is at version 1", "[CPUBoolType [2, 3]] is at version 1"),
        ("was torch.cuda.sparse.FloatTensor got", "was torch.sparse.FloatTensor got"),
        ("cannot pin 'torch.cuda.FloatTensor'", "cannot pin 'torch.FloatTensor'"),
        ("tensor([1.], device='cuda:0')", "tensor([1.])"),
        ("stft(CUDABFloat16Type[4])", "stft(CPUBFloat16Type[4])"),
        ("the CUDA runtime", "the CUDA runtime"),
    ],
)
def test_types_and_devices_are_worded_as_on_the_cpu(on_cuda, on_cpu):
    assert as_on_cpu("cuda")(on_cuda) == on_cpu


def test_an_error_about_a_lack_that_the_comment_states_is_no_lack():
    source = "x = 1\nx.bit_length()  # raises NotImplementedError: not for this dtype\n"
    program = Program("T-01.1", "leaves", source, "", device="cuda")
    error = {"type": "NotImplementedError", "message": "not for this dtype", "lacks": "a dtype"}
    assert stated(program, Trace([Step(0, 2), Step(1, 3, error=error)])).outcome == "conforms"
    other = {**error, "message": "nor for this one"}
    assert stated(program, Trace([Step(0, 2), Step(1, 3, error=other)])).outcome == "diverges"


def test_a_compiler_may_be_asked_for_on_another_device():
    compiled = find("torch:compile=eager@meta")
    assert (compiled.device, compiled.other_device) == ("meta", "cpu")
    steps = trace(Program("T-01.1", "leaves", "x = torch.ones(2)\ny = x * 2\n", ""), compiled).steps
    assert steps[-1].changed["y"]["shape"] == [2] and steps[-1].error is None
    with pytest.raises(BackendError, match="compile=eager@nothing"):
        find("torch:compile=eager@nothing")
