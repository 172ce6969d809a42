"""`conform show`: two traces side by side, of which only differences that count are marked."""

from __future__ import annotations

from typing import Any

import made_observations
import pytest

from conformance.base.levels import LEVELS
from conformance.output.aligned import Aligned


def step(**changed: Any) -> dict[str, Any]:
    return {"statement": 0, "line": 1, "changed": changed}


def marked(shown: list[tuple[str, bool]]) -> list[str]:
    return [text.strip() for text, agrees in shown if not agrees]


X = made_observations.tensor([1.0, 2.0], [2])


@pytest.mark.parametrize(
    ("levels", "other", "found"),
    [
        (LEVELS, X, []),
        (LEVELS, {**X, "values": [1.0, 2.00000001]}, []),
        (LEVELS, {**X, "values": [1.0, 3.0]}, ["x = tensor([1.0, 3.0], float32)"]),
        (LEVELS, {**X, "version": 1}, ["output_nr=0 version=1 storage=x"]),
        (("values",), {**X, "version": 1}, []),
        (("values",), {name: X[name] for name in ("kind", "shape", "dtype", "values")}, []),
        (LEVELS, {**X, "requires_grad": True}, ["requires_grad is_leaf"]),
    ],
)
def test_a_difference_is_marked_where_its_level_is_compared(
    levels: tuple[str, ...], other: dict[str, Any], found: list[str]
) -> None:
    left, right = Aligned(levels).step(step(x=X), step(x=other))
    assert marked(right) == found
    assert len(marked(left)) == len(found)


def test_a_name_that_one_side_reports_again_is_no_difference() -> None:
    sides = Aligned(LEVELS)
    sides.step(step(x=X), step(x=X))
    left, right = sides.step(step(), step(x=X))
    assert marked(left) == marked(right) == []
    assert left == right


def test_storages_are_compared_as_a_partition() -> None:
    sides = Aligned(LEVELS)
    mine, theirs = {**X, "storage": "x"}, {**X, "storage": "again"}
    assert marked(sides.step(step(x=mine), step(x=theirs))[1]) == []
    left, right = sides.step(step(y={**mine, "storage": "y"}), step(y=theirs))
    assert marked(right) == ["output_nr=0 version=0 storage=again"]
    assert marked(left) == ["output_nr=0 version=0 storage=y"]


def test_errors_and_names_that_go_are_compared() -> None:
    error = {"error": {"type": "RuntimeError", "message": "a"}}
    other = {"error": {"type": "RuntimeError", "message": "b"}}
    assert marked(Aligned(LEVELS).step({**step(), **error}, {**step(), **other})[0])
    assert not marked(Aligned(("values",)).step({**step(), **error}, {**step(), **other})[0])
    left, right = Aligned(LEVELS).step({**step(), "deleted": ["x"]}, step())
    assert (marked(left), right) == (["del x"], [("(nothing changed)", True)])


def test_a_side_that_has_ended_is_told() -> None:
    left, right = Aligned(LEVELS).step(step(x=X), None)
    assert right == [("(ended before)", False)]
    assert len(marked(left)) == len(left)
