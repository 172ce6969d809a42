"""The history beside a run: the other versions of torch that a diverging backend agrees with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from conformance.base.torch_versions import is_newer
from conformance.compare.compare import compare
from conformance.execution.history import History
from conformance.execution.saved import recorded_saved
from conformance.history.changes import with_plain_errors
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
        # A NotImplementedError may be another version's answer, and not a lack of the backend.
        differs = line["outcome"] in ("diverges", "unsupported") and not line["specification"]
        asked = differs and not self.settings.exact
        if not (newer or asked) or (entry := self.history.entry(program)) is None:
            return {}
        changed: dict[str, Any] = {}
        last = entry.of(self.history.versions[0]) if newer else None
        if last is not None and (levels := changed_levels(last, expected, program)):
            changed["since"] = {"version": self.history.versions[0], "levels": levels}
        if asked:
            counted = self.settings.selection.levels
            versions = versions_of(entry, program, got, counted, claimed)
            if others := [version for version in versions if version != self.oracle]:
                verdict = compare(expected, with_plain_errors(got), program, False, claimed)
                changed |= _other(verdict.to_json(), others, counted)
        return changed

    def saved(self, program: Program) -> list[Any] | None:
        """The oracle's saved tensors after each statement, where they are recorded."""
        return recorded_saved(program, str(self.oracle), self.history.folder.name)


def _other(
    verdict: Mapping[str, Any], versions: list[str], counted: Collection[str]
) -> dict[str, Any]:
    """The fields of a line whose backend agrees with these versions, and not with the oracle."""
    levels = {
        level: "other_version" if found == "diverges" and level in counted else found
        for level, found in verdict["levels"].items()
    }
    found = {"levels": levels, "divergences": verdict["divergences"], "reason": None}
    return {"outcome": "other_version", "versions": versions, **found}
