"""The optimizers' records against torch's: signatures, defaults, states, and modules."""

from __future__ import annotations

import importlib
import inspect

import pytest

import impl
from impl.optim.optimizer import UpdateRule

NAMES = sorted(set(impl.optim.__all__) - {"Optimizer", "lr_scheduler", "swa_utils"})
# Optimizers that torch.optim itself is the module of, which take no complex parameters.
REAL = {"Adafactor", "Muon", "SparseAdam"}


def stepped(library, name: str, **options):
    """An optimizer after one step of a complex and a real parameter."""
    params = [
        library.tensor([1.0 + 2.0j, -0.5j], requires_grad=True),
        library.tensor([[0.25, -3.0]], requires_grad=True),
    ]
    optimizer = getattr(library.optim, name)(params, **options)

    def closure():
        optimizer.zero_grad()
        loss = sum((param.abs() ** 2).sum() for param in params)
        loss.backward()
        return loss

    optimizer.step(closure)
    return optimizer


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_those_of_torch(name):
    torch = pytest.importorskip("torch")
    ours, theirs = (
        [
            (option.name, option.kind, option.default)
            for option in inspect.signature(getattr(library.optim, name)).parameters.values()
        ]
        for library in (impl, torch)
    )
    assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_records_name_every_option(name):
    kind = getattr(impl.optim, name)
    options = set(inspect.signature(kind).parameters) - {"params"}
    if issubclass(kind, UpdateRule):
        named = set(kind._options.split())
        assert named - options <= {"decoupled_weight_decay"} and options <= named
        assert set(kind._checked.split()) <= options


@pytest.mark.parametrize("name", sorted(set(NAMES) - REAL))
def test_defaults_and_states_are_ordered_as_torch_does(name):
    torch = pytest.importorskip("torch")
    ours, theirs = (stepped(library, name) for library in (impl, torch))
    assert list(ours.defaults.items()) == list(theirs.defaults.items())
    for mine, other in zip(ours.state.values(), theirs.state.values(), strict=True):
        assert list(mine) == list(other)


@pytest.mark.parametrize("name", sorted(set(NAMES) - REAL))
def test_each_optimizer_has_the_module_of_torch(name):
    kind = getattr(impl.optim, name)
    module = importlib.import_module(f"impl.optim.{name.lower()}")
    assert kind.__module__ == module.__name__
    assert getattr(module, name) is kind
    assert getattr(impl.optim, name.lower()) is module
