"""Mutants of `impl`: named mistakes of an implementer, for `conform mutants`.

Each is a backend of the suite too: `conform show ACCUM-02.1 --backend mutants:grad_overwritten`.
"""

from __future__ import annotations

from typing import Any

from mutants.catalogue import catalogue


def __getattr__(name: str) -> Any:
    """The factory of the mutant with this name, which changes `impl` in the calling process."""
    for mutant in catalogue() if not name.startswith("_") else ():
        if mutant.name == name:
            return mutant.apply
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
