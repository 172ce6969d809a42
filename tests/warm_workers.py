"""Workers of pytest-xdist (`-n`) that are copies of the process that starts them.

A process that is to have such workers keeps a nursery: a copy of it from before it did anything but
import. The nursery forks a worker for each gateway that execnet would start an interpreter for.
Gateways to another interpreter or folder (`--tx`), and the commands that tests start themselves,
have interpreters of their own.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from execnet import gateway_io

_REAPED = 0.2
"""Seconds after which the nursery looks for workers that have ended."""


class _Worker:
    """A process that the nursery forked, with the methods of Popen that execnet calls."""

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        self.pid = pid
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        try:
            self._ended: int | None = os.pidfd_open(pid)
        except ProcessLookupError:
            self._ended = None

    def wait(self) -> int:
        """Wait for its end; its exit code is known to the nursery only."""
        if self._ended is not None:
            select.select([self._ended], [], [])
        return 0

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        if self._ended is not None:
            signal.pidfd_send_signal(self._ended, signal.SIGKILL)


class _IO(gateway_io.Popen2IOMaster):
    """The pipes of a worker."""

    def __init__(self, worker: _Worker, execmodel: Any) -> None:
        self.popen = worker  # type: ignore[assignment]
        gateway_io.Popen2IO.__init__(self, worker.stdin, worker.stdout, execmodel=execmodel)


def end(code: int) -> NoReturn:
    """Exit as Python does, without the destruction of all modules, which takes 0.2 s."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


def offer() -> None:
    """Keep a nursery, from which execnet in this process has its workers from now on.

    Where the system has no descriptors of processes, which Linux has, workers start as they
    usually do.
    """
    if not hasattr(os, "pidfd_open"):
        return
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not (nursery := os.fork()):
        mine.close()
        _tend(its)
    its.close()
    command = os.getpid()

    def close() -> None:
        if os.getpid() == command:
            mine.close()
            os.waitpid(nursery, 0)

    atexit.register(close)
    start: Callable[..., gateway_io.Popen2IOMaster] = gateway_io.create_io

    def create_io(spec: Any, execmodel: Any) -> gateway_io.Popen2IOMaster:
        if not spec.popen or spec.python or spec.chdir:
            return start(spec, execmodel)
        return _IO(_asked(mine), execmodel)

    gateway_io.create_io = create_io


def _asked(nursery: socket.socket) -> _Worker:
    """A new worker of the nursery."""
    theirs_in, my_out = os.pipe()
    my_in, theirs_out = os.pipe()
    environment = "\0".join(f"{name}={value}" for name, value in os.environ.items())
    socket.send_fds(
        nursery, [environment.encode(errors="surrogateescape")], [theirs_in, theirs_out]
    )
    os.close(theirs_in)
    os.close(theirs_out)
    return _Worker(int(nursery.recv(64)), my_out, my_in)


def _tend(asked: socket.socket) -> NoReturn:
    """Fork workers until the command ends, then exit; a worker does what `python -c` would."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        if not select.select([asked], [], [], _REAPED)[0]:
            _reap()
            continue
        environment, descriptors, *_ = socket.recv_fds(asked, 1 << 20, 2)
        if not environment:
            _reap()
            os._exit(0)
        if pid := os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            asked.send(str(pid).encode())
            continue
        asked.close()
        try:
            _work(environment.decode(errors="surrogateescape"), *descriptors)
        except BaseException:
            traceback.print_exc()
            end(1)
        end(0)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _work(environment: str, stdin: int, stdout: int) -> None:
    """Be the worker whose requests and answers these descriptors carry."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(line.split("=", 1) for line in environment.split("\0"))
    for source, target in ((stdin, 0), (stdout, 1)):
        os.dup2(source, target)
        os.close(source)
    sys.argv = ["-c"]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    exec(gateway_io.popen_bootstrapline, {"__name__": "__main__"})
