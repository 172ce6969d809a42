"""Additions to tox.ini: an environment is skipped if its torch has no wheel here, and shares the
files of another environment that has its torch.

The 2.6 in the name of the environment record-2.6 is a version of torch, and not of Python.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tox.execute.request import StdinSource
from tox.plugin import impl
from tox.tox_env.api import ToxEnv
from tox.tox_env.errors import Skip
from tox.tox_env.python.api import Python
from tox.tox_env.python.pip.req_file import PythonDeps

_extract_base_python = Python.extract_base_python


def _base_python(env_name: str) -> str | None:
    return None if env_name.startswith("record-") else _extract_base_python(env_name)


Python.extract_base_python = staticmethod(_base_python)  # type: ignore[method-assign]


@impl
def tox_on_install(tox_env: ToxEnv, arguments: Any, section: str, of_type: str) -> None:
    """Before the dependencies are installed: skip the environment, or link its torch."""
    if of_type != "deps" or not isinstance(arguments, PythonDeps):  # those of the package
        return
    _require_wheel(tox_env)
    if isinstance(tox_env, Python) and (wanted := _wanted(arguments.lines())):
        _link_torch(tox_env, wanted)


def _require_wheel(tox_env: ToxEnv) -> None:
    """Ask pip for the torch that the environment's name asks for; raises Skip."""
    named = re.fullmatch(r"py\d+-torch(\d)(\d+)", tox_env.name)
    if named is None:
        return
    wanted = f"{named[1]}.{named[2]}."
    asked = ["python", "-m", "pip", "index", "versions", "torch"]
    found = tox_env.execute(asked, stdin=StdinSource.OFF, show=False)
    there = re.findall(r"[\w.+]+", found.out.partition("Available versions:")[2].partition("\n")[0])
    if not any(name.startswith(wanted) for name in there):
        raise Skip(
            f"there is no wheel of torch {wanted}* here; there are: {', '.join(there) or '-'}"
        )


def _wanted(lines: list[str]) -> str:
    """The version of torch that is asked for, such as `2.15.0` or `2.14.`; empty if none is."""
    asked = (re.fullmatch(r"torch==([\d.]+)\*?", line) for line in lines)
    return next((found[1] for found in asked if found), "")


def _link_torch(tox_env: Python, wanted: str) -> None:
    """Link torch and the distributions that it requires from another environment, if one has it.

    They are 5 GB, which pip takes minutes to unpack once more. It replaces files and writes into
    none, so that an environment cannot change another one's.
    """
    target = tox_env.env_site_package_dir()
    within = target.relative_to(tox_env.env_dir)
    if (target / "torch").exists():
        return
    for folder in sorted(Path(tox_env.core["work_dir"]).glob("*/")):
        installed: dict[str, Distribution] = {
            canonicalize_name(d.metadata["Name"]): d
            for d in distributions(path=[str(folder / within)])
        }
        torch = installed.get("torch")
        version = torch.version.partition("+")[0] if torch is not None else ""
        if version == wanted or (wanted.endswith(".") and version.startswith(wanted)):
            for needed in _closure("torch", installed):
                _link(needed, target)
            return


def _closure(name: str, installed: dict[str, Distribution]) -> Iterator[Distribution]:
    """A distribution and those that it requires, of those installed."""
    pending, found = [name], set()
    while pending:
        if (name := pending.pop()) in found or name not in installed:
            continue
        found.add(name)
        yield installed[name]
        required = map(Requirement, installed[name].requires or ())
        pending.extend(
            canonicalize_name(r.name) for r in required if r.marker is None or r.marker.evaluate()
        )


def _link(installed: Distribution, target: Path) -> None:
    for file in installed.files or ():
        source, link = Path(file.locate()), target / file
        if ".." not in file.parts and source.is_file() and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(source, link)
