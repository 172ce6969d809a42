"""Inputs that the samples of layers share."""

from __future__ import annotations

from conformance.samples.operator import Domain, Input

F = "torch.nn.functional"

# Multiples of a quarter, so that products are exact in float32.
QUARTERS = Domain(-8.0, 8.0, 0.25, summed=True)
POSITIVE = Domain(0.25, 4.0, 0.25)


def tensor(name: str, *shape: int) -> Input:
    """An input of that shape."""
    return Input(name, QUARTERS, shape)
