"""The conventions of a run: what each side's gradient is at ties and kinks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Convention:
    """One tie or kink: the program that shows it, and the convention that each side follows."""

    program: str
    operator: str
    situation: str
    oracle: str | None
    backend: str | None

    @property
    def differs(self) -> bool:
        """Whether the backend follows another convention than the oracle."""
        return self.oracle != self.backend


def conventions(lines: Iterable[dict[str, Any]]) -> list[Convention]:
    """The conventions in a run's lines, those that differ first, else in the run's order."""
    found = [
        Convention(line["id"], line["operator"], **line["convention"])
        for line in lines
        if line.get("convention")
    ]
    return sorted(found, key=lambda convention: not convention.differs)
