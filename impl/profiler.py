"""`torch.profiler`: the steps and the schedule of a profile, whose block runs its statements.

impl records no times: tables say so, and the files have no events.
"""

from __future__ import annotations

import functools
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from impl.autograd.profiler import EventList, record_function, write_trace

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_BEFORE = "Profiler must be initialized before {}"
_CLEARED = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle "
    "will be reported. To keep events across cycles, set acc_events=True."
)
_STOPPED = (
    "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
    "user-provided schedule"
)


class ProfilerAction(Enum):
    """The activity of a profile in a step (torch.profiler.ProfilerAction)."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


ProfilerActivity = Enum("ProfilerActivity", "CPU XPU MTIA CUDA HPU PrivateUse1", start=0)


def kineto_available() -> bool:
    """False: there is no recorder (torch.profiler.kineto_available)."""
    return False


def supported_activities() -> set[Any]:
    """The activities that a profile accepts (torch.profiler.supported_activities)."""
    return {ProfilerActivity.CPU}  # type: ignore[attr-defined]


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """The action of each step: cycles of waiting, warming up and recording, after the first steps.

    Raises AssertionError for negative numbers, and for a cycle without recording
    (torch.profiler.schedule).
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step += wait * (skip_first_wait != 0) - skip_first
        at = step % cycle
        if at < wait or (repeat > 0 and step >= repeat * cycle):
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """A handler that writes the file of each trace into a folder
    (torch.profiler.tensorboard_trace_handler)."""

    def write(prof: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except Exception as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


@functools.cache
def _warn_of_cleared_events() -> None:
    warnings.warn(_CLEARED, stacklevel=4)


class profile:
    """A block that runs its statements, and calls `on_trace_ready` at the end of each cycle of the
    schedule (torch.profiler.profile). `step` begins the next step."""

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        chosen = supported_activities() if activities is None else list(activities)
        for activity in chosen:
            if not isinstance(activity, (ProfilerActivity, dict)):
                raise TypeError(f"Expected ProfilerActivity or dict, got {type(activity)}")
        if not chosen:
            raise AssertionError("No valid profiler activities found")
        self.activities = set(chosen) if activities is None else chosen
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.acc_events = acc_events
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self._action(0)
        self._prepared = False

    def _action(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action is ProfilerAction.DEVICE_STOPPED:
            raise ValueError(_STOPPED)
        return action

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the first step."""
        self._prepare(ProfilerAction.NONE)

    def stop(self) -> None:
        """End the last step; a trace that has begun is ready."""
        recording = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
        if self.current_action in recording:
            self._ready()

    def step(self) -> None:
        """End a step and begin the next one; warns of a schedule that leaves a trace unfinished."""
        before, after = self.current_action, self._action(self.step_num + 1)
        self.step_num += 1
        self.current_action = after
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._ready()
        elif before is not ProfilerAction.NONE and after.value < before.value:
            text = f"Incorrect schedule: {before.name} followed by {after.name}"
            warnings.warn(text, stacklevel=2)
        self._prepare(before)

    def _prepare(self, before: ProfilerAction) -> None:
        """Begin a trace where the action begins one; a second one warns once."""
        ends = ProfilerAction.NONE, ProfilerAction.RECORD_AND_SAVE
        if before not in ends or self.current_action is ProfilerAction.NONE:
            return
        if self._prepared and not self.acc_events:
            _warn_of_cleared_events()
        self._prepared = True

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _check(self, doing: str) -> None:
        if not self._prepared:
            raise AssertionError(_BEFORE.format(doing))

    def events(self) -> EventList:
        """No events. Raises AssertionError before the first trace."""
        self._check("accessing events")
        return EventList()

    def key_averages(self, *args: Any, **options: Any) -> EventList:
        """No events. Raises AssertionError before the first trace."""
        self._check("getting key averages")
        return EventList()

    def export_chrome_trace(self, path: str, *args: Any, **options: Any) -> None:
        """Write a trace without events. Raises AssertionError before the first trace."""
        self._check("exporting chrome trace")
        write_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write an empty file. Raises AssertionError before the first trace."""
        self._check("exporting stacks")
        EventList().export_stacks(path)

    def add_metadata(self, key: str, value: str) -> None:
        """No effect."""

    def add_metadata_json(self, key: str, value: str) -> None:
        """No effect."""

    def preset_metadata_json(self, key: str, value: str) -> None:
        """No effect."""

    def toggle_collection_dynamic(self, enable: bool, activities: Any) -> None:
        """No effect."""

    def set_custom_trace_id_callback(self, callback: Any) -> None:
        """No effect."""

    def get_trace_id(self) -> None:
        """None: there is no trace."""
