"""Additions to tox.ini: an environment whose torch has no wheel here is skipped.

The 2.6 in the name of the environment record-2.6 is a version of torch, and not of Python.
"""

from __future__ import annotations

import re
from typing import Any

from tox.execute.request import StdinSource
from tox.plugin import impl
from tox.tox_env.api import ToxEnv
from tox.tox_env.errors import Skip
from tox.tox_env.python.api import Python

_extract_base_python = Python.extract_base_python


def _base_python(env_name: str) -> str | None:
    return None if env_name.startswith("record-") else _extract_base_python(env_name)


Python.extract_base_python = staticmethod(_base_python)  # type: ignore[method-assign]


@impl
def tox_on_install(tox_env: ToxEnv, arguments: Any, section: str, of_type: str) -> None:
    """Ask pip for the torch that the environment's name asks for, before anything is installed."""
    named = re.fullmatch(r"py\d+-torch(\d)(\d+)", tox_env.name)
    if of_type != "deps" or named is None:
        return
    wanted = f"{named[1]}.{named[2]}."
    asked = ["python", "-m", "pip", "index", "versions", "torch"]
    found = tox_env.execute(asked, stdin=StdinSource.OFF, show=False)
    there = re.findall(r"[\w.+]+", found.out.partition("Available versions:")[2].partition("\n")[0])
    if not any(name.startswith(wanted) for name in there):
        raise Skip(
            f"there is no wheel of torch {wanted}* here; there are: {', '.join(there) or '-'}"
        )
