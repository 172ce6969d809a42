"""The program that is shown for a cause: of a rule that is likely broken, and short."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.run_files.shown import SLICED, best, length, told_lines

SHORT = """import torch
x = torch.ones(2)
y = x * 2  # tensor([2., 2.])
z = y * 2  # tensor([4., 4.])
"""
AT = {"step": 1, "line": 3, "name": "y", "field": "values", "expected": [2.0], "got": [3.0]}


def line(identifier: str, contradicted: tuple[int, ...] = (3,), **fields: Any) -> dict[str, Any]:
    """The line of a program whose second statement diverges."""
    return {
        "id": identifier,
        "rule": identifier.rpartition(".")[0],
        "area": identifier.partition("-")[0].lower(),
        "source": SHORT,
        "divergences": {"values": AT},
        "contradicted": list(contradicted),
        **fields,
    }


def shown(group: list[dict[str, Any]], diverging: dict[str, float] | None = None) -> str:
    every = dict.fromkeys((one["rule"] for one in group), 1.0)
    return str(best(group, every | (diverging or {}))["id"])


def test_of_equals_the_earlier_one_is_shown():
    assert shown([line("LEAF-01.1"), line("SEED-01.1")]) == "LEAF-01.1"


def test_rule_whose_chapter_has_another_program_with_the_cause_is_shown():
    group = [line("LEAF-01.1"), line("INPLACE-29.1"), line("TIES-01.1"), line("INPLACE-30.1")]
    assert shown(group) == "INPLACE-29.1"
    assert shown(group[:3]) == "LEAF-01.1"


def test_rule_of_which_few_programs_conform_is_shown():
    group = [line("LEAF-01.1"), line("SEED-01.1"), line("TIES-01.1")]
    assert shown(group, {"LEAF-01": 0.5}) == "SEED-01.1"
    assert shown(group, {"LEAF-01": 0.5, "SEED-01": 0.7}) == "TIES-01.1"
    assert shown(group, {"LEAF-01": 0.75}) == "LEAF-01.1"


def test_chapter_counts_for_more_than_the_share_of_the_rule():
    group = [line("LEAF-01.1"), line("SEED-01.1"), line("SEED-02.1")]
    assert shown(group, {"SEED-01": 0.1, "SEED-02": 0.1}) == "SEED-01.1"
    assert shown(group, {"SEED-01": 0.1}) == "SEED-02.1"


def long_one(identifier: str, needed: bool) -> dict[str, Any]:
    """A program of ten statements before the one that diverges, which needs them or not."""
    names = [f"x{n}" for n in range(10)]
    before = "".join(f"{name} = torch.ones(2)\n" for name in names)
    last = f"y = {' + '.join(names) if needed else names[0]}  # tensor([2., 2.])\n"
    at = {"values": {**AT, "step": 10, "line": 12}}
    return line(identifier, (12,), source=f"import torch\n{before}{last}", divergences=at)


def test_length_counts_the_statements_that_the_divergence_may_depend_on():
    assert length(long_one("SEED-01.1", needed=True)) == 11
    assert length(long_one("SEED-01.1", needed=False)) == 2
    whole = line("SEED-01.1", divergences={})
    assert told_lines(whole, None) == list(enumerate(SHORT.splitlines(), 1))


@pytest.mark.parametrize("needed", [True, False])
def test_program_that_is_told_in_few_lines_is_shown(needed):
    group = [long_one("SEED-01.1", needed), line("SEED-01.2")]
    assert shown(group) == ("SEED-01.2" if needed else "SEED-01.1")


def test_length_is_looked_at_of_the_likeliest_programs_alone(monkeypatch):
    seen: list[str] = []

    def told(one: dict[str, Any], levels: object) -> int:
        seen.append(one["id"])
        return 9 if one["rule"] in ("SEED-00", "SEED-01") else 3

    monkeypatch.setattr("conformance.run_files.shown.length", told)
    group = [line(f"SEED-{n:02}.1") for n in range(100)]
    assert shown(group) == "SEED-02.1"
    assert seen == [f"SEED-{n:02}.1" for n in range(SLICED)]
    seen.clear()
    assert shown(group[:1]) == "SEED-00.1"
    assert not seen


def test_length_of_few_programs_is_looked_at_where_none_is_short(monkeypatch):
    monkeypatch.setattr(
        "conformance.run_files.shown.length", lambda one, levels: seen.append(1) or 9
    )
    seen: list[int] = []
    assert shown([line(f"SEED-{n:02}.1") for n in range(100)]) == "SEED-00.1"
    assert len(seen) == SLICED
