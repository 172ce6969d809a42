"""`torch.cpu`: the interface of a device, for programs that take the device from a variable."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from impl.cpu import amp

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """A stream whose methods have no effect (torch.cpu.Stream)."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """No effect."""

    def record_event(self) -> None:
        """No effect."""

    def wait_event(self, event: Any) -> None:
        """No effect."""


class Event:
    """An event that is always reached (torch.cpu.Event)."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """No effect."""

    def synchronize(self) -> None:
        """No effect."""

    def wait(self, stream: Any = None) -> None:
        """No effect."""


_current = [Stream()]


def current_stream(device: Any = None) -> Stream:
    """The stream of the innermost block of `stream` (torch.cpu.current_stream)."""
    return _current[-1]


class StreamContext:
    """A block in which a stream is the current one (torch.cpu.StreamContext)."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            _current.append(self.stream)

    def __exit__(self, *exc: Any) -> None:
        if self.stream is not None:
            _current.pop()


def stream(stream: Any) -> StreamContext:
    """A block in which a stream is the current one (torch.cpu.stream)."""
    return StreamContext(stream)


def is_available() -> bool:
    """True (torch.cpu.is_available)."""
    return True


def is_initialized() -> bool:
    """True (torch.cpu.is_initialized)."""
    return True


def device_count() -> int:
    """1 (torch.cpu.device_count)."""
    return 1


def current_device() -> str:
    """The name of the device (torch.cpu.current_device)."""
    return "cpu"


def set_device(device: Any) -> None:
    """No effect (torch.cpu.set_device)."""


def synchronize(device: Any = None) -> None:
    """No effect: a call returns when its work is done (torch.cpu.synchronize)."""


def get_capabilities() -> Mapping[str, Any]:
    """Nothing: impl does not ask which instructions the processor has
    (torch.cpu.get_capabilities)."""
    return MappingProxyType({})
