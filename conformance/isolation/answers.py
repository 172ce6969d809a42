"""Ports' traces: checked, and converted to the form of the harness's own traces."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

from conformance.base.forms import SavedOfPorts, SavedTensors, check
from conformance.observe.fields import CONTAINERS, KINDS, Comparator, Field, fields_of
from conformance.observe.trace import Observation, Step, Trace, TraceError
from conformance.program.program import Program

KINDS_OF_PORTS = tuple(kind for kind in KINDS if kind != "array")  # NumPy arrays need Python
_CONTAINER_ITEMS = {kind: {"items": (form,)} for kind, form in CONTAINERS.items()}


def _types(of: str, optional: bool = False) -> dict[str, tuple[type, ...]]:
    """The types of the fields without which an observation cannot be compared, or of all others."""
    return {row.name: row.types for row in fields_of(of) if _is_optional(row) is optional}


def _is_optional(row: Field) -> bool:
    return row.level != "values" or row.comparator is Comparator.OPTIONAL


_REQUIRED = {kind: _CONTAINER_ITEMS.get(kind) or _types(kind) for kind in KINDS_OF_PORTS}
_KNOWN = {
    of: {"kind", "items", *(row.name for row in fields_of(of))} for of in (*KINDS_OF_PORTS, "grad")
}
"""The keys that an observation may have; others are dropped, so that no run file has them."""

_GRAD = _types("grad")
_OPTIONAL = _types("tensor", optional=True)
_NOT_OF_SPARSE = {"strides", "offset", "storage"}

RESULT = "result"
"""The label of a storage that was first seen in the value of an expression."""


def read_trace(
    answer: dict[str, Any],
    program: Program,
    levels: Collection[str],
    without: Collection[str] = (),
) -> tuple[Trace, dict[Any, str]]:
    """Return the trace in a port's answer, and its labels of storages by the port's own.

    A port numbers its statements but has no line numbers; it may use any storage labels, and leave
    out the fields of levels that it does not claim (``levels``), or that it lists as ``without``.
    Raises TraceError for anything else.
    """
    statements = program.statements
    steps = answer.get("steps")
    if not isinstance(steps, list) or len(steps) > len(statements):
        raise TraceError(f'not a trace: "steps" is not a list of up to {len(statements)}')
    expected, of_gradients = (
        {
            row.name
            for row in fields_of(of)
            if row.level in levels and row.comparator is not Comparator.OPTIONAL
        }
        - set(without)
        for of in ("tensor", "grad")
    )
    reader = _Reader(expected, of_gradients)
    trace = Trace()
    for statement, data in zip(statements, steps, strict=False):
        if not isinstance(data, dict):
            raise TraceError("not a trace: a step is not an object")
        given = data.get("statement", statement.index)
        if given != statement.index:
            raise TraceError(
                f"not a trace: statement {given!r} comes where {statement.index} should"
            )
        step = Step.from_json({**data, "statement": statement.index, "line": statement.line})
        trace.steps.append(reader.step(step))
    # A port may stop where it lacks something, and nowhere else.
    if len(steps) < len(statements) and not (trace.steps and _lacks(trace.steps[-1])):
        raise TraceError(f"not a trace: {len(steps)} steps for {len(statements)} statements")
    return trace, reader.labels


def read_saved(given: Any, count: int, labels: dict[Any, str]) -> SavedTensors:
    """Return the saved tensors after each of `count` steps, as a port gives them.

    Storages have the port's own labels, of which `labels` has those that a name had. Raises
    TraceError for anything else.
    """
    try:
        check(given, SavedOfPorts)
    except ValueError as error:
        raise TraceError(f"not saved tensors: {error}") from None
    if len(given) != count:
        raise TraceError(f"not saved tensors: {len(given)} steps, where the trace has {count}")

    def labelled(rows: list[Any] | None) -> list[Any] | None:
        return rows and [[name, labels.get(own), *versions] for name, own, *versions in rows]

    return [
        {
            name: {number: labelled(rows) for number, rows in nodes.items()}
            for name, nodes in step.items()
        }
        for step in given
    ]


def _lacks(step: Step) -> bool:
    return "lacks" in (step.error or {})


def _part(name: str | None, key: Any) -> str | None:
    return None if name is None else f"{name}[{key}]"


class _Reader:
    """Reads one trace's steps in order; labels a storage with the first name that had it."""

    def __init__(self, fields: set[str], grad_fields: set[str]) -> None:
        self.fields = fields
        self.grad_fields = grad_fields
        self.live: dict[str, None] = {}
        self.labels: dict[Any, str] = {}

    def step(self, step: Step) -> Step:
        """The step, its observations checked and completed; raises TraceError."""
        for name in step.deleted:
            self.live.pop(name, None)
        self.live |= dict.fromkeys(step.changed)
        step.changed = {
            name: self._observation(step.changed[name], name)
            for name in self.live
            if name in step.changed
        }
        if step.result is not None:
            step.result = self._observation(step.result, None)
        if step.error is not None:
            _check_error(step.error)
            step.error.setdefault("message", "")
        step.warnings = list(map(_warning, step.warnings))
        return step

    def _observation(self, seen: Any, name: str | None) -> Observation:
        """The observation of a name; a result has none, nor has any part of it."""
        if not isinstance(seen, dict) or seen.get("kind") not in _REQUIRED:
            raise TraceError(f"not a trace: {name or RESULT} is no observation of any kind")
        kind = seen["kind"]
        seen = {key: value for key, value in seen.items() if key in _KNOWN[kind]}
        _check(seen, _REQUIRED[kind], name or RESULT)
        match kind:
            case "tensor":
                return self._tensor(seen, name or RESULT)
            case "list" | "tuple":
                parts = enumerate(seen["items"])
                return {**seen, "items": [self._observation(v, _part(name, i)) for i, v in parts]}
            case "dict":
                named = seen["items"].items()
                items = {key: self._observation(v, _part(name, repr(key))) for key, v in named}
                return {**seen, "items": items}
            case "float" | "complex":
                return {**seen, "value": _floating([seen["value"]], name or RESULT)[0]}
        return seen

    def _tensor(self, seen: Observation, name: str) -> Observation:
        for field in self.fields - _NOT_OF_SPARSE if "sparse" in seen else self.fields:
            if field not in seen:
                raise TraceError(
                    f'{name} has no "{field}", which belongs to a level that the port claims '
                    '(a field it has no notion of stands in "without")'
                )
        readable = {f: kind for f, kind in _OPTIONAL.items() if f in seen and not _raises(seen[f])}
        _check(seen, readable, name)
        seen = {**seen, **_elements(seen, name)}
        if isinstance(grad := seen["grad"], dict):
            grad = {key: value for key, value in grad.items() if key in _KNOWN["grad"]}
            fields = self.grad_fields - _NOT_OF_SPARSE if "sparse" in grad else self.grad_fields
            _check(grad, {**_GRAD, **dict.fromkeys(fields, object)}, f"{name}.grad")
            seen["grad"] = {**grad, **_elements(grad, f"{name}.grad")}
        if "storage" in seen:
            seen["storage"] = self._label(seen["storage"], name)
        return seen

    def _label(self, storage: Any, name: str) -> str:
        if storage not in self.labels:
            label, count = name, 1
            while label in self.labels.values():
                count += 1
                label = f"{name}#{count}"
            self.labels[storage] = label
        return self.labels[storage]


def _check(data: Observation, kinds: dict[str, Any], name: str) -> None:
    for field, kind in kinds.items():
        if field not in data:
            raise TraceError(f'not a trace: {name} has no "{field}"')
        value = data[field]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind == (int,)):
            raise TraceError(f'not a trace: "{field}" of {name} is {value!r}'[:200])


def _warning(given: Any) -> dict[str, str]:
    if not isinstance(given, dict) or not {"category", "message"} <= given.keys():
        raise TraceError('not a trace: a warning has "category" and "message"')
    return {name: str(given[name]) for name in ("category", "message")}


def _raises(value: Any) -> bool:
    """Whether a field holds the error that reading it raised."""
    if not isinstance(value, dict) or not isinstance(value.get("error"), dict):
        return False
    _check_error(value["error"])
    value["error"].setdefault("message", "")
    return True


def _check_error(error: dict[str, Any]) -> None:
    if not isinstance(error.get("type"), str):
        raise TraceError("not a trace: an error has no type")
    for name, value in error.items():
        if name not in ("type", "message", "lacks") or not isinstance(value, str):
            raise TraceError(f'not a trace: an error\'s "{name}" is {value!r}'[:200])


def _elements(data: Observation, name: str) -> dict[str, Any]:
    """The values of a tensor or gradient, as many as its shape says, floats where it has floats."""
    shape, values = data["shape"], data["values"]
    stored = "sparse" in data or len(values) == math.prod(shape)
    if not all(type(size) is int for size in shape) or not stored:
        raise TraceError(f"not a trace: {name} has {len(values)} values for the shape {shape}")
    if "float" in data["dtype"] or "complex" in data["dtype"]:
        return {"values": _floating(values, name)}
    if not all(isinstance(value, int) for value in values):
        raise TraceError(f"not a trace: {name} is {data['dtype']}, its values are not")
    return {"values": values}


def _floating(values: list[Any], name: str) -> list[Any]:
    """Numbers as floats; non-finite ones stay strings, complex ones pairs."""
    return list(_floats(values, name))


def _floats(values: list[Any], name: str) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list) and len(value) == 2:
            yield _floating(value, name)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            if not math.isfinite(value):
                raise TraceError(f"not a trace: {name} has {value}, which JSON does not")
            yield float(value)
        elif value in ("nan", "inf", "-inf"):
            yield value
        else:
            raise TraceError(f"not a trace: {name} has an element {value!r}"[:200])
