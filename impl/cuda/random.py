"""`torch.cuda.random`: seeds and states of generators that are not there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from impl.core.absent_devices import (
    get_rng_state_all,
    manual_seed,
    manual_seed_all,
    refusals,
    seed,
    seed_all,
)

__all__ = [
    "get_rng_state_all",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


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
