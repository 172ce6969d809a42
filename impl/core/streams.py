"""`torch.Stream` and `torch.Event`: on the CPU, where everything is done when a call returns."""

from __future__ import annotations

from typing import Any

from impl.core.devices import CPU, META, check_device, device, not_linked
from impl.core.named_types import NamedType

_NO_EVENTS = "cpu backend doesn't support events."
_NO_ACCELERATOR = "Cannot access accelerator device when none is available."


def _placed(given: Any) -> device:
    """The device of a stream or an event: without one, the CPU."""
    if isinstance(given, int):
        raise RuntimeError(_NO_ACCELERATOR)
    if given is not None and device(given).type == "xpu":
        raise not_linked("xpu")
    check_device(given)
    return CPU if given is None else device(given)


class Stream(metaclass=NamedType):
    """A queue of work. That of the CPU is always empty (torch.Stream)."""

    __module__ = "torch"
    __slots__ = ("__weakref__", "device", "device_index", "device_type", "stream_id")

    def __init__(
        self,
        device: Any = None,
        *,
        priority: int = 0,
        stream_id: int = 0,
        device_index: int | None = None,
        device_type: int = 0,
    ) -> None:
        if not isinstance(priority, int):
            raise TypeError(
                f"Stream(): argument 'priority' must be int, not {type(priority).__name__}"
            )
        place = _placed(device)
        self.device = place
        self.device_index = -1 if device_index is None else device_index
        self.device_type = _NUMBERS[place.type]
        self.stream_id = stream_id

    def query(self) -> bool:
        """True: the queue is empty."""
        return True

    def synchronize(self) -> None:
        """Return: the queue is empty."""

    def is_capturing(self) -> bool:
        """False: there are no graphs of a device."""
        return False

    def wait_event(self, event: Event) -> None:
        """Return: the queue is empty."""

    def wait_stream(self, stream: Stream) -> None:
        """Raise RuntimeError: a stream of the CPU records no events."""
        raise RuntimeError(_NO_EVENTS)

    def record_event(self, event: Any = None) -> Event:
        """Raise RuntimeError: a stream of the CPU records no events."""
        raise RuntimeError(_NO_EVENTS)

    @property
    def native_handle(self) -> int:
        """Raise RuntimeError: there is no handle."""
        raise RuntimeError("Backend doesn't support getting stream native handle.")

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass

    def _identity(self) -> tuple:
        return self.device_type, self.device_index, self.stream_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, "
            f"stream_id={self.stream_id}"
        )


_NUMBERS = {CPU.type: 0, META.type: 14}  # of c10::DeviceType


class Event(metaclass=NamedType):
    """A point in a queue of work; on the CPU it is always reached (torch.Event)."""

    __module__ = "torch"
    __slots__ = ("_timing", "device", "event_id")

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        if not isinstance(enable_timing, bool):
            raise TypeError(
                "Event(): argument 'enable_timing' must be bool, not "
                f"{type(enable_timing).__name__}"
            )
        self.device = _placed(device)
        self.event_id = 0
        self._timing = enable_timing

    def query(self) -> bool:
        """True: the point is reached."""
        return True

    def synchronize(self) -> None:
        """Return: the point is reached."""

    def wait(self, stream: Any = None) -> None:
        """Return: the point is reached."""

    def record(self, stream: Any = None) -> None:
        """Raise RuntimeError: a stream of the CPU records no events."""
        raise RuntimeError(_NO_EVENTS)

    def elapsed_time(self, other: Event) -> float:
        """Raise: ValueError unless both events keep times, which those of the CPU do not."""
        if not (self._timing and other._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise ValueError("Both events must be recorded before calculating elapsed time.")

    def ipc_handle(self) -> Any:
        """Raise NotImplementedError, as torch."""
        raise NotImplementedError(
            "torch.Event ipc is not supported yet, please open an issue if you need this!"
        )

    def __repr__(self) -> str:
        return (
            f"torch.Event device_type={self.device.type}, device_index=-1, "
            f"event_flag={int(self._timing)}, event_id={self.event_id}"
        )
