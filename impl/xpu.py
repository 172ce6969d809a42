"""`torch.xpu` without Intel's GPU: the queries of programs that then use the CPU."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from impl.core.absent_devices import (
    SelectedDevice,
    StreamContext,
    device_count,
    dummies,
    get_arch_list,
    get_gencode_flags,
    get_rng_state_all,
    index_of,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    manual_seed,
    manual_seed_all,
    memory_allocated,
    refusals,
    seed,
    seed_all,
    unlinked,
)

_initialized = False  # as reversible layers ask before they keep random states
_REFUSED = refusals(
    "can_device_access_peer current_device current_stream get_device_capability get_device_name "
    "get_device_properties get_per_process_memory_fraction get_rng_state get_stream_from_external "
    "init initial_seed mem_get_info set_device set_per_process_memory_fraction set_stream "
    "synchronize",
    AssertionError,
    "Torch not compiled with XPU enabled",
)
_UNLINKED = unlinked(
    "_xpu_",
    {
        "reset_accumulated_memory_stats": "resetAccumulatedMemoryStats",
        "reset_peak_memory_stats": "resetPeakMemoryStats",
    },
)
globals().update(_REFUSED | _UNLINKED | dummies(__name__, "Event"))
__all__ = [
    *(*_REFUSED, *_UNLINKED),
    "Stream",
    "StreamContext",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_gencode_flags",
    "get_rng_state_all",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "seed",
    "seed_all",
    "set_rng_state",
    "stream",
]
default_generators: tuple = ()


class Stream:
    """A stream of Intel's GPU; RuntimeError, or ValueError for another device
    (torch.xpu.Stream)."""

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Stream:
        index_of(device, "xpu")
        raise RuntimeError("Tried to instantiate dummy base class Stream")


class device(SelectedDevice):
    """A block in which a GPU is the current one; NotImplementedError for an index
    (torch.xpu.device)."""

    kind = "xpu"
    refused = NotImplementedError, "PyTorch was compiled without XPU support"


class device_of(device):
    """A block in which the GPU of a tensor is the current one, without effect for a tensor of the
    CPU (torch.xpu.device_of)."""

    def __init__(self, obj: Any) -> None:
        super().__init__(-1)


def empty_cache() -> None:
    """No effect (torch.xpu.empty_cache)."""


def set_rng_state(new_state: Any, device: Any = "xpu") -> None:
    """No effect (torch.xpu.set_rng_state)."""
    new_state.clone()


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Nothing (torch.xpu.memory_stats)."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Nothing (torch.xpu.memory_stats_as_nested_dict)."""
    return {}


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def stream(stream: Any) -> StreamContext:
    """A block in which a stream is the current one; no effect without one (torch.xpu.stream)."""
    return StreamContext(stream)
