"""Backends with a fault, for tests: torch's own names, but for some."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from conformance.backends import TorchShaped


def changed(**replaced: Any) -> TorchShaped:
    """torch with other functions in place of some of its own."""
    names = {name: getattr(torch, name) for name in dir(torch)}
    return TorchShaped("changed", SimpleNamespace(**names | replaced), "1")


def doubled_sinh() -> TorchShaped:
    """torch with a sinh that is twice what it should be."""
    return changed(sinh=lambda x: torch.sinh(x) * 2)
