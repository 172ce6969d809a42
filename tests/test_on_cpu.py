"""Tensors on the CPU that a backend on another device makes are seen, unless the program is about
the CPU."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from conformance.backends import Backend
from conformance.compare.compare import compare
from conformance.execution.execute import trace
from conformance.program.program import Program


class _OnCpu:
    """A device of which every tensor says that it is on the CPU."""

    type = "cpu"

    def __init__(self, *args: object) -> None:
        pass


class _Tensor:
    """A tensor of ones, as far as an observer reads it."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape
        self.dtype, self.device, self.grad = "float32", _OnCpu(), None
        self.requires_grad = False

    def tolist(self) -> object:
        return [1.0] * self.shape[0] if self.shape else 1.0


def _backend(device: str) -> Backend:
    namespace = SimpleNamespace(Tensor=_Tensor, ones=_Tensor, device=_OnCpu)
    return Backend("made", namespace, "1", device)


def _program(source: str) -> Program:
    return Program(id="made", area="made", source=source, sentence="")


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("x = torch.ones(2)", True),
        ("x = torch.ones()", False),
        ("x = torch.ones(2)  # as torch.ones(2).cpu()", False),
        ("x = torch.ones(2)  # as of numpy", False),
    ],
)
def test_a_tensor_on_the_cpu_is_seen_on_another_device(source: str, seen: bool):
    program = _program(source)
    expected, got = (trace(program, _backend(device)) for device in ("cpu", "made"))
    found = compare(expected, got, program).divergences
    assert ("values" in found) is seen
    if seen:
        assert found["values"].field == "on_cpu"
