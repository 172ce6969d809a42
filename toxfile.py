"""What tox does beside tox.ini: an environment whose torch has no wheel here is skipped."""

from __future__ import annotations

import re
from typing import Any

from tox.execute.request import StdinSource
from tox.plugin import impl
from tox.tox_env.api import ToxEnv
from tox.tox_env.errors import Skip


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
