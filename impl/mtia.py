"""`torch.mtia` without Meta's accelerator: the queries of programs that then use the CPU."""

from __future__ import annotations

from typing import Any

from impl.core.absent_devices import (
    device_count,
    get_rng_state_all,
    is_available,
    is_initialized,
    manual_seed,
    manual_seed_all,
    memory_allocated,
    refusal,
    refusals,
    seed,
    seed_all,
)

_initialized = False  # as reversible layers ask before they keep random states
_BUILT = (
    "Torch not compiled with MTIA enabled. Ensure you have `import "
    "mtia.host_runtime.torch_mtia.dynamic_library` in your python src file and include "
    "`//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!"
)
_INNER = {
    "current_device": "getCurrentDevice",
    "current_stream": "getCurrentDevice",
    "default_stream": "getCurrentDevice",
    "empty_cache": "emptyCache",
    "get_device_capability": "getCurrentDevice",
    "get_device_properties": "getCurrentDevice",
    "set_device": "setCurrentDevice",
    "snapshot": "memorySnapshot",
    "synchronize": "getCurrentDevice",
}
_WITHOUT = "Cannot execute {}() without MTIA backend."
globals().update(refusals("get_rng_state init initial_seed", AssertionError, _BUILT))
globals().update(
    {name: refusal(name, RuntimeError, _WITHOUT.format(inner)) for name, inner in _INNER.items()}
)
__all__ = [
    *_INNER,
    "device_count",
    "get_rng_state_all",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """True, as in torch (torch.mtia.is_bf16_supported)."""
    return True


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Nothing (torch.mtia.memory_stats)."""
    return {}


max_memory_allocated = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """No effect (torch.mtia.reset_peak_memory_stats)."""
