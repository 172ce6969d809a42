"""`torch.autograd.profiler`: blocks that run their statements. impl records no times."""

from __future__ import annotations

import json
from contextlib import ContextDecorator
from typing import Any

from impl.core.warning import warn

__all__ = ["EventList", "profile", "record_function"]

_NOTHING = "impl records no times: there are no events"
_WITH_MODULES = (
    "with_modules is deprecated and will be removed in a future release. It only collects data for "
    "TorchScript models, which are themselves deprecated, and does nothing in eager mode. Use "
    "with_stack=True, which records nn.Module events for eager models."
)
_WITHOUT_CPU = "Device-only events supported only with Kineto (use_kineto=True)"
_NO_ACTIVITIES = "No activities specified for the profiler"


class record_function(ContextDecorator):
    """A labelled region, a block or a decorator without effect (torch.profiler.record_function)."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


class EventList(list):
    """The events of a profile, of which there are none; tables of them say so."""

    self_cpu_time_total = 0

    def table(self, *args: Any, **options: Any) -> str:
        """That there are no events."""
        return _NOTHING

    def __str__(self) -> str:
        return _NOTHING

    def key_averages(self, *args: Any, **options: Any) -> EventList:
        """No events."""
        return self

    def total_average(self) -> None:
        """None: there is no event."""

    def export_chrome_trace(self, path: str, *args: Any, **options: Any) -> None:
        """Write a trace without events."""
        write_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write an empty file."""
        with open(path, "w", encoding="utf-8"):
            pass


def write_trace(path: str) -> None:
    """Write a trace without events, in the form of Chrome's."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": []}, file)


class profile:
    """A block that runs its statements (torch.autograd.profiler.profile).

    Raises RuntimeError where it is entered twice, AssertionError without the CPU, and ValueError
    for a negative `post_processing_timeout_s`.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
        _profiler_extensions: Any = None,
    ) -> None:
        self.enabled = enabled
        self.entered = self._done = False
        if not enabled:
            return
        if with_modules:
            warn(_WITH_MODULES, FutureWarning)
        if not use_cpu:
            raise AssertionError(_NO_ACTIVITIES if use_kineto else _WITHOUT_CPU)
        if use_device in ("cuda", "xpu"):
            name = use_device.upper()
            told = f"{name} is not available, disabling {name} profiling"
            warn(told)
        elif use_device is not None:
            warn(f"The {use_device} is not a valid device option.")
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        return self

    def __exit__(self, *exc: Any) -> None:
        self._done = True

    @property
    def function_events(self) -> EventList:
        """No events."""
        return EventList()

    def key_averages(self, *args: Any, **options: Any) -> EventList:
        """No events."""
        return EventList()

    def total_average(self) -> None:
        """None: there is no event."""

    @property
    def self_cpu_time_total(self) -> int:
        """0: there is no event."""
        return 0

    def table(self, *args: Any, **options: Any) -> str:
        """That there are no events."""
        return _NOTHING

    def export_chrome_trace(self, path: str, *args: Any, **options: Any) -> None:
        """Write a trace without events."""
        write_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write an empty file."""
        EventList().export_stacks(path)

    def __repr__(self) -> str:
        return _NOTHING if self._done else "<unfinished torch.autograd.profile>"
