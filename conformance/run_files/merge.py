"""Run files put together into one run: those of shards, and reruns of what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.run_files.changes import standing
from conformance.run_files.resume import DifferentSettings, check_same, header_text
from conformance.run_files.run import Run
from conformance.suite.shard import shard

NOTED = ("label", "revision", "url", "spec_url")
"""Fields of the header about how the run was given, which change no result."""


class Merged:
    """The merged result of several runs of one suite, backend, oracle, seed and selection.

    A run of what failed in another (`--failed-in`) is folded back into that: its lines take the
    place of the earlier ones. ``header`` is that of the whole, ``lines`` are in the order in which
    they were found; ``missing`` has one sentence for each missing part, ``stale`` one for each
    known divergence that is gone.
    """

    def __init__(self, every: Sequence[Run]) -> None:
        """Raises DifferentSettings, naming the file, for a run that does not belong to the first
        one, and for two lines of one program that disagree, where neither is of a rerun."""
        reruns = [run for run in every if _is_rerun(run)]
        runs = [run for run in every if not _is_rerun(run)]
        if not runs:
            runs, reruns = reruns, []  # shards of one rerun
        first = runs[0]
        for run in runs[1:]:
            check_same(run, first.header, str(first.path), also=NOTED)
            _check_selection(run, first)
        lines = _lines(runs)
        for run in reruns:
            check_same(run, first.header, str(first.path), also=())
            _fold(run, lines, first)
        self.lines = list(lines.values())
        self.header = _header(runs, len(self.lines))
        self.missing = _missing(runs)
        ends = [run.footer or {} for run in reruns or runs]
        self.stale = [sentence for footer in ends for sentence in footer.get("stale", ())]
        if self.header["programs"] < len(self.lines):
            raise DifferentSettings(
                first.path or "",
                1,
                f"of {self.header['programs']:,} programs selected, {len(self.lines):,} were "
                "found; the shards are of different suites.",
            )


def _is_rerun(run: Run) -> bool:
    return bool(run.header["selection"].get("failed_in"))


def _fold(rerun: Run, lines: dict[str, dict[str, Any]], first: Run) -> None:
    """Let the lines of a rerun take the place of earlier ones."""
    if rerun.levels != first.levels:
        raise DifferentSettings(
            rerun.path or "",
            1,
            f"it counts the levels {', '.join(rerun.levels)}; {first.path} counts "
            f"{', '.join(first.levels)}.",
        )
    for line in rerun.programs:
        if line["id"] not in lines:
            raise DifferentSettings(
                rerun.path or "", None, f"{line['id']} is no program of the run that it repeats."
            )
        lines[line["id"]] = line


def _selection(run: Run) -> dict[str, Any]:
    """The selection before a shard was taken, without empty lists."""
    selection = run.header["selection"].items()
    return {name: values for name, values in selection if values and name != "shard"}


def _check_selection(run: Run, first: Run) -> None:
    mine, theirs = _selection(run), _selection(first)
    if mine != theirs:
        message = f"it is of {header_text(mine)}; {first.path} is of {header_text(theirs)}."
        raise DifferentSettings(run.path or "", 1, message)
    sizes = [_size(each) for each in (run, first)]
    if sizes[0] != sizes[1]:
        raise DifferentSettings(
            run.path or "",
            1,
            f"{sizes[0]:,} programs were selected, {sizes[1]:,} for {first.path}; the programs "
            "of the two suites are not the same.",
        )


def _size(run: Run) -> int:
    """How many programs were selected, before a shard was taken."""
    return int(run.header.get("selected", run.header["programs"]))


def _lines(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    lines: dict[str, dict[str, Any]] = {}
    found_in: dict[str, Run] = {}
    for run in runs:
        for line in run.programs:
            other = lines.setdefault(line["id"], line)
            if other is line:
                found_in[line["id"]] = run
            elif (line["source"], standing(line)) != (other["source"], standing(other)):
                raise DifferentSettings(
                    run.path or "",
                    None,
                    f"it says otherwise of {line['id']} than {found_in[line['id']].path}: "
                    f"{line['outcome'].replace('_', ' ')}, not "
                    f"{other['outcome'].replace('_', ' ')}.",
                )
    return lines


def _header(runs: Sequence[Run], found: int) -> dict[str, Any]:
    header = {**runs[0].header, "programs": _size(runs[0])}
    header.pop("selected", None)
    header["started"] = min(run.header["started"] for run in runs)
    if "shard" in header["selection"]:
        header["selection"] = {**header["selection"], "shard": []}
    if not all(run.header.get("allowed") for run in runs):
        header.pop("allowed", None)
    return header


def _missing(runs: Sequence[Run]) -> list[str]:
    sentences = [
        f"{run.path} is interrupted: it has {len(run.programs):,} of {run.header['programs']:,} "
        "programs"
        for run in runs
        if not run.complete
    ]
    named = [shard(text) for run in runs for text in run.header["selection"].get("shard", ())]
    for of in sorted({each.of for each in named}):
        there = {each.number for each in named if each.of == of}
        sentences += [
            f"shard {number}/{of} is missing" for number in range(1, of + 1) if number not in there
        ]
    return sentences
