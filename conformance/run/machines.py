"""Interpreters here and elsewhere, as pytest-xdist names them, and folders that are sent there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import execnet

from conformance.run.plan import WrongInput

IGNORED = (".*", "*.pyc", "*.pyo", "*~", "__pycache__", "pyexecnetcache", "*.egg-info")
"""Names of files and folders that are not sent."""

NO_MACHINES = "--rsyncdir sends a folder to the machines of --tx, of which none is named."
"""The message about a command line with folders only."""

FIRST = """
import os, sys
here = [os.getcwd(), *(os.path.join(os.getcwd(), folder) for folder in folders)]
sys.path[:0] = [folder for folder in here if folder not in sys.path]
# A server outlives its clients, and what it has imported for one may be out of date for another.
for name in list(sys.modules):
    if name.partition(".")[0] in ("conformance", "impl", "reference"):
        del sys.modules[name]
"""
"""Source that makes another interpreter import from the ``folders`` sent to it, by name."""


def specifications(asked: Sequence[str]) -> list[str]:
    """Specifications of interpreters, one each: `4*popen` is four; raises WrongInput."""
    found = []
    for one in asked:
        times, star, rest = one.partition("*")
        many = star and times.isdecimal()
        specification = rest if many else one
        try:
            read = execnet.XSpec(specification)
        except (AttributeError, ValueError) as error:
            raise WrongInput(f"--tx {one}: {error}") from None
        if not (read.popen or read.ssh or read.socket):
            raise WrongInput(f"--tx {one}: it names no interpreter, such as 4*popen or ssh=HOST.")
        found += [specification] * (int(times) if many else 1)
    return found


def folders(asked: Sequence[str]) -> tuple[Path, ...]:
    """The folders to send to other machines; raises WrongInput for one that is not there."""
    for folder in asked:
        if not Path(folder).is_dir():
            raise WrongInput(f"--rsyncdir {folder}: there is no such folder.")
    return tuple(dict.fromkeys(Path(folder).resolve() for folder in asked))
