"""`torch.cuda` where there is none: what a program asks before it goes on with the CPU."""

from __future__ import annotations

from impl.cuda import amp

__all__ = [
    "amp",
    "device_count",
    "empty_cache",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "synchronize",
]


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def memory_allocated(device=None) -> int:
    """0 bytes."""
    return 0


def max_memory_allocated(device=None) -> int:
    """0 bytes."""
    return 0


def empty_cache() -> None:
    """Nothing: there is no cache."""


def manual_seed(seed: int) -> None:
    """Nothing: torch would keep the seed for a device to come."""


def manual_seed_all(seed: int) -> None:
    """Nothing, as `manual_seed`."""


def synchronize(device=None) -> None:
    """Raises AssertionError: there is nothing to wait for."""
    raise AssertionError("Torch not compiled with CUDA enabled")
