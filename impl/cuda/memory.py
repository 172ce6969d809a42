"""`torch.cuda.memory`: statistics of a memory that is not there."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from impl.core.absent_devices import dummies, refusals, unlinked
from impl.core.warning import warn

__all__ = [
    "caching_allocator_enable",
    "empty_cache",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
]


def empty_cache() -> None:
    """No effect: there is no cache (torch.cuda.empty_cache)."""


def caching_allocator_enable(value: bool = True) -> None:
    """No effect: there is no cache (torch.cuda.caching_allocator_enable)."""


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Nothing (torch.cuda.memory_stats)."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Nothing (torch.cuda.memory_stats_as_nested_dict)."""
    return {}


def host_memory_stats() -> OrderedDict[str, Any]:
    """Nothing (torch.cuda.host_memory_stats)."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Nothing (torch.cuda.host_memory_stats_as_nested_dict)."""
    return {}


def memory_allocated(device: Any = None) -> int:
    """0 bytes (torch.cuda.memory_allocated)."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0 bytes (torch.cuda.max_memory_allocated)."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0 bytes (torch.cuda.memory_reserved)."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0 bytes (torch.cuda.max_memory_reserved)."""
    return 0


def _renamed(old: str, new: str) -> None:
    text = f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`"
    warn(text, FutureWarning)


def memory_cached(device: Any = None) -> int:
    """0 bytes; deprecated (torch.cuda.memory_cached)."""
    _renamed("memory_cached", "memory_reserved")
    return 0


def max_memory_cached(device: Any = None) -> int:
    """0 bytes; deprecated (torch.cuda.max_memory_cached)."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return 0


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Raise KeyError: there are no statistics (torch.cuda.memory_summary)."""
    raise KeyError("allocated_bytes.all.current")


def list_gpu_processes(device: Any = None) -> str:
    """That the library that lists them is missing (torch.cuda.list_gpu_processes)."""
    return "pynvml module not found, please install nvidia-ml-py"


def _reset_all(name: str) -> Any:
    text = (
        f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats."
    )
    warn(text, FutureWarning)
    return UNLINKED["reset_peak_memory_stats"]()


def reset_max_memory_allocated(device: Any = None) -> None:
    """Warn, and raise as `reset_peak_memory_stats` (torch.cuda.reset_max_memory_allocated)."""
    _reset_all("reset_max_memory_allocated")


def reset_max_memory_cached(device: Any = None) -> None:
    """Warn, and raise as `reset_peak_memory_stats` (torch.cuda.reset_max_memory_cached)."""
    _reset_all("reset_max_memory_cached")


UNLINKED = unlinked(
    "_cuda_",
    {
        "memory_snapshot": "memorySnapshot",
        "reset_accumulated_host_memory_stats": "resetAccumulatedHostMemoryStats",
        "reset_accumulated_memory_stats": "resetAccumulatedMemoryStats",
        "reset_peak_host_memory_stats": "resetPeakHostMemoryStats",
        "reset_peak_memory_stats": "resetPeakMemoryStats",
    },
)
REFUSED = refusals(
    "get_per_process_memory_fraction mem_get_info set_per_process_memory_fraction",
    AssertionError,
    "Torch not compiled with CUDA enabled",
)
globals().update(UNLINKED | REFUSED | dummies("torch.cuda.memory", "MemPool"))
