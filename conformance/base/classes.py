"""Classes of ports: the parts of PyTorch that a port may claim, each with all its rules."""

from __future__ import annotations

CORE = "core"

CLASSES = {
    "core": "recording, backward, accumulation, views, writes in place, hooks, modes, real dtypes",
    "complex": "complex tensors and their gradients",
    "forward": "forward mode: dual numbers and what is computed with them",
    "func": "the function transforms of torch.func",
    "modules": "torch.nn's modules and torch.optim",
    "sparse": "sparse tensors and sparse gradients",
    "autocast": "automatic mixed precision",
    "device": "a second device",
    "threads": "several threads, and asynchronous tasks",
    "extension": "custom operators, tensor subclasses, dispatch modes",
    "serialisation": "saving, loading and copying",
    "distributions": "torch.distributions: samples, densities, divergences, transforms",
}
"""The classes of ports: all need *core*, every other one is optional."""
