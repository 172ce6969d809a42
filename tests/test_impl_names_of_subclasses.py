"""Classes that programs derive from have no names that torch's lack, other than those of `impl`
that no program takes: mangled ones, and ones that begin with `_impl_`."""

from __future__ import annotations

import importlib

import pytest

CLASSES = [
    *("nn.Module", "nn.Linear", "nn.Embedding", "nn.Bilinear", "nn.MultiheadAttention"),
    *("optim.Optimizer", "optim.Adam", "optim.AdamW", "optim.Adagrad", "optim.RMSprop"),
    *("optim.ASGD", "optim.Adamax", "optim.NAdam", "optim.RAdam", "optim.Rprop"),
    *("optim.lr_scheduler.LRScheduler", "optim.lr_scheduler.LambdaLR", "optim.lr_scheduler.StepLR"),
    *("distributions.Distribution", "distributions.Normal", "distributions.Gamma"),
    *("distributions.Transform", "distributions.ExpTransform", "utils.data.Dataset"),
    *("utils.data.IterableDataset", "utils.data.Sampler", "autograd.Function"),
]


def _named(library: str, path: str) -> set[str]:
    module, _, name = f"{library}.{path}".rpartition(".")
    return set(dir(getattr(importlib.import_module(module), name)))


@pytest.mark.parametrize("path", CLASSES)
def test_its_helpers_have_names_that_no_program_takes(path):
    pytest.importorskip("torch")
    extra = _named("impl", path) - _named("torch", path)
    assert not [n for n in extra if not n.startswith(("__", "_impl_")) and "__" not in n]
