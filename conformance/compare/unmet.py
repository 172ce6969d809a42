"""The normative comments of a program that a trace does not meet."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from conformance.compare.printed_values import shown, shows
from conformance.observe.trace import Trace
from conformance.program.expectations import Expectation
from conformance.program.program import Program, Statement


@dataclass(frozen=True)
class Unmet:
    """An expectation that a trace does not meet; `line` counts within `Program.paste()`."""

    line: int
    expected: str
    got: str

    def to_json(self) -> dict[str, Any]:
        """Return the form that stands in a verdict's `specification`."""
        return {"line": self.line, "expected": self.expected, "got": self.got}


def unmet(
    program: Program, trace: Trace, version: str | None = None, former: bool = False
) -> list[Unmet]:
    """Return every normative comment of `program` that `trace` does not meet, in order.

    The comments are those that hold for a minor version of torch, if one is given; with `former`
    only those that do not hold for the baseline. In a program under a rule, an error that no
    comment announces counts as unmet, too: a specification must not fail by accident.
    """
    failures: list[Unmet] = []
    state: dict[str, Any] = {}
    for statement, step in zip(program.statements, trace.steps, strict=False):
        state.update(step.changed)
        for name in step.deleted:
            state.pop(name, None)
        expects = statement.expected(version)
        if former and expects is statement.expects:
            continue
        announced = any(e.kind == "raises" for e in expects)
        if step.error and not announced and program.rule is not None:
            failures.append(Unmet(statement.line, "no error", _error_text(step.error)))
            continue
        for expectation in expects:
            got = _difference(expectation, statement, step, state)
            if got is not None:
                failures.append(Unmet(statement.line, expectation.text, got))
    if len(trace.steps) < len(program.statements):
        line = program.statements[len(trace.steps)].line
        failures.append(Unmet(line, "to be executed", "the trace ends before this statement"))
    return failures


def contradicted(program: Program, trace: Trace, excused: Iterable[Unmet] = ()) -> list[int]:
    """The lines of the program whose normative comments a backend's trace contradicts.

    A trace may diverge where no comment says anything; where it contradicts one, the rule itself
    is broken. An error that no comment announces contradicts none. Comments that are ``excused``,
    since the oracle does not meet them either, are left out.
    """
    announced = {statement.line: bool(statement.expects) for statement in program.statements}
    left_out = {failure.line for failure in excused}
    lines = [failure.line for failure in unmet(program, trace)]
    return [line for line in dict.fromkeys(lines) if announced[line] and line not in left_out]


def _difference(
    expectation: Expectation, statement: Statement, step: Any, state: dict[str, Any]
) -> str | None:
    """Return the actual value as text, or None where the expectation is met."""
    if expectation.kind in ("unspecified", "may differ"):
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
