"""`torch.backends.opt_einsum`: the search for an order of contraction, which impl does not use."""

from __future__ import annotations

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: products go from left to right (torch.backends.opt_einsum.is_available)."""
    return False


def get_opt_einsum() -> None:
    """None (torch.backends.opt_einsum.get_opt_einsum)."""
