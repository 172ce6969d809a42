"""The oracle's trace of a program, by statement: new values and changed fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from markupsafe import Markup

from conformance.base.levels import LEVELS
from conformance.observe.fields import compared_fields, fields_of
from conformance.observe.trace import Observation, Step, Trace
from conformance.output.display import cut, elements, field_value, observation
from conformance.program.program import Program
from reports.specification.source import highlighted
from reports.text import visible

LONG = 400
"""Longest text shown for one level of one name."""

RESULT = "result"
QUIET = {"output_nr": 0, "offset": 0}
"""The usual values of a tensor's fields; only others are shown."""
# The level of each field of a tensor, in the order in which a page shows them: values first.
LEVEL_OF = {
    field.name: str(field.level)
    for field in sorted(compared_fields("tensor"), key=lambda field: field.level != "values")
}
FLAGS = ("requires_grad", "is_leaf", "has_grad_fn", "retains_grad", "is_view")


@dataclass(frozen=True)
class Row:
    """The fields of one level of one name; without a level, a remark on the statement."""

    name: str
    level: str
    text: str


@dataclass(frozen=True)
class Observed:
    """A statement with the number of its first line, its source, and the rows observed after it."""

    line: int
    source: Markup
    rows: tuple[Row, ...]


def observed(program: Program, trace: Trace) -> list[Observed]:
    """The statements of a program; those after an error have no rows.

    Of a tensor observed before only the changed fields are shown.
    """
    found, before = [], dict[str, Observation]()
    for statement, step in zip_longest(program.statements, trace.steps):
        if statement is None:
            break
        rows = tuple(_rows(step, before)) if step else (Row("", "", "not reached"),)
        if step:
            before.update(step.changed)
            for name in step.deleted:
                before.pop(name, None)
        source = Markup("\n").join(highlighted(statement.source))
        found.append(Observed(statement.line, source, rows or (Row("", "", "nothing changed"),)))
    return found


def _rows(step: Step, before: Mapping[str, Observation]) -> Iterator[Row]:
    if step.error:
        yield _row("raises", "values", step.error["type"])
        yield _row("", "diagnostics", step.error["message"])
    for warning in step.warnings:
        yield _row("warns", "diagnostics", f"{warning['category']}: {warning['message']}")
    if step.result is not None:
        yield from _of_name(RESULT, step.result, None)
    for name, seen in step.changed.items():
        yield from _of_name(name, seen, before.get(name))
    for name in step.deleted:
        yield _row(name, "values", "deleted")


def _row(name: str, level: str, text: str) -> Row:
    return Row(visible(name), level, visible(cut(text, LONG)))


def _of_name(name: str, seen: Observation, before: Observation | None) -> Iterator[Row]:
    if seen.get("kind") != "tensor":
        yield _row(name, "values", observation(seen))
        return
    known = before if before and before.get("kind") == "tensor" else None
    texts: dict[str, list[str]] = {level: [] for level in LEVELS}
    for level, text in _tensor(seen, known):
        texts[level].append(text)
    shown = [(level, "  ".join(parts)) for level, parts in texts.items() if parts]
    for number, (level, text) in enumerate(shown):
        yield _row("" if number else name, level, text)


def _tensor(seen: Observation, before: Observation | None) -> Iterator[tuple[str, str]]:
    """The fields of a tensor that differ from `before`, by level; without `before` those with an
    unusual value."""
    changed = [name for name in LEVEL_OF if name in seen and _differs(name, seen, before)]
    if before is None or {"shape", "dtype", "values"} & set(changed):
        yield "values", observation(seen)
    for name in changed:
        value = seen[name]
        if name == "grad":
            yield from _grad(value, (before or {}).get("grad"))
        elif LEVEL_OF[name] == "values":
            continue
        elif before is not None or not (name in FLAGS or _is_quiet(name, value)):
            yield LEVEL_OF[name], f"{name}={_value(name, value)}"
        elif value is True:
            yield LEVEL_OF[name], name
    if before is None and not any(seen.get(name) for name in FLAGS[:-1]):
        yield "graph", "no requires_grad"


def _is_quiet(name: str, value: Any) -> bool:
    return value is None or value == [] or QUIET.get(name) == value


def _differs(name: str, seen: Observation, before: Observation | None) -> bool:
    return before is None or name not in before or seen[name] != before[name]


def _value(name: str, value: Any) -> str:
    if name == "graph" and isinstance(value, list):
        return " ← ".join(map(str, value))
    return value if isinstance(value, str) else field_value(value)


def _grad(grad: Any, before: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(grad, Mapping) or "values" not in grad:
        # An absent gradient is the default.
        if grad is not None or before is not None:
            yield "values", f"grad={field_value(grad)}"
        return
    yield "values", f"grad={elements(grad)}"
    for field in fields_of("grad"):
        name, level = field.name, str(field.level)
        if level == "values" or name not in grad:
            continue
        if name == "same":
            yield level, "grad: the same tensor as before" if grad[name] else "grad: a new tensor"
        else:
            yield level, f"grad.{name}={field_value(grad[name])}"
