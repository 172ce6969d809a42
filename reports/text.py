"""Formatting of words, numbers and untrusted text for pages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from conformance.base.words import listed

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\uffff\ud800-\udfff]"
)
"""Characters that are invisible or change the rendering of their neighbours: controls, zero widths,
directions, separators, specials and lone surrogates. Tab and newline are not among them."""


def visible(text: object) -> str:
    r"""`text` with every hiding or reordering character replaced by an escape (`\u202e`)."""
    return _CONTROLS.sub(_escape, str(text))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shortened(text: str, limit: int) -> str:
    """`text` truncated to `limit` characters, with an ellipsis if truncated."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: `1 program`, `2,310 programs`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def areas(numbers: Mapping[str, int], most: int = 6) -> str:
    """The first `most` areas with their numbers of programs: `ties 3, seeds 1 and 2 more`."""
    told = [f"{area} {number:,}" for area, number in list(numbers.items())[:most]]
    rest = len(numbers) - most
    return listed(told if rest <= 0 else [*told, f"{rest} more"])


def spelled(number: int) -> str:
    """A small number as a word, a larger one in digits."""
    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return names[number] if 0 <= number < len(names) else f"{number:,}"


def brief(value: Any, limit: int = 80, digits: int = 6) -> str:
    """A value of a trace in one line; floats with `digits` significant digits."""
    return shortened(_line(value, digits), limit)


def brief_pair(expected: Any, got: Any, limit: int = 80) -> tuple[str, str]:
    """Two differing values in one line each, such that the difference is visible.

    Numbers get as many digits as that takes; a long text begins shortly before the difference.
    """
    one, other = (_line(value, 6) for value in (expected, got))
    if one == other:
        one, other = (_line(value, 17) for value in (expected, got))
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    if max(len(one), len(other)) > limit and same > limit // 2:
        one, other = ("…" + text[same - limit // 3 :] for text in (one, other))
    return shortened(one, limit), shortened(other, limit)


def _line(value: Any, digits: int) -> str:
    return visible(_compact(value, digits)).replace("\n", "⏎")


def _compact(value: Any, digits: int) -> str:
    if value is None:
        return "None"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "[" + ", ".join(_compact(item, digits) for item in value[:64]) + "]"
    if isinstance(value, dict):
        return _compact_mapping(value, digits)
    return json.dumps(value)


def _compact_mapping(value: dict[str, Any], digits: int) -> str:
    match value.get("kind"):
        case "none":
            return "None"
        case "tensor" | "array":
            described = f"{value.get('dtype')}{value.get('shape')}"
            return f"{described} {_compact(value.get('values'), digits)}"
        case str() as kind if "value" in value:
            return f"{kind} {_compact(value['value'], digits)}"
        case str() as kind if "items" in value:
            return f"{kind} {_compact(value['items'], digits)}"
    if set(value) == {"type", "message"}:
        return f"{value['type']}: {value['message']}"
    if set(value) == {"category", "message"}:
        return f"{value['category']}: {value['message']}"
    return "{" + ", ".join(f"{key}: {_compact(item, digits)}" for key, item in value.items()) + "}"
