"""The command `conform` and pytest with the project's plugin, run as a user runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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


def conform(
    *arguments: str | os.PathLike[str], cwd: Path, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run `conform` with these arguments in the folder ``cwd``."""
    return subprocess.run(
        [sys.executable, "-m", "conformance.cli", *map(str, arguments)],
        cwd=cwd,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=180,
    )


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
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "conformance.plugin"),
            *("--pyargs", "conformance.test_programs", f"--conform-spec={SPEC}"),
            *("-p", "no:cacheprovider", *arguments),
        ],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=180,
    )
