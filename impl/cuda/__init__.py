"""`torch.cuda` without CUDA: the queries and settings of programs that then use the CPU."""

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
    """False (torch.cuda.is_available)."""
    return False


def is_initialized() -> bool:
    """False (torch.cuda.is_initialized)."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False (torch.cuda.is_bf16_supported)."""
    return False


def device_count() -> int:
    """0 (torch.cuda.device_count)."""
    return 0


def memory_allocated(device=None) -> int:
    """0 bytes (torch.cuda.memory_allocated)."""
    return 0


def max_memory_allocated(device=None) -> int:
    """0 bytes (torch.cuda.max_memory_allocated)."""
    return 0


def empty_cache() -> None:
    """No effect: there is no cache (torch.cuda.empty_cache)."""


def manual_seed(seed: int) -> None:
    """No effect; torch keeps the seed until CUDA is initialized (torch.cuda.manual_seed)."""


def manual_seed_all(seed: int) -> None:
    """No effect, as `manual_seed` (torch.cuda.manual_seed_all)."""


def synchronize(device=None) -> None:
    """Raise AssertionError, as torch without CUDA does (torch.cuda.synchronize)."""
    raise AssertionError("Torch not compiled with CUDA enabled")
