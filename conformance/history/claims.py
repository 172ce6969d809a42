"""Claims: the levels that a run supports, each with the versions of torch that it supports it for.

A run supports a level for a version of torch if no program ended in an error or was not run, and
every program that was compared at the level agrees there with that version. For the oracle's own
version the verdict says so; a known divergence is a divergence. For another version the history
does: where the backend conforms, the traces of both versions have to agree at the level; where it
shows other versions, this one has to be among them. A program that a version lacks says nothing
about that version. A program that the history lacks speaks against every version but the oracle's
own, other than a law, which holds of any version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.base.levels import LEVELS
from conformance.base.torch_versions import newest_first, order
from conformance.execution.history import Entry, History
from conformance.execution.recorded import is_as_history
from conformance.history.changes import difference, is_there
from conformance.program.program import Program
from conformance.run_files.identity import torch_version
from conformance.suite import laws


def claims(
    header: Mapping[str, Any],
    lines: Iterable[Mapping[str, Any]],
    program_of: Callable[[str], Program | None],
    past: History | None,
) -> dict[str, list[str]]:
    """For each level that the run supports the versions that it does so for, newest first.

    The run has this header and these lines; `program_of` returns the program of an ID as the suite
    has it now. Against an oracle other than torch nothing is claimed. Raises RecordingError.
    """
    lines = list(lines)
    own = torch_version(header)
    if own is None or any(line["outcome"] in ("error", "not_run") for line in lines):
        return {}
    oracle, dtype = str(header["oracle"]["name"]), header.get("default_dtype", "float32")
    if not is_as_history(oracle, header["seed"], dtype):
        past = None
    counted = header["selection"]["levels"]
    possible = {level: {own, *(past.versions if past else ())} for level in counted}
    compared: set[str] = set()
    for line in lines:
        if line["outcome"] == "unsupported":
            continue
        compared |= set(line["levels"]) - _silent(line)
        for level, versions in _shown(line, counted, possible, own, past, program_of).items():
            possible[level] &= versions
    return {
        level: list(newest_first(possible[level]))
        for level in counted
        if level in compared and possible[level]
    }


def _silent(line: Mapping[str, Any]) -> set[str]:
    return {level for level, verdict in line["levels"].items() if verdict == "not_applicable"}


def _shown(
    line: Mapping[str, Any],
    counted: Iterable[str],
    possible: Mapping[str, set[str]],
    own: str,
    past: History | None,
    program_of: Callable[[str], Program | None],
) -> dict[str, set[str]]:
    """By level, the versions that a line does not speak against; levels without any are left out.

    The history is only read if it can rule out a version that is still possible.
    """
    named = set(line.get("versions", ()))
    found: dict[str, set[str]] = {}
    open_levels = []
    for level in counted:
        verdict = line["levels"].get(level, "not_applicable")
        if verdict == "diverges":
            found[level] = set()
        elif verdict == "other_version":
            found[level] = named
        elif verdict == "conforms" and line["area"] != laws.AREA and possible[level] - {own}:
            open_levels.append(level)
    if open_levels and past is not None:
        alike = _alike(line, own, past, program_of)
        found |= {level: {own} | named | alike[level] for level in open_levels}
    return found


def _alike(
    line: Mapping[str, Any],
    own: str,
    past: History,
    program_of: Callable[[str], Program | None],
) -> dict[str, set[str]]:
    """By level, the versions whose trace of a program agrees with the oracle's, or that lack it."""
    program = program_of(line["id"])
    if program is None or program.paste() != line["source"]:
        return {level: set() for level in LEVELS}
    recorded = _recorded(own, past)
    if recorded in (same := past.only(program)):
        found = {level: set(same) for level in LEVELS}
    else:
        entry = past.entry(program)
        if recorded is None or entry is None or entry.of(recorded) is None:
            return {level: set() for level in LEVELS}
        found = alike(program, entry, recorded)
    since = line.get("since", {}).get("levels", ()) if recorded != own else ()
    return {level: set() if level in since else versions for level, versions in found.items()}


def _recorded(version: str, past: History) -> str | None:
    """The version in the history that tells of this one: itself, or the newest if it is newer."""
    if version in past.versions:
        return version
    newest = past.versions[0]
    return newest if order(version) > order(newest) else None


def alike(program: Program, entry: Entry, version: str) -> dict[str, set[str]]:
    """By level, the versions whose trace agrees with that of `version`, or that lack a name."""
    mine = entry.of(version)
    found: dict[str, set[str]] = {level: set() for level in LEVELS}
    for shown in entry.shown:
        differing: Iterable[str] = ()
        if mine is not None and shown is not mine and is_there(shown):
            differing = difference(program, mine, shown).divergences
        for level in LEVELS:
            if level not in differing:
                found[level] |= set(shown.versions)
    return found
