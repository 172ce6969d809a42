"""`torch.cuda.random`: seeds and states of generators that are not there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from impl.core.absent_devices import refusals

__all__ = [
    "get_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def manual_seed(seed: int) -> None:
    """No effect; torch keeps the seed until CUDA is initialized (torch.cuda.manual_seed)."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """No effect, as `manual_seed` (torch.cuda.manual_seed_all)."""
    int(seed)


def seed() -> None:
    """No effect, as `manual_seed` (torch.cuda.seed)."""


def seed_all() -> None:
    """No effect, as `manual_seed` (torch.cuda.seed_all)."""


def get_rng_state_all() -> list[Any]:
    """The states of no device (torch.cuda.get_rng_state_all)."""
    return []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """No effect, as `manual_seed` (torch.cuda.set_rng_state)."""
    new_state.clone()


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """No effect, as `manual_seed` (torch.cuda.set_rng_state_all)."""
    for state in new_states:
        set_rng_state(state)


REFUSED = refusals(
    "get_rng_state initial_seed", AssertionError, "Torch not compiled with CUDA enabled"
)
globals().update(REFUSED)
