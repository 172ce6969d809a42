"""Two traces side by side: the texts of each step, and on which of them the sides agree."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from conformance.compare.closeness import difference, scalar_dtype
from conformance.observe.fields import FIELDS
from conformance.output.display import field_lines, field_value, observation

Shown = list[tuple[str, bool]]
"""Lines of text, each with whether the other side agrees."""

_VALUES = ("kind", "type", "value", "items", "name", "shape", "dtype", "values")
_NUMBERS = ("int", "float", "complex")


class Aligned:
    """The two sides, as far as their steps were seen.

    A name that only one side reports as changed is shown on the other as it was: the values of
    names after the statement are compared, as they are for the verdict. Fields of other levels than
    these are shown, and are no difference.
    """

    def __init__(self, levels: Collection[str]) -> None:
        self._uncompared = {one.name for one in FIELDS if one.level not in levels}
        self._texts = "diagnostics" in levels
        self._names: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        self._storages: dict[Any, Any] = {}

    def step(
        self, expected: Mapping[str, Any] | None, got: Mapping[str, Any] | None
    ) -> tuple[Shown, Shown]:
        """The texts of one step of each side; None where a side has ended before."""
        if expected is None or got is None:
            shown = [(text, False) for text in texts(expected or got or {})]
            ended = [("(ended before)", False)]
            return (shown, ended) if got is None else (ended, shown)
        left, right = self._statement(expected, got)
        pairs = [("", expected.get("result"), got.get("result"))]
        changed = [step.get("changed", {}) for step in (expected, got)]
        for mine, seen in zip(self._names, changed, strict=True):
            mine.update(seen)
        for name in dict.fromkeys((*changed[0], *changed[1])):
            pairs.append((name, self._names[0].get(name), self._names[1].get(name)))
        for name, one, other in pairs:
            left += self._observed(name, one, other)
            right += self._observed(name, other, one, reverse=True)
        gone = [step.get("deleted", ()) for step in (expected, got)]
        left += [(f"del {name}", name in gone[1]) for name in gone[0]]
        right += [(f"del {name}", name in gone[0]) for name in gone[1]]
        nothing = [("(nothing changed)", True)]
        return left or nothing, right or nothing

    def _statement(
        self, expected: Mapping[str, Any], got: Mapping[str, Any]
    ) -> tuple[Shown, Shown]:
        """The errors and warnings of both sides; at the level values an error's class counts."""
        errors = [step.get("error") for step in (expected, got)]
        kinds = [error and error.get("type") for error in errors]
        agree = errors[0] == errors[1] if self._texts else kinds[0] == kinds[1]
        warned = [list(_warnings(step)) for step in (expected, got)]
        sides: tuple[Shown, Shown] = ([], [])
        for at, side in enumerate(sides):
            if errors[at] is not None:
                side.append((_raised(errors[at]), agree))
            other = warned[1 - at]
            side += [(text, text in other or not self._texts) for text in warned[at]]
        return sides

    def _observed(self, name: str, one: Any, other: Any, reverse: bool = False) -> Shown:
        """The lines of one side's observation, `one`, of a name or of the result."""
        if one is None:
            return []
        if not isinstance(one, Mapping) or not isinstance(other, Mapping):
            return [(text, one == other) for text in _named(name, one)]
        head = f"{name} = {observation(one)}" if name else f"= {observation(one)}"
        shown: list[tuple[str, tuple[str, ...]]] = [(head, _VALUES)]
        shown += [(f"    {text}", fields) for text, fields in field_lines(one)]
        return [
            (text, all(self._agrees(field, one, other, reverse) for field in fields))
            for text, fields in shown
        ]

    def _agrees(
        self, field: str, one: Mapping[str, Any], other: Mapping[str, Any], reverse: bool
    ) -> bool:
        if field in self._uncompared:
            return True
        mine, theirs = one.get(field), other.get(field)
        if field == "storage" and isinstance(mine, str) and isinstance(theirs, str):
            ours, foreign = (theirs, mine) if reverse else (mine, theirs)
            return bool(self._storages.setdefault(foreign, ours) == ours)
        if field == "grad" and isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            return all(
                self._agrees(part, mine, theirs, reverse) for part in ("shape", "dtype", "values")
            )
        if field == "values" and isinstance(mine, list) and isinstance(theirs, list):
            return difference(mine, theirs, str(one.get("dtype")))[0] is None
        if field == "value" and one.get("kind") == other.get("kind") and one["kind"] in _NUMBERS:
            return difference([mine], [theirs], scalar_dtype(mine, theirs))[0] is None
        return bool(mine == theirs)


def texts(step: Mapping[str, Any]) -> list[str]:
    """The lines of one step alone."""
    found = [_raised(step["error"])] if "error" in step else []
    found += _warnings(step)
    if "result" in step:
        found += _named("", step["result"])
    for name, seen in step.get("changed", {}).items():
        found += _named(name, seen)
    return found + [f"del {name}" for name in step.get("deleted", ())]


def _named(name: str, seen: Any) -> list[str]:
    head = f"{name} = {observation(seen)}" if name else f"= {observation(seen)}"
    below = field_lines(seen) if isinstance(seen, Mapping) else []
    return [head, *(f"    {text}" for text, _ in below)]


def _raised(error: Any) -> str:
    return f"raises {field_value({'error': error}).removeprefix('raises ')}"


def _warnings(step: Mapping[str, Any]) -> Iterator[str]:
    for warning in step.get("warnings", ()):
        yield f"warns {warning['category']}: {warning['message']}"
