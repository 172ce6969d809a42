"""Comparison of two runs: programs added, removed, changed and unchanged, and kinds of change."""

from __future__ import annotations

import made_runs
import pytest

from conformance.base.levels import LEVELS
from conformance.output.notes import notes_of_runs
from conformance.run_files.changes import KINDS, Change, changes, standing, standings
from conformance.run_files.differences import between_runs
from conformance.run_files.reading import read_run

CONFORMS = made_runs.line("TIES-01.1", "ties")
DIVERGES = made_runs.diverging("TIES-01.1", "ties", "values")
LACKING = made_runs.uncompared("TIES-01.1", "ties", "unsupported", "no 'amax'")
NOT_RUN = made_runs.uncompared("TIES-01.1", "ties", "not_run", "no device")
OTHER = made_runs.other_version("TIES-01.1", "ties", ["2.14", "2.13"])
KNOWN = {**DIVERGES, "known": {"reason": "as NumPy has it", "link": None}}
SPECIFICATION = {
    **CONFORMS,
    "outcome": "diverges",
    "specification": [{"line": 1, "expected": "1", "got": "2"}],
}


def test_programs_are_told_apart_by_their_ids() -> None:
    before = [made_runs.line("TIES-01.1", "ties"), made_runs.line("TIES-01.2", "ties"), DIVERGES]
    before[2] = {**DIVERGES, "id": "TIES-01.3"}
    after = [{**DIVERGES, "id": "TIES-01.2"}, before[2], made_runs.line("TIES-01.4", "ties")]
    found = changes(standings(before), standings(after))
    assert found.added == ["TIES-01.4"]
    assert found.removed == ["TIES-01.1"]
    assert [change.id for change in found.changed] == ["TIES-01.2"]
    assert found.unchanged == ["TIES-01.3"]


def test_times_traces_and_errors_in_ulp_are_no_change() -> None:
    other = {
        **CONFORMS,
        "seconds": {"oracle": 9.0, "backend": 9.0},
        "ulp": {"float32": 3.0},
        "expected": None,
        "source": "pass",
    }
    assert standing(other) == standing(CONFORMS)


def test_another_first_divergence_is_a_change_though_the_verdict_is_the_same() -> None:
    first = DIVERGES["divergences"]["values"]
    elsewhere = {**DIVERGES, "divergences": {"values": {**first, "line": 5}}}
    (change,) = changes(standings([DIVERGES]), standings([elsewhere])).changed
    assert change.before.levels == change.after.levels
    assert change.kind == "otherwise"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (CONFORMS, DIVERGES, "diverges"),
        (LACKING, DIVERGES, "diverges"),
        (KNOWN, DIVERGES, "diverges"),
        (CONFORMS, SPECIFICATION, "diverges"),
        (CONFORMS, OTHER, "other_version"),
        (DIVERGES, OTHER, "other_version"),
        (OTHER, {**OTHER, "versions": ["2.14"]}, "otherwise"),
        (OTHER, DIVERGES, "diverges"),
        (OTHER, CONFORMS, "conforms"),
        (DIVERGES, CONFORMS, "conforms"),
        (LACKING, CONFORMS, "conforms"),
        (CONFORMS, LACKING, "lost"),
        (DIVERGES, NOT_RUN, "lost"),
        (LACKING, NOT_RUN, "otherwise"),
        (DIVERGES, KNOWN, "otherwise"),
        (NOT_RUN, KNOWN, "otherwise"),
    ],
)
def test_what_was_not_compared_is_never_better_or_worse(before, after, kind: str) -> None:
    found = changes(standings([before]), standings([after]))
    assert [change.kind for change in found.changed] == [kind]
    assert found.of_kind(kind) == found.changed
    assert kind in KINDS


def test_what_was_not_compared_has_no_verdict_at_any_level() -> None:
    assert standing(LACKING).levels == (None,) * len(LEVELS)
    assert standing(DIVERGES).levels == ("diverges", "conforms", "conforms", "conforms")
    assert Change("x", standing(CONFORMS), standing(CONFORMS)).kind == "otherwise"


def test_new_divergences_are_told_by_their_causes(tmp_path) -> None:
    names = [f"TIES-0{number}.1" for number in range(1, 5)]
    before = [
        made_runs.diverging(names[0], "ties"),
        *(made_runs.line(n, "ties") for n in names[1:]),
    ]
    after = [made_runs.diverging(name, "ties") for name in names]
    runs = [
        read_run(made_runs.run_file(tmp_path / f"{number}.jsonl", lines))
        for number, lines in enumerate((before, after))
    ]
    text = "\n".join(notes_of_runs(between_runs(*runs), *runs))
    assert "## 3 programs diverge now" in text
    assert "**3 of 4 divergences**: values: " in text
    fixed = "\n".join(notes_of_runs(between_runs(*reversed(runs)), *reversed(runs)))
    assert "## 3 programs conform now" in fixed
    assert "**3 of 4 divergences**" in fixed
