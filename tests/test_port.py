"""Ports in other languages: right, slow, crashing, printing rubbish, with unsupported programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command import MINIATURE, conform
from test_neutral import part

from conformance.backends import BackendError
from conformance.isolation.child import Failed, Unsupported
from conformance.isolation.port import Port
from conformance.isolation.process import Died, Garbled, TimedOut
from conformance.neutral.compile import neutral
from conformance.program.program import Program
from conformance.run_files.reading import read_run

HERE = Path(__file__).resolve().parent

PLAIN = "x = torch.tensor([1., 2.])"
SINE = "x = torch.sin(y)"


def program(source: str) -> Program:
    return Program("T-01.1", "leaves", source, "A sentence")


def port(habit: str, **options) -> Port:
    return Port(f"cmd: {sys.executable} {HERE / 'ports.py'} {habit}", **{"timeout": 20, **options})


def test_a_port_says_who_it_is():
    with port("right") as made:
        identity = made.identity()
    assert (identity.name, identity.version) == ("miniature", "3")
    assert (identity.device, identity.levels, identity.unavailable) == ("cpu", ("values",), None)


def test_a_trace_is_completed():
    with port("right") as made:
        trace = made.trace(program(f"{PLAIN}\nx.grad"))
    assert [(step.statement, step.line) for step in trace.steps] == [(0, 2), (1, 3)]
    assert trace.steps[0].changed["x"]["values"] == [1.0, 2.0]
    assert type(trace.steps[0].changed["x"]["values"][0]) is float
    assert trace.steps[1].result == {"kind": "none"}


@pytest.mark.parametrize(
    ("habit", "kind", "message"),
    [
        ("slow", TimedOut, "no answer within 2 s"),
        ("crashing", Died, "exit code 5; it printed:\na last word"),
        ("panicking", Died, "it printed:\nthread 'main' panicked at src/tensor.rs:42:9: the index"),
        ("panicking", Died, "199: core::panicking::panic_fmt\nnote: run with a verbose backtrace"),
        ("chatty", Garbled, "hello from a library"),
        ("flooding", TimedOut, "xxx"),
        ("failing", Failed, "a slip"),
        ("lacking", Unsupported, "no torch.sin"),
    ],
)
def test_a_habit_costs_one_program(habit, kind, message):
    with port(habit, timeout=2) as made:
        with pytest.raises(kind) as caught:
            made.trace(program(SINE))
        assert message in str(caught.value) and len(str(caught.value)) < 3000
        assert made.trace(program(PLAIN)).steps[0].changed["x"]["shape"] == [2]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, '"steps" is not a list'),
        ({"steps": []}, "0 steps for 1 statements"),
        ({"steps": [{}, {}]}, "not a list of up to 1"),
        ({"steps": [3]}, "a step is not an object"),
        ({"steps": [{"statement": 1}]}, "statement 1 comes where 0 should"),
        ({"steps": [{"extra": 1}]}, 'a step has "extra"'),
        ({"steps": [{"changed": {"x": {"kind": "thing"}}}]}, "x is no observation of any kind"),
        ({"steps": [{"changed": {"x": {"kind": "tensor"}}}]}, 'x has no "shape"'),
        ({"steps": [{"changed": {"x": {"kind": "int", "value": 1.5}}}]}, '"value" of x is 1.5'),
        ({"steps": [{"changed": {"x": {"kind": "int", "value": True}}}]}, '"value" of x is True'),
        ({"steps": [{"error": {"message": "m"}}]}, "an error has no type"),
        ({"steps": [{"warnings": ["w"]}]}, "a warning has"),
    ],
)
def test_a_trace_that_is_none_costs_one_program(monkeypatch, answer, message):
    monkeypatch.setenv("RUBBISH", json.dumps(answer))
    with port("rubbish") as made:
        with pytest.raises(Garbled, match="rubbish") as caught:
            made.trace(program(SINE))
        assert message in str(caught.value)
        made.trace(program(PLAIN))


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ({"values": [1]}, "x has 1 values for the shape [2]"),
        ({"values": [1, "one"]}, "x has an element 'one'"),
        ({"values": [1, None]}, "x has an element None"),
        ({"dtype": "int64", "values": [1.5, 2]}, "x is int64, its values are not"),
        ({"version": -0.5}, '"version" of x is -0.5'),
        ({"grad": {"shape": [2]}}, 'x.grad has no "dtype"'),
    ],
)
def test_a_tensor_that_is_none(monkeypatch, tensor, message):
    seen = {"kind": "tensor", "shape": [2], "dtype": "float32", "values": [1, 2], "grad": None}
    monkeypatch.setenv("RUBBISH", json.dumps({"steps": [{"changed": {"x": {**seen, **tensor}}}]}))
    with port("rubbish") as made, pytest.raises(Garbled) as caught:
        made.trace(program(SINE))
    assert message in str(caught.value)


def test_a_level_that_is_claimed_is_told_whole():
    with port("all_levels") as made, pytest.raises(Garbled, match="a level that the port claims"):
        made.trace(program(PLAIN))
    with port("without") as made:
        assert made.identity().levels == ("values", "graph")
        made.trace(program(PLAIN))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("python-that-is-not-there", "cannot be started: No such file"),
        ("", "wants a command"),
        ("'", "not a command"),
    ],
)
def test_a_command_that_is_none(command, message):
    with Port(f"cmd: {command}") as made, pytest.raises(BackendError, match=message):
        made.identity()


@pytest.mark.parametrize(
    ("habit", "message"),
    [
        ("mute", "no answer within 2 s"),
        ("deaf", "exit code 7; it printed:\nno driver"),
        ("unknown_level", "there is no level 'depth'"),
        ("old", "speaks version 1"),
        ("array", "to the start"),
        ("nameless", "'name' is missing"),
    ],
)
def test_a_port_that_cannot_be_started(habit, message):
    with port(habit, start_timeout=2) as made, pytest.raises(BackendError) as caught:
        made.identity()
    assert message in str(caught.value)


def test_it_is_told_to_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("STOPPED", str(tmp_path / "stopped"))
    with port("right") as made:
        made.identity()
    assert (tmp_path / "stopped").exists()


def test_a_program_without_neutral_form_is_unsupported():
    with port("right") as made, pytest.raises(Unsupported, match="line 2: a class"):
        made.trace(program("class A:\n    pass"))


def test_storages_are_named_by_who_had_them_first(monkeypatch):
    seen = {"kind": "tensor", "shape": [], "dtype": "float32", "values": [1], "grad": None}
    answer = {
        "steps": [
            {"changed": {"x": {**seen, "storage": 7}}},
            {"changed": {"y": {**seen, "storage": 8}, "x": {**seen, "storage": 9}}},
            {"deleted": ["x"]},
            {"changed": {"x": {**seen, "storage": 7}}, "result": {**seen, "storage": 10}},
        ]
    }
    monkeypatch.setenv("RUBBISH", json.dumps(answer))
    with port("rubbish") as made:
        steps = made.trace(program("x = torch.sin(y)\ny = x\ndel x\nx")).steps
    assert {name: seen["storage"] for name, seen in steps[1].changed.items()} == {
        "x": "x#2",
        "y": "y",
    }
    assert steps[3].changed["x"]["storage"] == "x" and steps[3].result["storage"] == "result"


ROW = ["result", 7, 0, 1]


@pytest.mark.parametrize(
    ("habit", "saved", "told"),
    [
        ("telling", [{"x": {"0": [ROW, ["other", 8, None, None]], "1": None}}], True),
        ("telling", None, False),
        ("right", [{}], False),
    ],
)
def test_a_port_that_can_tell_is_asked_what_nodes_saved(monkeypatch, habit, saved, told):
    monkeypatch.setenv("SAVED", json.dumps({} if saved is None else {"saved": saved}))
    asked = program("x = torch.ones(2)")
    with port(habit) as made:
        found = made.saved(asked, made.trace(asked))
    rows = [["result", "x", 0, 1], ["other", None, None, None]]
    assert found == ([{"x": {"0": rows, "1": None}}] if told else None)


@pytest.mark.parametrize(
    "saved",
    [
        {},
        [],
        [3],
        [{"x": []}],
        [{"x": {"0": 3}}],
        [{"x": {"0": [ROW[:3]]}}],
        [{"x": {"0": [[3, *ROW[1:]]]}}],
        [{"x": {"0": [["result", [7], 0, 1]]}}],
        [{"x": {"0": [["result", 7, True, 1.5]]}}],
    ],
)
def test_saved_tensors_that_are_none_are_refused(monkeypatch, saved):
    monkeypatch.setenv("SAVED", json.dumps({"saved": saved}))
    asked = program("x = torch.ones(2)")
    with port("telling") as made:
        shown = made.trace(asked)
        with pytest.raises(Garbled, match="saved"):
            made.saved(asked, shown)


def test_the_messages_meet_the_schema(monkeypatch):
    sent = []
    with port("all_levels") as made:
        made.identity()
        process = made._process
        send = process.send
        monkeypatch.setattr(
            process, "send", lambda request, s: sent.append(request) or send(request, s)
        )
        with pytest.raises(Garbled):
            made.trace(program(PLAIN))
    check = part("protocol", "request")
    check.validate(sent[0])
    assert sent[0]["program"] == neutral(program(PLAIN))
    check.validate({"type": "start", "protocol": 1, "suite": "1"})


def run(habit: str, *options, cwd: Path):
    backend = f"cmd: {sys.executable} {HERE / 'ports.py'} {habit}"
    return conform(
        *("run", "--backend", backend, "--oracle", "impl", "--rule", "SEED-03", *options), cwd=cwd
    )


def test_a_run_of_a_port_over_two_processes(tmp_path):
    done = run("right", "-n", "2", "--run-file", "r.jsonl", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    lines = read_run(tmp_path / "r.jsonl").programs
    assert {line["outcome"] for line in lines} == {"diverges"}
    assert all(line["levels"]["graph"] == "not_applicable" for line in lines)


def test_a_port_that_has_nothing_here_is_not_run(tmp_path):
    done = run("absent", "--if-available", cwd=tmp_path)
    assert done.returncode == 0 and "there is no such card" in done.stdout


def test_a_port_whose_language_is_not_installed(tmp_path):
    options = ("--backend", "cmd: no-such-program x.js", "--if-available", "--rule", "SEED-03")
    done = conform("run", "--oracle", "impl", *options, cwd=tmp_path)
    assert done.returncode == 0
    assert (
        "not run: the backend is not available here: no-such-program is not installed"
        in done.stdout
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--backend", "cmd: no-such-program"), "no-such-program cannot be started"),
        (("--backend", "cmd: true"), "could not be started: the process ended with exit code 0"),
        (("--backend", "cmd: true", "--no-isolation"), "a process of its own"),
        (("--backend", "impl", "--oracle", "cmd: true"), "a process of its own"),
    ],
)
def test_wrong_input(tmp_path, options, message):
    done = conform("run", "--oracle", "impl", "--rule", "SEED-03", *options, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_export(tmp_path):
    done = conform(
        *("export", "out", "--oracle", "impl", "--rule", "SEED-03", "--rule", "FUNC-01"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    header, *lines = map(json.loads, (tmp_path / "out/programs.jsonl").read_text().splitlines())
    assert header["programs"] == len(lines) > 0 and header["oracle"]["name"] == "impl"
    for line in (header, *lines):
        part("neutral", "header" if line["type"] == "header" else "line").validate(line)
    left_out = [json.loads(line) for line in (tmp_path / "out/left-out.jsonl").open()]
    assert header["left_out"] == len(left_out) > 0 and "a class" in left_out[0]["reason"]
    assert (tmp_path / "out/neutral.schema.json").exists()


def test_export_without_traces(tmp_path):
    done = conform("export", "out", "--oracle", "none", "--rule", "SEED-03", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    header, line, *_ = map(json.loads, (tmp_path / "out/programs.jsonl").read_text().splitlines())
    assert header["oracle"] is None and line["expected"] is None


def test_export_to_a_place_that_is_none(tmp_path):
    (tmp_path / "file").write_text("")
    done = conform("export", "file", "--oracle", "none", "--rule", "SEED-03", cwd=tmp_path)
    assert done.returncode == 2 and "nothing can be written there" in done.stderr


def test_all_messages_of_a_port_are_kept(tmp_path):
    made = ("run", "--backend", f"cmd: {sys.executable} {HERE / 'ports.py'} panicking")
    log = ("--log", "log", "--run-file", "r", "--oracle", "impl", "--timeout", "20")
    done = conform(*made, *log, *MINIATURE, cwd=tmp_path)
    assert done.returncode in (1, 3), done.stdout + done.stderr
    texts = [path.read_text() for path in sorted((tmp_path / "log").glob("port-*.log"))]
    lines = [line for text in texts for line in text.splitlines()]
    assert {line[:2] for line in lines} <= {"> ", "< ", "! "}
    sent = [json.loads(line[2:]) for line in lines if line.startswith("> ")]
    assert sent[0]["type"] == "start"
    assert [message["type"] for message in sent].count("run") >= 4
    answers = [json.loads(line[2:]) for line in lines if line.startswith("< ")]
    assert {message["type"] for message in answers} >= {"ready", "trace"}
