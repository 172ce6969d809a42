"""The workloads that impl is timed on do the same work on impl as on torch."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import impl

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
WORKLOADS = importlib.import_module("workloads").WORKLOADS


PARAMETERS_OF_MODULES = {
    "a network's first parameters",
    "LSTM of 50 steps",
    "transformer layer",
    "convolution, batch norm and pooling",
    "printing a large tensor",
}


def gradients(namespace: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every gradient that the step computes, before it is dropped, and every result of grad."""
    seen: list[Any] = []
    tensor = namespace.Tensor
    backward, grad = tensor.backward, namespace.autograd.grad
    leaves: list[Any] = []
    flag = tensor.requires_grad_

    def remembered(self: Any, *arguments: Any) -> Any:
        leaves.append(self)
        return flag(self, *arguments)

    def observed(self: Any, *arguments: Any) -> None:
        backward(self, *arguments)
        seen.extend(leaf.grad.detach().numpy().copy() for leaf in leaves if leaf.grad is not None)

    def returned(*arguments: Any, **named: Any) -> Any:
        results = grad(*arguments, **named)
        seen.extend(result.detach().numpy().copy() for result in results)
        return results

    with monkeypatch.context() as patch:
        patch.setattr(tensor, "requires_grad_", remembered)
        patch.setattr(tensor, "backward", observed)
        patch.setattr(namespace.autograd, "grad", returned)
        WORKLOADS[name]["torch"](namespace)()
    return seen


@pytest.mark.parametrize("name", [n for n in WORKLOADS if "100,000" not in n])
def test_impl_and_torch_do_the_same_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = gradients(impl, name, monkeypatch), gradients(torch, name, monkeypatch)
    assert len(ours) == len(theirs)
    for mine, yours in zip(ours, theirs, strict=True):
        torch.testing.assert_close(torch.tensor(mine), torch.tensor(yours), rtol=1e-3, atol=1e-4)
    # In-place writes make the leaf within the step; modules make their parameters themselves.
    if "in-place" not in name and name not in PARAMETERS_OF_MODULES:
        assert ours
