"""Conventions of a run: the gradients at ties and kinks, of the oracle and the backend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Convention:
    """One tie or kink: the program that tests it, and the convention of each side."""

    program: str
    operator: str
    situation: str
    oracle: str | None
    backend: str | None

    @property
    def differs(self) -> bool:
        """Whether the backend's convention differs from the oracle's."""
        return self.oracle != self.backend


def conventions(lines: Iterable[dict[str, Any]]) -> list[Convention]:
    """The conventions in a run's lines: differing ones first, otherwise in the order of the run."""
    found = [
        Convention(line["id"], line["operator"], **line["convention"])
        for line in lines
        if line.get("convention")
    ]
    return sorted(found, key=lambda convention: not convention.differs)
