"""Containers: a port's command in one without network, where Docker or Podman is at hand."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

ENGINES = ("docker", "podman")
_PATIENCE = 20.0


@cache
def engine() -> tuple[str | None, str]:
    """The program that runs containers here, or None, with the reason."""
    there = [name for name in ENGINES if shutil.which(name)]
    if not there:
        return None, "no Docker or Podman"
    said = ""
    for name in there:
        try:
            done = subprocess.run(
                [name, "info"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            said = f"{name}: {error}"
            continue
        if not done.returncode:
            return name, ""
        said = f"{name}: {(done.stderr.strip().splitlines() or ['it does not answer'])[-1]}"
    return None, f"no Docker or Podman that answers ({said})"


def command(
    runner: str, image: str, name: str, words: Sequence[str], memory: int | None
) -> list[str]:
    """The command that runs these words in a container of this image and name.

    It sees the current folder, which it cannot change, and no network.
    """
    here = os.getcwd()
    limits = [] if memory is None else [f"--memory={memory}", f"--memory-swap={memory}"]
    return [
        *(runner, "run", "--rm", "--interactive", "--init", f"--name={name}"),
        *("--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only"),
        *("--pids-limit=1024", "--tmpfs=/tmp", *limits),
        *(f"--user={os.getuid()}:{os.getgid()}", f"--volume={here}:{here}:ro"),
        *(f"--workdir={here}", image, *words),
    ]


def remove(runner: str, name: str) -> list[str]:
    """The command that ends a container, whatever it does, and removes it."""
    return [runner, "rm", "--force", name]
