"""The history beside a run: the other versions of torch that a diverging backend agrees with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from conformance.base.torch_versions import is_newer
from conformance.execution.history import History
from conformance.history.following import changed_levels, versions_of
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.settings.settings import Settings


class Past:
    """The history, for a run against one version of torch."""

    def __init__(self, history: History, oracle: str | None, settings: Settings) -> None:
        """``oracle`` is the minor version of the oracle."""
        self.history, self.oracle, self.settings = history, oracle, settings

    def found(
        self,
        line: Mapping[str, Any],
        program: Program,
        expected: Trace,
        got: Trace,
        claimed: Collection[str],
    ) -> dict[str, Any]:
        """The fields of a compared program's line that the history changes or adds.

        Where the backend diverges and agrees with another version, that is the outcome. Where the
        oracle is newer than the history, `since` has the levels at which it differs from it.
        Raises RecordingError.
        """
        newer = is_newer(self.oracle)
        diverges = line["outcome"] == "diverges" and not line["specification"]
        asked = diverges and not self.settings.exact
        if not (newer or asked) or (entry := self.history.entry(program)) is None:
            return {}
        changed: dict[str, Any] = {}
        last = entry.of(self.history.versions[0]) if newer else None
        if last is not None and (levels := changed_levels(last, expected, program)):
            changed["since"] = {"version": self.history.versions[0], "levels": levels}
        if asked:
            changed |= self._other(
                line, versions_of(entry, program, got, self.settings.selection.levels, claimed)
            )
        return changed

    def _other(self, line: Mapping[str, Any], versions: Collection[str]) -> dict[str, Any]:
        """The outcome, if there are versions beside the oracle's own."""
        others = [version for version in versions if version != self.oracle]
        if not others:
            return {}
        counted = self.settings.selection.levels
        levels = {
            level: "other_version" if verdict == "diverges" and level in counted else verdict
            for level, verdict in line["levels"].items()
        }
        return {"outcome": "other_version", "versions": others, "levels": levels}
