"""The part of a trace from which a program's graph and memory are drawn on a chapter's page."""

from __future__ import annotations

from typing import Any

from conformance.observe.trace import Observation, Step, Trace

MOST_VALUES = 6
"""Values that a drawing has room for; of longer tensors none are kept."""

PLACE = ("shape", "strides", "offset", "version", "is_view", "storage", "dtype")
GRAPH = ("graph", "output_nr")
GRADIENT = ("shape", "strides", "dtype", "same")


def drawn(trace: Trace) -> dict[str, Any]:
    """A trace without the fields and the long values that no drawing shows."""
    return {"steps": [_step(step) for step in trace.steps]}


def _step(step: Step) -> dict[str, Any]:
    kept = step.to_json()
    kept.pop("warnings", None)
    if step.changed:
        kept["changed"] = {name: _observation(seen) for name, seen in step.changed.items()}
    if step.result is not None:
        kept["result"] = _observation(step.result)
    return kept


def _observation(seen: Observation) -> Observation:
    kind = seen["kind"]
    if kind == "tensor":
        kept = {"kind": kind, **_fields(seen, (*PLACE, *GRAPH))}
        grad = seen.get("grad")
        # A field that raises when it is read is an object with its error.
        if isinstance(grad, dict) and "error" not in grad:
            kept["grad"] = _fields(grad, GRADIENT)
        return kept
    items = seen.get("items")
    if isinstance(items, dict):
        return {"kind": kind, "items": {key: _observation(item) for key, item in items.items()}}
    if isinstance(items, list):
        return {"kind": kind, "items": [_observation(item) for item in items]}
    return {"kind": kind}


def _fields(seen: Observation, names: tuple[str, ...]) -> Observation:
    kept = {name: seen[name] for name in names if name in seen}
    values = seen.get("values")
    if isinstance(values, list) and len(values) <= MOST_VALUES:
        kept["values"] = values
    return kept
