"""`torch.accelerator` where there is none: the queries of programs that then use the CPU."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from impl.core.absent_devices import refusals
from impl.core.devices import device as _device
from impl.core.warning import warn

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]

_NONE = "Cannot access accelerator device when none is available."
current_device_index = refusals("current_device_index", RuntimeError, _NONE)["current_device_index"]
set_stream = refusals("set_stream", RuntimeError, _NONE)["set_stream"]


def is_available() -> bool:
    """False (torch.accelerator.is_available)."""
    return False


def device_count() -> int:
    """0 (torch.accelerator.device_count)."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None (torch.accelerator.current_accelerator)."""


def _refuse(device: Any, optional: bool) -> NoReturn:
    """Raise RuntimeError; ValueError for a device without an index where one is asked for."""
    if isinstance(device, str):
        device = _device(device)
    if isinstance(device, _device):
        raise RuntimeError("Accelerator expected")
    if not isinstance(device, int) and not optional:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    raise RuntimeError(_NONE)


def set_device_index(device: Any, /) -> None:
    """Raise RuntimeError (torch.accelerator.set_device_index)."""
    _refuse(device, optional=False)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """Raise RuntimeError (torch.accelerator.get_device_capability)."""
    _refuse(device, optional=True)


def current_stream(device: Any = None, /) -> Any:
    """Raise RuntimeError (torch.accelerator.current_stream)."""
    _refuse(device, optional=True)


def synchronize(device: Any = None, /) -> None:
    """Raise RuntimeError (torch.accelerator.synchronize)."""
    _refuse(device, optional=True)


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Raise RuntimeError (torch.accelerator.get_memory_info)."""
    _refuse(device_index, optional=True)


def _renamed(new: str) -> None:
    warn(f"Use `{new}` instead.", FutureWarning)


def current_device_idx() -> int:
    """`current_device_index`, deprecated (torch.accelerator.current_device_idx)."""
    _renamed("current_device_index")
    return current_device_index()


def set_device_idx(device: Any, /) -> None:
    """`set_device_index`, deprecated (torch.accelerator.set_device_idx)."""
    _renamed("set_device_index")
    set_device_index(device)


class device_index:
    """A block in which an index is the current one: RuntimeError, except for None
    (torch.accelerator.device_index)."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            raise RuntimeError(_NONE)

    def __exit__(self, *exc: Any) -> None:
        pass


def empty_cache() -> None:
    """No effect: there is no cache (torch.accelerator.empty_cache)."""


def empty_host_cache() -> None:
    """No effect: there is no cache (torch.accelerator.empty_host_cache)."""


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, Any]:
    """Nothing (torch.accelerator.memory_stats)."""
    return OrderedDict()


def memory_allocated(device_index: Any = None, /) -> int:
    """0 bytes (torch.accelerator.memory_allocated)."""
    return 0


def max_memory_allocated(device_index: Any = None, /) -> int:
    """0 bytes (torch.accelerator.max_memory_allocated)."""
    return 0


def memory_reserved(device_index: Any = None, /) -> int:
    """0 bytes (torch.accelerator.memory_reserved)."""
    return 0


def max_memory_reserved(device_index: Any = None, /) -> int:
    """0 bytes (torch.accelerator.max_memory_reserved)."""
    return 0


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """No effect (torch.accelerator.reset_accumulated_memory_stats)."""


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """No effect (torch.accelerator.reset_peak_memory_stats)."""
