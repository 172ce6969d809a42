"""Expectations: the normative trailing comments of a program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from conformance.base.levels import LEVELS
from conformance.base.torch_versions import order
from conformance.base.words import listed
from conformance.program.literals import read_literal

OPEN = ("unspecified", "implementation-defined")
"""Comments that leave a value open: no program may rely on it, or a port chooses and says what."""

_FORMER = re.compile(r"before (\d+\.\d+): (.+)", re.DOTALL)
_CLASS = re.compile(r"(raises|warns) ([A-Za-z_][\w.]*)(?:: (.+))?$", re.DOTALL)
_DIFFER = re.compile(r"may differ: (.+)")
_LOOKS_LIKE_CLASS = re.compile(r"(raises|warns) _?[A-Z]\w*")


class MalformedExpectation(ValueError):
    """A comment that is meant to be normative but cannot be read as such."""


@dataclass(frozen=True)
class Expectation:
    """One normative comment: its `kind` is 'value', 'raises', 'warns', or left open.

    Left open are 'unspecified', written also as *implementation-defined*, and 'may differ'. `text`
    is the comment as written. `type` and `message` belong to raises and warns (`message` is None
    where the comment leaves it out); `literal` belongs to value; `levels` to may differ.
    """

    kind: str
    text: str
    type: str | None = None
    message: str | None = None
    literal: Any = field(default=None, compare=False)
    levels: tuple[str, ...] = ()


def read_comment(comment: str) -> tuple[Expectation, ...]:
    """Return the expectations of a trailing comment (without its `#`); empty if it is prose.

    Raises MalformedExpectation for a comment that begins as a normative one and does not end so.
    """
    text = comment.strip()
    parts: list[Expectation] = []
    pieces = text.split(" ; ")
    while pieces:
        for end in range(1, len(pieces) + 1):
            one = _read_one(" ; ".join(pieces[:end]), strict=False)
            following = pieces[end] if end < len(pieces) else None
            # " ; " may also stand inside a message, so a piece ends only where the next one begins.
            if one is not None and (following is None or _read_one(following, strict=False)):
                parts.append(one)
                pieces = pieces[end:]
                break
        else:
            if not parts:
                _read_one(text, strict=True)
                return ()
            raise MalformedExpectation(f"cannot be read after ' ; ': {' ; '.join(pieces)!r}")
    return tuple(parts)


@dataclass(frozen=True)
class Former:
    """The expectations of versions of torch before `version`: a comment `# before 2.14: ...`."""

    version: str
    expects: tuple[Expectation, ...]


def read_former(comment: str) -> Former | None:
    """Return the expectations of a comment on a line of its own; None if it is any other comment.

    Raises MalformedExpectation for one that names a version and cannot be read.
    """
    found = _FORMER.fullmatch(comment.strip())
    if found is None:
        return None
    expects = read_comment(found[2])
    if not expects:
        raise MalformedExpectation(f"cannot be read as a value or an error: {found[2]!r}")
    return Former(found[1], expects)


def expected_of(
    expects: tuple[Expectation, ...], former: tuple[Former, ...], version: str | None
) -> tuple[Expectation, ...]:
    """The expectations that hold for a minor version; those of the baseline without one."""
    if version is not None:
        for one in sorted(former, key=lambda one: order(one.version)):
            if order(version) < order(one.version):
                return one.expects
    return expects


def looks_literal(comment: str) -> bool:
    """Say whether a comment that is prose begins like a value: probably a mistake."""
    return bool(re.match(r"(None|True|False|nan|-?inf|[-+]?\d|[\[(]|torch\.\w+)", comment.strip()))


def _read_one(text: str, strict: bool) -> Expectation | None:
    text = text.strip()
    if text in OPEN:
        return Expectation("unspecified", text)
    if match := _DIFFER.fullmatch(text):
        levels = tuple(one.strip() for one in match[1].split(","))
        if set(levels) <= set(LEVELS):
            return Expectation("may differ", text, levels=levels)
        if strict:
            raise MalformedExpectation(f"may differ: the levels are {listed(LEVELS)}, not {text!r}")
    if match := _CLASS.match(text):
        kind, name, message = match.groups()
        if name[:1].isupper() or name[:1] == "_" or "." in name:
            return Expectation(kind, text, name.rpartition(".")[2], message)
    if strict and _LOOKS_LIKE_CLASS.match(text):
        raise MalformedExpectation(
            f"write '# raises Error' or '# raises Error: message', not {'# ' + text!r}"
        )
    try:
        literal = read_literal(text)
    except ValueError as error:
        if strict and text.startswith(("tensor(", "torch.Size(", "torch.tensor(")):
            raise MalformedExpectation(f"cannot be read as a value ({error}): {text}") from None
        return None
    return Expectation("value", text, literal=literal)
