"""Normative trailing comments of a program: reading them, and holding a trace against them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.literals import read_literal, shown, shows

if TYPE_CHECKING:
    from conformance.program import Program, Statement
    from conformance.trace import Trace

_CLASS = re.compile(r"(raises|warns) ([A-Za-z_][\w.]*)(?:: (.+))?$", re.DOTALL)
_LOOKS_LIKE_CLASS = re.compile(r"(raises|warns) _?[A-Z]\w*")


class MalformedExpectation(ValueError):
    """A comment that is meant to be normative but cannot be read as such."""


@dataclass(frozen=True)
class Expectation:
    """One normative comment: `kind` is 'value', 'raises', 'warns' or 'unspecified'.

    `text` is the comment as written. `type` and `message` belong to raises and warns (`message` is
    None where the comment leaves it out); `literal` belongs to value.
    """

    kind: str
    text: str
    type: str | None = None
    message: str | None = None
    literal: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Unmet:
    """An expectation that a trace does not meet; `line` counts within `Program.paste()`."""

    line: int
    expected: str
    got: str

    def to_json(self) -> dict[str, Any]:
        """Return the form that stands in a verdict's `specification`."""
        return {"line": self.line, "expected": self.expected, "got": self.got}


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


def looks_literal(comment: str) -> bool:
    """Say whether a comment that is prose begins like a value, so that its author may be told."""
    return bool(re.match(r"(None|True|False|nan|-?inf|[-+]?\d|[\[(]|torch\.\w+)", comment.strip()))


def _read_one(text: str, strict: bool) -> Expectation | None:
    text = text.strip()
    if text == "unspecified":
        return Expectation("unspecified", text)
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


def unmet(program: Program, trace: Trace) -> list[Unmet]:
    """Return every normative comment of `program` that `trace` does not meet, in order.

    In a program that stands under a rule, an error that no comment announces is one of them too: a
    specification must not fail by accident.
    """
    failures: list[Unmet] = []
    state: dict[str, Any] = {}
    for statement, step in zip(program.statements, trace.steps, strict=False):
        state.update(step.changed)
        for name in step.deleted:
            state.pop(name, None)
        announced = any(e.kind == "raises" for e in statement.expects)
        if step.error and not announced and program.rule is not None:
            failures.append(Unmet(statement.line, "no error", _error_text(step.error)))
            continue
        for expectation in statement.expects:
            got = _difference(expectation, statement, step, state)
            if got is not None:
                failures.append(Unmet(statement.line, expectation.text, got))
    if len(trace.steps) < len(program.statements):
        line = program.statements[len(trace.steps)].line
        failures.append(Unmet(line, "to be executed", "the trace ends before this statement"))
    return failures


def _difference(
    expectation: Expectation, statement: Statement, step: Any, state: dict[str, Any]
) -> str | None:
    """Return what was got instead, or None where the expectation is met."""
    if expectation.kind == "unspecified":
        return None
    if expectation.kind == "raises":
        if step.error is None:
            return "no error"
        return None if _matches(expectation, step.error, "type") else _error_text(step.error)
    if expectation.kind == "warns":
        if any(_matches(expectation, warning, "category") for warning in step.warnings):
            return None
        return "; ".join(f"{w['category']}: {w['message']}" for w in step.warnings) or "no warning"
    if step.error is not None:
        return _error_text(step.error)
    observed = step.result if statement.is_expression else _assigned(statement, state)
    if observed is None:
        return "no value"
    return None if shows(expectation.literal, observed) else shown(observed)


def _assigned(statement: Statement, state: dict[str, Any]) -> Any:
    if len(statement.shown) == 1:
        return state.get(statement.shown[0])
    items = [state.get(name) for name in statement.shown]
    return None if None in items else {"kind": "tuple", "items": items}


def _matches(expectation: Expectation, got: dict[str, str], kind: str) -> bool:
    if got[kind] != expectation.type:
        return False
    if expectation.message is None:
        return True
    # A comment is one line; torch's messages need not be.
    pieces = (re.escape(" ".join(p.split())) for p in expectation.message.split("..."))
    pattern = r"\s*.*\s*".join(pieces)
    return re.fullmatch(pattern, " ".join(got["message"].split()), re.DOTALL) is not None


def _error_text(error: dict[str, str]) -> str:
    return f"raises {error['type']}: {error['message']}"
