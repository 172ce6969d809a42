"""Backends with a fault, for tests: torch with some functions replaced."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from conformance.backends import TorchShaped


def changed(**replaced: Any) -> TorchShaped:
    """torch with some of its functions replaced."""
    names = {name: getattr(torch, name) for name in dir(torch)}
    return TorchShaped("changed", SimpleNamespace(**names | replaced), "1")


def doubled_sinh() -> TorchShaped:
    """torch with a sinh that returns twice the correct value."""
    return changed(sinh=lambda x: torch.sinh(x) * 2)
