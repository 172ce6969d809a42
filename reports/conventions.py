"""Conventions of a run: the gradients at ties and kinks, of the oracle and the backend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reports.versions import shown_versions


@dataclass(frozen=True)
class Convention:
    """One tie or kink: the program that tests it, and the convention of each side.

    `versions` are those of torch whose convention the backend follows instead of the oracle's.
    """

    program: str
    operator: str
    situation: str
    oracle: str | None
    backend: str | None
    versions: str | None = None

    @property
    def differs(self) -> bool:
        """Whether the backend's convention differs from the oracle's and every other version's."""
        return self.oracle != self.backend and not self.versions

    @property
    def is_other(self) -> bool:
        """Whether the backend's convention is that of another version of torch."""
        return self.oracle != self.backend and bool(self.versions)


def conventions(lines: Iterable[dict[str, Any]]) -> list[Convention]:
    """The conventions in a run's lines: differing ones first, then those of other versions."""
    found = [
        Convention(
            line["id"], line["operator"], **line["convention"], versions=shown_versions(line)
        )
        for line in lines
        if line.get("convention")
    ]
    return sorted(found, key=lambda one: (not one.differs, not one.is_other))
