"""Traces: the observations after each statement of a program, to and from JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Observation = dict[str, Any]


class TraceError(ValueError):
    """Data that is not a trace."""


@dataclass
class Step:
    """The effects of one statement.

    `changed` maps a name to its observation, where that differs from the step before; `result` is
    the observation of an expression statement's value; `error` holds `type` and `message` and,
    where the backend lacks an operation of the statement, `lacks`; `warnings` hold `category` and
    `message`.
    """

    statement: int
    line: int
    changed: dict[str, Observation] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    result: Observation | None = None
    error: dict[str, str] | None = None
    warnings: list[dict[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; empty fields are left out."""
        data: dict[str, Any] = {"statement": self.statement, "line": self.line}
        for name in ("changed", "deleted", "result", "error", "warnings"):
            if value := getattr(self, name):
                data[name] = value
        return data

    @classmethod
    def from_json(cls, data: Any) -> Step:
        """Return the step that `to_json` wrote; raises TraceError for anything else."""
        if not isinstance(data, dict):
            raise TraceError("not a trace: a step is not an object")
        for key, kind in _STEP_KEYS.items():
            if key not in data and key in ("statement", "line"):
                raise TraceError(f'not a trace: a step\'s "{key}" is missing')
            if key in data and not isinstance(data[key], kind):
                raise TraceError(f'not a trace: a step\'s "{key}" is not a {kind.__name__}')
        if unknown := data.keys() - _STEP_KEYS.keys():
            raise TraceError(f'not a trace: a step has "{min(unknown)}"')
        return cls(**data)


_STEP_KEYS: dict[str, type] = {
    "statement": int,
    "line": int,
    "changed": dict,
    "deleted": list,
    "result": dict,
    "error": dict,
    "warnings": list,
}


@dataclass
class Trace:
    """The steps of one program on one backend."""

    steps: list[Step] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object, which `json.dumps(..., allow_nan=False)` can write."""
        return {"steps": [step.to_json() for step in self.steps]}

    @classmethod
    def from_json(cls, data: Any) -> Trace:
        """Return the trace that `to_json` wrote; raises TraceError for anything else."""
        if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
            raise TraceError('not a trace: "steps" is missing')
        return cls([Step.from_json(step) for step in data["steps"]])

    def state(self, upto: int | None = None) -> dict[str, Observation]:
        """Return the names live after step `upto` (the last by default), as last observed."""
        names: dict[str, Observation] = {}
        for step in self.steps[: None if upto is None else upto + 1]:
            names.update(step.changed)
            for name in step.deleted:
                names.pop(name, None)
        return names
