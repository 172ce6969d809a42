"""Observations and divergences as short plain text for a terminal."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from conformance.base.escapes import printable
from conformance.base.levels import LEVELS

WIDTH = 160
"""Longest text shown for one value; longer ones are cut in the middle."""


def number(value: Any) -> str:
    """A number of a trace as Python writes it; complex numbers come as [real, imaginary]."""
    if isinstance(value, list):
        return f"({number(value[0])}, {number(value[1])}j)"
    return value if isinstance(value, str) else repr(value)


def nested(values: Sequence[Any], shape: Sequence[int]) -> str:
    """Flat row-major values as nested brackets of the given shape."""
    if not shape:
        return number(values[0]) if values else "?"
    if len(shape) == 1:
        return "[" + ", ".join(number(value) for value in values) + "]"
    size = len(values) // shape[0] if shape[0] else 0
    rows = (values[row * size : (row + 1) * size] for row in range(shape[0]))
    return "[" + ", ".join(nested(row, shape[1:]) for row in rows) + "]"


def cut(text: str, width: int = WIDTH) -> str:
    """The text on one line, its middle left out when it is longer than ``width``."""
    text = printable(text)
    if len(text) <= width:
        return text
    half = (width - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def observation(seen: Any) -> str:
    """One observation on one line: `tensor([1.0, 2.0], float32)`, `None`, `(1, 'a')`."""
    if not isinstance(seen, Mapping):
        return repr(seen)
    match seen.get("kind"):
        case "tensor":
            return _tensor(seen)
        case "none":
            return "None"
        case "str":
            return repr(seen.get("value"))
        case "bool" | "int" | "float" | "complex":
            return number(seen.get("value"))
        case "list" | "tuple" as kind:
            items = ", ".join(observation(item) for item in seen.get("items", ()))
            return f"[{items}]" if kind == "list" else f"({items})"
        case "dict":
            items = ", ".join(f"{k!r}: {observation(v)}" for k, v in seen.get("items", {}).items())
            return "{" + items + "}"
        case "dtype":
            return f"torch.{seen.get('value')}"
        case "size":
            return f"torch.Size({seen.get('value')})"
        case "node":
            return f"<{seen.get('name')}>"
        case "array":
            values = nested(seen.get("values", ()), seen.get("shape", ()))
            return f"array({values}, {seen.get('dtype')})"
        case "object":
            return f"<{seen.get('type', 'object')}>"
        case other:
            return str(other)


def _tensor(seen: Mapping[str, Any]) -> str:
    return f"tensor({elements(seen)}, {seen.get('dtype')})"


def elements(seen: Mapping[str, Any]) -> str:
    """The elements of a tensor or of a gradient: nested, those that a sparse one stores with their
    indices, the error of reading them, or the shape where they were not read."""
    values, sparse = seen.get("values"), seen.get("sparse")
    if isinstance(values, list) and isinstance(sparse, Mapping):
        return f"[{', '.join(map(number, values))}] at {sparse.get('indices')}"
    if isinstance(values, list):
        return nested(values, seen.get("shape") or ())
    if isinstance(values, Mapping):
        return _error(values.get("error"))
    return f"shape {tuple(seen.get('shape') or ())}"


def _error(error: Any) -> str:
    if isinstance(error, Mapping):
        return f"{error.get('type')}: {error.get('message')}"
    return str(error)


def field_value(value: Any) -> str:
    """Return the value of a field of an observation on one line."""
    if isinstance(value, Mapping):
        if "kind" in value:
            return observation(value)
        if "error" in value:
            return f"raises {_error(value['error'])}"
        if {"type", "message"} <= value.keys():
            return _error(value)
        return ", ".join(f"{key}={field_value(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(field_value(item) for item in value) + "]"
    if isinstance(value, str):
        return value if value in ("nan", "inf", "-inf") else repr(value)
    return repr(value)


def field_lines(seen: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """The fields of a tensor beyond its values: short texts, each with the fields that it tells."""
    if seen.get("kind") != "tensor":
        return []
    shown: list[tuple[str, tuple[str, ...]]] = []
    grad = seen.get("grad")
    if isinstance(grad, Mapping) and "values" in grad:
        shown.append((f"grad = {cut(elements(grad))}", ("grad",)))
    elif "grad" in seen:
        shown.append((f"grad = {field_value(grad)}", ("grad",)))
    flags = ("requires_grad", "is_leaf", "has_grad_fn", "retains_grad", "is_view")
    shown.append((" ".join(name for name in flags if seen.get(name) is True), flags))
    for places in (("output_nr", "version", "storage"), ("offset", "strides")):
        shown.append((" ".join(f"{name}={seen[name]}" for name in places if name in seen), places))
    if seen.get("graph"):
        shown.append(("graph: " + cut(" <- ".join(map(str, seen["graph"]))), ("graph",)))
    return [(text, names) for text, names in shown if text]


def pair(expected: Any, got: Any, width: int = WIDTH) -> tuple[str, str]:
    """Two field values as short texts that begin, where they are long, before they differ."""
    one, other = printable(field_value(expected)), printable(field_value(got))
    if max(len(one), len(other)) <= width:
        return one, other
    differs = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), width)
    begin = max(0, differs - width // 3)
    return _window(one, begin, width), _window(other, begin, width)


def _window(text: str, begin: int, width: int) -> str:
    shown = text if begin == 0 else "... " + text[begin:]
    return shown if len(shown) <= width else shown[: width - 4] + " ..."


def where(divergence: Mapping[str, Any]) -> str:
    """The field that diverges: `x.grad.values`, or a field of the statement itself."""
    name = divergence.get("name")
    return f"{name}.{divergence['field']}" if name else str(divergence["field"])


def marked_source(source: str, marks: Mapping[int, str]) -> list[str]:
    """The source's lines with a comment at those in ``marks`` (by line number, from 1).

    The result can be pasted as the source can: a statement of several lines, to which a comment
    cannot be added just anywhere, has it above.
    """
    lines = []
    for position, text in enumerate(source.rstrip("\n").split("\n"), start=1):
        if (note := marks.get(position)) is None:
            lines.append(text)
        elif _is_whole(text):
            lines.append(f"{text}  # <-- {note}")
        else:
            lines += [f"# {note}:", text]
    return lines


def _is_whole(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def divergence_lines(
    divergences: Mapping[str, Mapping[str, Any]], levels: Collection[str]
) -> list[str]:
    """Each level's first divergence, with expected and got, those of ``levels`` before the rest."""
    shown = []
    ordered = sorted(
        (level for level in LEVELS if level in divergences), key=lambda level: level not in levels
    )
    for level in ordered:
        divergence = divergences[level]
        expected, got = pair(divergence["expected"], divergence["got"])
        aside = "" if level in levels else "   (this level does not count in this run)"
        shown += [
            f"  {level}: line {divergence['line']}, {where(divergence)}{aside}",
            f"      expected  {expected}",
            f"      got       {got}",
        ]
    return shown
