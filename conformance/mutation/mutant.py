"""Mutants: implementations with one mistake, and catalogues of them, found by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.backends import BackendError

CATALOGUES = {"impl": "mutants.catalogue"}
"""The catalogue of a backend, unless another is named."""


class CatalogueError(BackendError):
    """A catalogue does not exist, or a mutant of it is malformed; the message says which."""


@dataclass(frozen=True)
class Mutant:
    """One mistake, as an implementer would make it.

    `breaks` names the rules, areas or operators that it breaks, the likeliest first; `shows` is a
    program whose trace differs, empty for a generated mutant. `apply` changes the implementation in
    the process that calls it, and returns the namespace of the changed one.
    """

    name: str
    area: str
    kind: str
    mistake: str
    breaks: tuple[str, ...]
    shows: str
    apply: Callable[[], Any]


def find_catalogue(name: str) -> Sequence[Mutant]:
    """The mutants of the module `name`, which its function `catalogue` returns.

    Raises CatalogueError.
    """
    try:
        found = importlib.import_module(name).catalogue()
    except CatalogueError:
        raise
    except Exception as error:
        raise CatalogueError(
            f"catalogue {name!r}: {type(error).__name__}: {error}. A catalogue is a module with a "
            "function `catalogue`, which returns mutants."
        ) from error
    return tuple(found)
