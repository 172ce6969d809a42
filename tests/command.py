"""The command `conform` and pytest with the project's plugin, run as a user runs them."""

from __future__ import annotations

import atexit
import functools
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from warm_requests import SERVED, Request, sent

import conformance
from conformance.isolation.process import Process

TESTS = Path(__file__).resolve().parent
SPEC = TESTS / "miniature" / "spec"
MINIATURE = ("--spec", str(SPEC), "--area", "leaves", "--area", "ties")
"""Options that select the five programs of the miniature chapters."""

WITHOUT_TORCH = {"list", "merge", "report", "diff", "dashboard", "spec", "todo", "frameworks"}
"""Commands that ask for torch only where it is named."""

_SHARED = "WARM_PROCESS"
"""The variable that names the folder of a warm process that another process has started."""


def environment(**changes: str) -> dict[str, str]:
    """The environment of a child process in which the project and the miniatures are importable."""
    path = [str(Path(conformance.__file__).parents[1]), str(TESTS)]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**plain, "PYTHONPATH": os.pathsep.join(path), "COLUMNS": "200", **changes}


def fresh_python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A new interpreter, which copies no warm one, run in a folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=180,
    )


@functools.cache
def _folder() -> Path:
    """The folder with the sockets of a warm process, which ends when this one does."""
    if shared := os.environ.get(_SHARED):
        return Path(shared)
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    process = subprocess.Popen(
        [sys.executable, "-m", "warm_command", folder],
        # The processes of a search have this seed of their own, which copies cannot have.
        env=environment(PYTHONHASHSEED="0"),
        stdin=subprocess.PIPE,
    )

    def end() -> None:
        process.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    return folder


def share() -> None:
    """Start the warm process, from which the processes that this one starts have copies, too."""
    os.environ[_SHARED] = str(_folder())


@functools.cache
def _place(torch: bool) -> socket.socket:
    """The connection to the warm process, with or without torch."""
    place = socket.socket(socket.AF_UNIX)
    path = _folder() / ("torch" if torch else "impl")
    until = time.monotonic() + 60
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)
    place.connect(str(path))
    return place


class Started:
    """A command in a copy of the warm process, with what tests call of Popen."""

    def __init__(self, place: socket.socket, request: Request, streams: list[int]) -> None:
        self.request = request
        self.returncode: int | None = None
        self._answers = sent(place, request, streams)
        self.pid = self._answer(120)

    def _answer(self, timeout: float | None) -> int:
        text, poll = b"", select.poll()
        poll.register(self._answers)
        while not text.endswith(b"\n"):
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(self.request.arguments, timeout or 0)
            piece = os.read(self._answers, 1)
            assert piece, "the warm process has ended"
            text += piece
        return int(text)

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; raises subprocess.TimeoutExpired after so many seconds."""
        if self.returncode is None:
            self.returncode = self._answer(timeout)
            os.close(self._answers)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def started(
    *arguments: str | os.PathLike[str],
    cwd: Path,
    module: str = "conformance.cli",
    streams: Sequence[IO[Any] | None] = (None, None, None),
    changes: Mapping[str, str] = MappingProxyType({}),
    torch: bool | None = None,
    **more: Any,
) -> Started:
    """Begin `python -m` with a module and arguments, in a copy of the warm process.

    Streams that are not given are empty, and nothing is kept of them. More are fields of the
    request.
    """
    command = [*map(str, arguments)]
    torch = _asks(command) if torch is None else torch
    request = Request(module, command, str(cwd), environment(**changes), **more)
    with open(os.devnull, "r+") as nothing:
        descriptors = [(stream or nothing).fileno() for stream in streams]
        return Started(_place(torch), request, descriptors)


def ended(
    *arguments: str | os.PathLike[str], cwd: Path, timeout: float = 180, **more: Any
) -> subprocess.CompletedProcess[str]:
    """The exit code and the output of a command that `started` starts.

    Raises subprocess.TimeoutExpired after killing it.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        streams = [None, out, err]
        for standard, stream in enumerate(more.pop("streams", ())):
            streams[standard] = stream or streams[standard]
        process = started(*arguments, cwd=cwd, streams=streams, **more)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait(timeout)
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(process.request.arguments, code, out.read(), err.read())


def launched(
    module: str, options: Sequence[str], memory: int | None = None, **changes: str
) -> Process:
    """What `conformance.isolation.process.launched` returns, in a copy of the warm process.

    A backend of a test runs a few programs, and would import impl or torch most of its time.
    """
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **changes}
    torch = any("torch" in option for option in options)

    def begun(requests: int, answers: int, printed: IO[bytes]) -> Any:
        request = Request(SERVED, [module, *options], os.getcwd(), around, session=True)
        with open(os.devnull) as nothing:
            streams = [nothing.fileno(), printed.fileno(), printed.fileno()]
            return Started(_place(torch), request, [*streams, requests, answers])

    return Process(begun, memory)


def conform(
    *arguments: str | os.PathLike[str], cwd: Path, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run `conform` with these arguments in the folder ``cwd``, in a process of its own.

    It is a copy of a process that has imported all: a test would wait for imports most of its time.
    """
    return ended(*arguments, cwd=cwd, changes=changes)


def _asks(words: Sequence[str]) -> bool:
    """Whether a command may ask for torch, which is the oracle where no other is named."""
    named = [word.partition("=")[2] if word.startswith("--conform-") else word for word in words]
    others = not WITHOUT_TORCH.isdisjoint(words[:1]) or any(
        word in ("impl", "none") or word.startswith("recorded:") for word in named
    )
    return not others or any(word.startswith("torch") for word in named)


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python` with a script and arguments, or with `-m impl.run` before them.

    It is a copy of a process that has imported torch, or impl without torch.
    """
    if arguments[:2] == ("-m", "impl.run"):
        return ended(*arguments[2:], cwd=cwd, module="impl.run", torch=False)
    return ended(*arguments, cwd=cwd, module="__main__", torch=True)


def judge(
    backend: str, *arguments: str | os.PathLike[str], cwd: Path
) -> subprocess.CompletedProcess[str]:
    """`conform run` of a miniature against `impl` over the miniature chapters."""
    backend = backend if backend == "impl" else f"miniature.{backend}"
    return conform(
        *("run", "--backend", backend, "--oracle", "impl", *MINIATURE, *arguments), cwd=cwd
    )


def pytest_suite(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """pytest with the plugin over the suite's own test module."""
    options = ("-p", "conformance.plugin", "-p", "no:cacheprovider", f"--conform-spec={SPEC}")
    suite = ("--pyargs", "conformance.test_programs")
    return ended(*options, *suite, *arguments, cwd=cwd, module="pytest")
