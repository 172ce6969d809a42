"""Traces: conversion to JSON and back, and refused inputs."""

import json

import pytest

from conformance.observe.trace import Step, Trace, TraceError

NUMBER = {"kind": "int", "value": 1}


def test_what_is_empty_is_left_out():
    assert Trace([Step(0, 2)]).to_json() == {"steps": [{"statement": 0, "line": 2}]}


def test_round_trip():
    steps = [
        Step(0, 2, {"x": NUMBER}),
        Step(1, 3, deleted=["x"], result={"kind": "none"}),
        Step(
            2, 4, error={"type": "E", "message": "m"}, warnings=[{"category": "W", "message": ""}]
        ),
    ]
    trace = Trace(steps)
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace


@pytest.mark.parametrize("number", [0.1, 1e-45, 5e-324, 1.7976931348623157e308, -0.0])
def test_floats_read_back_to_the_same_bits(number):
    trace = Trace([Step(0, 1, {"x": {"kind": "float", "value": number}})])
    again = Trace.from_json(json.loads(json.dumps(trace.to_json(), allow_nan=False)))
    assert again.steps[0].changed["x"]["value"].hex() == number.hex()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], '"steps" is missing'),
        ({}, '"steps" is missing'),
        ({"steps": 3}, '"steps" is missing'),
        ({"steps": [3]}, "a step is not an object"),
        ({"steps": [{"line": 3}]}, '"statement" is missing'),
        ({"steps": [{"statement": 0, "line": "3"}]}, '"line" is not a int'),
        ({"steps": [{"statement": 0, "line": 3, "changed": []}]}, '"changed" is not a dict'),
        ({"steps": [{"statement": 0, "line": 3, "colour": 1}]}, 'a step has "colour"'),
    ],
)
def test_what_is_not_a_trace(data, message):
    with pytest.raises(TraceError, match=message):
        Trace.from_json(data)


def test_state_is_what_was_last_observed():
    two = {"kind": "int", "value": 2}
    trace = Trace(
        [Step(0, 1, {"x": NUMBER, "y": NUMBER}), Step(1, 2, {"x": two}), Step(2, 3, deleted=["y"])]
    )
    assert trace.state(0) == {"x": NUMBER, "y": NUMBER}
    assert trace.state() == {"x": two}
