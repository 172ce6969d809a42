"""Other versions of torch in a run: programs that agree with one, and changes of the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.base.levels import LEVELS
from conformance.base.torch_versions import order, ranges


@dataclass
class Group:
    """The programs on which the backend shows the same versions of torch, such as `2.0 to 2.13`.

    `levels` counts at which levels these are other versions than the oracle's.
    """

    versions: str
    programs: list[dict[str, Any]] = field(default_factory=list)
    levels: Counter[str] = field(default_factory=Counter)


@dataclass
class Since:
    """The programs whose oracle does something else than `version`, the newest in the history."""

    version: str
    programs: list[dict[str, Any]] = field(default_factory=list)


def shown_versions(line: Mapping[str, Any]) -> str | None:
    """The versions that the backend shows on a program, as ranges; None for another outcome.

    Raises ValueError for versions that are none.
    """
    if line["outcome"] != "other_version":
        return None
    return ranges(line["versions"])


def groups(lines: Iterable[dict[str, Any]]) -> list[Group]:
    """The programs with the outcome *other version* by versions, the largest group first."""
    found: dict[str, Group] = {}
    for line in lines:
        if (shown := shown_versions(line)) is None:
            continue
        group = found.setdefault(shown, Group(shown))
        group.programs.append(line)
        group.levels.update(
            level for level in LEVELS if line["levels"].get(level) == "other_version"
        )
    return sorted(found.values(), key=lambda group: -len(group.programs))


def since(lines: Iterable[dict[str, Any]]) -> list[Since]:
    """The programs that changed since the history, by the version that they changed from."""
    found: dict[str, Since] = {}
    for line in lines:
        if changed := line.get("since"):
            version = changed["version"]
            found.setdefault(version, Since(version)).programs.append(line)
    return [found[version] for version in sorted(found, key=order, reverse=True)]
