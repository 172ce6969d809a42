"""Differences: a divergence without the names and values that one program happens to have."""

from __future__ import annotations

from conformance.compare.differences import difference


def shares(name: str | None, field: str, expected: str, got: str) -> str:
    found = {"name": name, "field": field, "expected": expected, "got": got}
    return difference("memory", found).key


def test_names_of_tensors_are_no_part_of_a_difference():
    own = "memory: storage: another's became its own"
    assert shares("d", "storage", "y", "d") == own
    assert shares(None, "result[0].storage", "x", "result#2") == own
    assert shares("ones", "[0].storage", "rows[0]", "ones[0]") == own
    assert shares("y", "storage", "y2", "y") == own
    assert shares("d", "storage", "d", "y") == "memory: storage: its own became another's"
    assert shares("d", "storage", "x", "y") == "memory: storage: another's became a third's"
