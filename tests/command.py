"""The command `conform` and pytest with the project's plugin, run as a user runs them."""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import conformance

TESTS = Path(__file__).resolve().parent
SPEC = TESTS / "miniature" / "spec"
MINIATURE = ("--spec", str(SPEC), "--area", "leaves", "--area", "ties")
"""Options that select the five programs of the miniature chapters."""


def heed_interruption() -> None:
    """For a child process: restore SIGINT, in case the parent of the tests ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


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


class _Warm:
    """A process of `warm_command`, with or without torch, which ends when this one does."""

    def __init__(self, torch: bool) -> None:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "warm_command", str(requests), str(answers)),
                *(("--torch",) if torch else ()),
            ],
            # The processes of a search have this seed of their own, which copies cannot have.
            env=environment(PYTHONHASHSEED="0"),
            stdin=subprocess.DEVNULL,
            pass_fds=(requests, answers),
        )
        os.close(requests)
        os.close(answers)
        atexit.register(self._end)

    def _end(self) -> None:
        os.close(self._requests)
        self._process.wait()

    def run(self, request: dict[str, Any], timeout: float) -> int:
        """The exit code of a command; raises subprocess.TimeoutExpired after killing it."""
        os.write(self._requests, json.dumps(request).encode() + b"\n")
        pid = self._answer(timeout)
        try:
            return self._answer(timeout)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._answer(timeout)
            raise subprocess.TimeoutExpired(request["arguments"], timeout) from None

    def _answer(self, timeout: float) -> int:
        text = b""
        while not text.endswith(b"\n"):
            if not select.select([self._answers], [], [], timeout)[0]:
                raise TimeoutError
            byte = os.read(self._answers, 1)
            assert byte, f"the warm process ended with {self._process.wait()}"
            text += byte
        return int(text)


_warm = functools.cache(_Warm)


def _copy(
    module: str,
    arguments: Sequence[str | os.PathLike[str]],
    cwd: Path,
    environment: dict[str, str],
    torch: bool,
) -> subprocess.CompletedProcess[str]:
    """`python -m` with this module and these arguments, in a copy of a warm process.

    One that has imported ``torch`` is six times as large, and takes as much longer to copy.
    """
    command = [*map(str, arguments)]
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        request = {
            "module": module,
            "arguments": command,
            "cwd": str(cwd),
            "environment": environment,
            "stdout": out.name,
            "stderr": err.name,
        }
        code = _warm(torch).run(request, timeout=180)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


def conform(
    *arguments: str | os.PathLike[str], cwd: Path, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run `conform` with these arguments in the folder ``cwd``, in a process of its own.

    It is a copy of a process that has imported all: a test would wait for imports most of its time.
    """
    return _copy("conformance.cli", arguments, cwd, environment(**changes), _asks(arguments))


def _asks(arguments: Sequence[str | os.PathLike[str]]) -> bool:
    """Whether a command may ask for torch, which is the oracle where no other is named."""
    words = [str(word).removeprefix("--conform-oracle=") for word in arguments]
    return "impl" not in words or any(word.startswith("torch") for word in words)


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python` with a script and arguments, or with `-m impl.run` before them.

    It is a copy of a process that has imported torch, or impl without torch.
    """
    if arguments[:2] == ("-m", "impl.run"):
        return _copy("impl.run", arguments[2:], cwd, environment(), torch=False)
    return _copy("__main__", arguments, cwd, environment(), torch=True)


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
    words = [*options, *suite, *arguments]
    return _copy("pytest", words, cwd, environment(), _asks(words))
