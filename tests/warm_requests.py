"""Requests for copies of a warm process, and the server in that process, which forks them.

A client sends a request, as JSON, and descriptors over a Unix socket: that of a pipe, three that
become the standard streams of the copy, and others that the copy has besides. It reads from the
pipe the copy's process ID and then its exit code, a line each. Processes of the tests that run
beside each other share a server.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

SERVED = "served"
"""The module of a request for the process of a backend."""

_LARGEST = 1 << 20
_REAPED = 0.02
"""Seconds after which to look at copies where the system has no descriptors of processes."""

_STREAMS = 3
_MOST = 8
"""Descriptors that a request may have."""


class Request(msgspec.Struct):
    """The command that a copy becomes, and its surroundings."""

    module: str
    arguments: list[str]
    cwd: str
    environment: dict[str, str]
    closed: list[int] = []
    """Standard streams that it does not have."""

    limits: dict[str, int] = {}
    """Limits of `resource`, by name."""

    session: bool = False
    """Whether it leads a session of its own."""

    descriptors: list[int] = []
    """In the copy, its descriptors besides those of the standard streams."""


def bound(path: Path) -> socket.socket:
    """A socket that listens at this path: clients wait there until the server accepts them."""
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen()
    return made


def sent(place: socket.socket, request: Request, streams: list[int]) -> int:
    """Send a request with its descriptors; the reading end of the pipe for the answers."""
    answers, writing = os.pipe()
    try:
        socket.send_fds(place, [msgspec.json.encode(request) + b"\n"], [writing, *streams])
    finally:
        os.close(writing)
    return answers


class Server:
    """Forks this process for each request, and tells the client when the copy has ended."""

    def __init__(
        self, impl: socket.socket, torch: socket.socket | None, warm: Callable[[], None]
    ) -> None:
        """Requests at ``impl`` are answered by this process, those at ``torch`` by a copy of it
        that has called ``warm``, of which there is one, from the first of these requests on."""
        self._impl, self._torch, self._warm = impl, torch, warm
        self._clients: list[socket.socket] = []
        self._running: dict[int, tuple[int, int]] = {}
        """By process ID, the descriptor of the process, if there are such, and of its pipe."""

        self._copy: int | None = None

    def request(self) -> Request | None:
        """In a copy, its request; in this process None, when standard input has ended."""
        while True:
            ends = [ended for ended, _ in self._running.values() if ended >= 0]
            waiting = [0, self._impl, *([self._torch] if self._torch else []), *self._clients]
            patience = _REAPED if len(ends) < len(self._running) else None
            ready = select.select([*waiting, *ends], [], [], patience)[0]
            self._reap()
            if 0 in ready:
                if self._copy is not None:
                    os.waitpid(self._copy, 0)
                return None
            for place in ready:
                if place is self._torch:
                    self._divide()
                elif place is self._impl:
                    self._clients.append(self._impl.accept()[0])
                elif place in self._clients and (begun := self._asked(place)):
                    return begun

    def _divide(self) -> None:
        """Fork the copy that answers the other requests."""
        assert self._torch is not None
        if copy := os.fork():
            self._torch.close()
            self._copy = copy
        else:
            self._close()
            self._impl = self._torch
            self._warm()
        self._torch = None

    def _asked(self, client: socket.socket) -> Request | None:
        """Fork a copy for a client's next request, and return that in the copy."""
        text, descriptors = b"", list[int]()
        while not text.endswith(b"\n"):
            piece, more, *_ = socket.recv_fds(client, _LARGEST, _MOST)
            if not piece:
                self._clients.remove(client)
                client.close()
                return None
            text, descriptors = text + piece, descriptors + more
        answers, *streams = descriptors
        if not (pid := os.fork()):
            self._close()
            os.close(answers)
            for standard, stream in enumerate(streams[:_STREAMS]):
                os.dup2(stream, standard)
                os.close(stream)
            request = msgspec.json.decode(text, type=Request)
            request.descriptors = streams[_STREAMS:]
            return request
        for stream in streams:
            os.close(stream)
        _tell(answers, pid)
        self._running[pid] = (_descriptor(pid), answers)
        return None

    def _reap(self) -> None:
        for pid, (ended, answers) in list(self._running.items()):
            if not (status := os.waitpid(pid, os.WNOHANG))[0]:
                continue
            _tell(answers, os.waitstatus_to_exitcode(status[1]))
            for descriptor in (ended, answers):
                if descriptor >= 0:
                    os.close(descriptor)
            del self._running[pid]

    def _close(self) -> None:
        """In a copy, close what only this process needs."""
        self._impl.close()
        for client in self._clients:
            client.close()
        for descriptor in (each for both in self._running.values() for each in both if each >= 0):
            os.close(descriptor)
        self._clients, self._running = [], {}


def _descriptor(pid: int) -> int:
    return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1


def _tell(answers: int, number: int) -> None:
    with suppress(BrokenPipeError):  # of a client that does not want to know
        os.write(answers, b"%d\n" % number)
