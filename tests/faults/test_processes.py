"""Faults of one process: its answers, its memory, the interpreter that it leaves behind."""

from __future__ import annotations

import json
import os
import sys
import time
import types
from pathlib import Path

import faulty
import pytest

from conformance.isolation import child as children
from conformance.isolation import process
from conformance.isolation.child import Child, Failed
from conformance.isolation.interpreter import Interpreter
from conformance.isolation.port import Port
from conformance.isolation.process import Garbled, Oversized
from conformance.program.program import Program

pytestmark = pytest.mark.usefixtures("copied")

PORTS = Path(__file__).resolve().parents[1] / "ports.py"
TENSOR = {"kind": "tensor", "shape": [1], "dtype": "float32", "values": [1], "grad": None}


def program(source: str) -> Program:
    return Program("T-01.1", "leaves", source, "")


def value(child: Child, source: str):
    return child.trace(program(source)).steps[-1].result["value"]


def rubbish(monkeypatch, answer: str) -> Port:
    monkeypatch.setenv("RUBBISH", answer)
    return Port(f"cmd: {sys.executable} {PORTS} rubbish", timeout=30)


SINE = program("x = torch.sin(y)")


@pytest.mark.fault("an answer nested too deep", "the run ended, at every resume")
@pytest.mark.parametrize("levels", [101, 959, 5000, 200_000])
def test_nested_answer(monkeypatch, tmp_path, levels):
    script = tmp_path / "port.py"
    script.write_text(
        "import sys\n"
        "for line in sys.stdin:\n"
        "    if 'start' in line[:20]:\n"
        '        print(\'{"type": "ready", "protocol": 1, "name": "deep"}\', flush=True)\n'
        "    else:\n"
        f"        print('[' * {levels} + ']' * {levels}, flush=True)\n"
    )
    with (
        Port(f"cmd: {sys.executable} {script}", timeout=30) as port,
        pytest.raises(Garbled, match=r"nested deeper than 100 levels|answered rubbish"),
    ):
        port.trace(program("x = torch.tensor([1.0])"))


@pytest.mark.fault("a value nested too deep in a Python backend", "an error of that program")
def test_nested_value():
    with Child("faulty", timeout=30) as child:
        assert child.trace(program("torch.nested(5000)")).steps
        assert value(child, "1 + 1") == 2


@pytest.mark.fault("an answer longer than the limit", "a timeout: reading was quadratic")
def test_long_answer(monkeypatch):
    monkeypatch.setattr(process, "LONGEST_ANSWER", 8 << 20)
    with Child("faulty", timeout=60) as child:
        begun = time.monotonic()
        with pytest.raises(Garbled, match="more than 8 MB"):
            value(child, "torch.say('x' * (20 << 20))")
        assert time.monotonic() - begun < 30
        assert value(child, "1 + 1") == 2


@pytest.mark.fault("unknown keys of an answer", "20 MB of them stood in the run file")
def test_unknown_keys(monkeypatch):
    padded = {**TENSOR, "pad": "x" * 1000, "grad": {**TENSOR, "strides": [1], "pad": 1}}
    items = {"kind": "list", "items": [padded], "pad": 1}
    answer = {"steps": [{"changed": {"x": padded, "y": items}}], "pad": 1}
    with rubbish(monkeypatch, json.dumps(answer)) as port:
        found = port.trace(SINE).steps[0].changed
    assert "pad" not in json.dumps(found) and found["x"]["grad"]["values"] == [1.0]
    assert found["y"]["items"][0]["values"] == [1.0]


@pytest.mark.fault("a program that takes all memory", "no limit")
@pytest.mark.parametrize("source", ["torch.eat(700)", "torch.feed_child(700)"])
def test_memory(source):
    with Child("faulty", timeout=60, memory=512 << 20) as child:
        before = value(child, "torch.pid()")
        with pytest.raises(Oversized, match="used more than 512M of memory, so its process was"):
            child.trace(program(source))
        assert value(child, "torch.pid()") != before


@pytest.mark.fault("an interpreter that a program changed", "42 of 46 programs after it failed")
@pytest.mark.parametrize("poison", sorted(faulty._POISONS))
def test_poison(poison):
    with Child("faulty", timeout=30) as child:
        before = value(child, "torch.pid()")
        try:
            assert child.trace(program(f"torch.poison({poison!r})")).steps[0].error is None
        except Failed:
            assert poison == "sys.modules.clear"
        assert value(child, "torch.pid()") != before
        assert value(child, "1 + 1") == 2


@pytest.mark.fault("a failed answer", "the process was kept, poisoned or not")
def test_failed():
    with Child("faulty", timeout=30) as child:
        before = value(child, "torch.pid()")
        with pytest.raises(Failed):
            child.trace(program("x = 10**5000"))
        assert value(child, "torch.pid()") != before


@pytest.mark.fault("a backend that changes the interpreter in every process", "not tried")
def test_habit(monkeypatch):
    monkeypatch.setattr(children, "HABIT", 2)
    with Child("faulty", timeout=30) as child:
        pids = [value(child, "torch.poison('chdir')\ntorch.pid()") for _ in range(5)]
    assert len({*pids[:3]}) == 3 and len({*pids[2:]}) == 1


def test_comparing_interpreters_calls_nothing_for_a_module(monkeypatch):
    few = _calls_of(Interpreter(faulty))
    for i in range(500):
        monkeypatch.setitem(sys.modules, f"made_{i}", types.ModuleType(f"made_{i}"))
    assert _calls_of(Interpreter(faulty)) == few


def _calls_of(interpreter: Interpreter) -> int:
    """How many functions, of Python and of C, a comparison that finds nothing calls."""
    calls: list[str] = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: calls.append(event))
    try:
        interpreter.changes()  # of which the profiler is one
        calls.clear()
        changed = interpreter.changes()
    finally:
        sys.setprofile(before)
    assert changed == []
    return sum(event in ("call", "c_call") for event in calls)


@pytest.mark.fault("more than 1,024 descriptors", "a traceback with exit code 1 (`select`)")
def test_descriptors():
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("this machine allows no more than 2,000 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with Child("faulty", timeout=30) as child:
            assert value(child, "1 + 1") == 2
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
