"""`torch.mps` without Apple's GPU: the queries of programs that then use the CPU."""

from __future__ import annotations

from typing import Any

from impl.core.absent_devices import (
    device_count,
    dummies,
    is_available,
    refusal,
    unlinked,
)

__all__ = [
    "Event",
    "Stream",
    "current_allocated_memory",
    "current_stream",
    "default_stream",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_stream",
    "synchronize",
]


def _without(name: str, inner: str) -> Any:
    return refusal(name, RuntimeError, f"Cannot execute {inner}() without MPS backend.")


Stream = dummies("torch.mps", "Stream")["Stream"]
current_allocated_memory = _without("current_allocated_memory", "getCurrentAllocatedMemory")
driver_allocated_memory = _without("driver_allocated_memory", "getDriverAllocatedMemory")
empty_cache = _without("empty_cache", "emptyCache")
get_rng_state = _without("get_rng_state", "getDefaultGenerator")
recommended_max_memory = _without("recommended_max_memory", "getRecommendedMaxMemory")
seed = _without("seed", "getDefaultGenerator")
synchronize = _without("synchronize", "deviceSynchronize")
set_memory_fraction = _without("set_per_process_memory_fraction", "setMemoryFraction")
_UNLINKED = unlinked("_mps_", {"current_stream": "getCurrentStream", "set_stream": "setStream"})
current_stream, set_stream = _UNLINKED["current_stream"], _UNLINKED["set_stream"]


class Event:
    """An event of Apple's GPU; RuntimeError (torch.mps.Event)."""

    def __init__(self, enable_timing: bool = False) -> None:
        raise RuntimeError("Cannot execute acquireEvent() without MPS backend.")


def manual_seed(seed: int) -> None:
    """No effect (torch.mps.manual_seed)."""


def set_rng_state(new_state: Any, device: Any = "mps") -> None:
    """Raise RuntimeError (torch.mps.set_rng_state)."""
    new_state.clone()
    get_rng_state()


def default_stream() -> Any:
    """Raise RuntimeError (torch.mps.default_stream)."""
    return Stream()


def set_per_process_memory_fraction(fraction: float) -> None:
    """Raise: TypeError for another type than float, ValueError outside 0 to 2, else RuntimeError
    (torch.mps.set_per_process_memory_fraction)."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 2:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~2")
    set_memory_fraction()
