"""`torch.multiprocessing.spawn`: processes that run one function, and their errors."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):
    """The failure of one of several processes, by its number (torch.multiprocessing's)."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """The process ended by a signal, or with another exit code than 0."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple:
        given = self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name
        return type(self), given


def _run(fn: Callable, i: int, args: tuple, error_file: str) -> None:
    """Run the function, in a process of its own; a traceback is left in a file."""
    parent = os.getppid()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        if os.getppid() == parent:
            _leave(error_file)
            sys.exit(128 + signal.SIGINT)
    except Exception:
        _leave(error_file)
        sys.exit(1)


def _leave(error_file: str) -> None:
    with open(error_file, "wb") as file:
        pickle.dump(traceback.format_exc(), file)


class ProcessContext:
    """Processes that were started together (torch.multiprocessing.ProcessContext)."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for a process to end; whether all have ended.

        When one has failed, the others are terminated, after `grace_period` seconds if given, and
        its exception is raised.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout=timeout):
            index = self.sentinels.pop(sentinel)  # type: ignore[index]
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end_all(grace_period)
        raise self._failure(failed)

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._wait(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        if os.access(self.error_files[index], os.R_OK):
            with open(self.error_files[index], "rb") as file:
                trace = pickle.load(file)
            told = f"\n\n-- Process {index} terminated with the following error:\n{trace}"
            return ProcessRaisedException(told, index, process.pid)
        code = process.exitcode
        if code >= 0:
            told = f"process {index} terminated with exit code {code}"
            return ProcessExitedException(told, index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        told = f"process {index} terminated with signal {name}"
        return ProcessExitedException(told, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """`ProcessContext`, by its old name."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes, and wait for them unless `join` is False
    (torch.multiprocessing.start_processes)."""
    context = multiprocessing.get_context(start_method)
    processes: list[Any] = []
    error_files: list[str] = []
    for i in range(nprocs):
        with tempfile.NamedTemporaryFile(prefix="errorfile-", suffix=".pickle") as file:
            error_files.append(file.name)
        given = fn, i, args, error_files[-1]
        process = context.Process(target=_run, args=given, daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` fresh processes, and wait for them unless `join` is False
    (torch.multiprocessing.spawn)."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a "
            "different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
