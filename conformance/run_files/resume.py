"""Resuming an interrupted run: the programs that failed in it, and the lines that still hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.program.program import Program
from conformance.run_files.run import Run, RunError
from conformance.run_files.totals import is_failing
from conformance.suite.docstrings import is_made_by_torch

SAME = ("suite", "backend", "oracle", "seed", "default_dtype")
"""The header fields that must agree if lines are to stand in one run file."""


class DifferentSettings(RunError):
    """A run file was made with other settings than the one it is combined with."""


def failed(run: Run) -> list[str]:
    """The IDs of the programs that failed: that diverge, are known and conform, or had an error."""
    return [line["id"] for line in run.programs if _has_failed(line)]


def _has_failed(line: Mapping[str, Any]) -> bool:
    gone = (line["known"] or {}).get("stale", False)
    return is_failing(line) or gone or line["outcome"] == "error"


def check_same(
    run: Run, header: Mapping[str, Any], other: str, also: Sequence[str] = ("selection",)
) -> None:
    """Raise DifferentSettings unless the run has the settings of ``header``, that of ``other``."""
    for name in (*SAME, *also):
        mine, theirs = header_text(run.header.get(name)), header_text(header.get(name))
        if mine != theirs:
            what = name.replace("_", " ")
            raise DifferentSettings(
                run.path or "", 1, f"its {what} is {mine}, that of {other} is {theirs}."
            )


def header_text(value: Any) -> str:
    """A field of a header in words: `impl 0.1.0 (cpu)`, `areas: ties; levels: values`."""
    if not isinstance(value, Mapping):
        return "none" if value is None else str(value)
    if "name" in value:
        version = f" {value['version']}" if value.get("version") else ""
        return f"{value['name']}{version} ({value.get('device') or 'no device'})"
    named = [f"{key}: {', '.join(map(str, values))}" for key, values in value.items() if values]
    return "; ".join(named) or "everything"


def taken_over(run: Run, programs: Sequence[Program]) -> dict[str, dict[str, Any]]:
    """The lines of an earlier run that stand, by ID.

    Those of a text that was changed since do not, and neither do those that ended in an error, such
    as the death of a process, or were not run: these programs are run again.
    """
    by_id = {program.id: program for program in programs}
    return {
        line["id"]: line
        for line in run.programs
        if line["outcome"] not in ("error", "not_run")
        and (program := by_id.get(line["id"])) is not None
        # The line of a placeholder shows the source of a program made by torch.
        and (is_made_by_torch(program) or line["source"] == program.paste())
    }
