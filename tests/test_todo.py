"""`conform todo`: the operations that a port should have next."""

from __future__ import annotations

import made_runs
import pytest
from command import conform

from conformance.neutral.compile import neutral
from conformance.neutral.operations import operations
from conformance.program.program import Program
from conformance.run_files.todo import had, needs, way


def program(name: str, source: str) -> Program:
    return Program(f"{name}.1", "seeds", source, f"about {name}", rule=name)


PROGRAMS = [
    program("A", "x = torch.ones(2)\nx.sum()"),
    program("B", "x = torch.ones(2)\nx.sum().backward()"),
    program("C", "x = torch.ones(2)\nx.sum().backward()\nx.grad"),
    program("D", "x = torch.ones(2)\ny = x.cumsum(0)"),
    program("E", "class A:\n    pass"),
]


def test_operations_are_calls_attributes_constants_and_those_of_functions():
    source = "x = torch.ones(2, dtype=torch.float64)\nx.register_hook(lambda g: g * 2)\n"
    source += "x.grad\nfloat(x.sum())"
    assert operations(neutral(program("A", source))) == {
        "torch.ones",
        "torch.float64",
        "method.register_hook",
        "operator.mul",
        "get.grad",
        "builtin.float",
        "method.sum",
    }


def test_program_without_a_neutral_form_has_a_reason():
    found = needs(PROGRAMS)
    assert [one.id for one in found.of] == ["A.1", "B.1", "C.1", "D.1"]
    assert list(found.others.values()) == ["a class"]


def test_way_from_nothing_reaches_every_program_once():
    steps = list(way(needs(PROGRAMS), frozenset()))
    assert steps[0].operations == ("method.sum", "torch.ones")
    unlocked = [one.id for step in steps for one in step.programs]
    assert sorted(unlocked) == ["A.1", "B.1", "C.1", "D.1"]
    added = [name for step in steps for name in step.operations]
    assert len(added) == len(set(added))


def test_way_of_a_port_begins_with_the_operations_that_it_has():
    found = needs(PROGRAMS)
    lines = [
        made_runs.line("B.1", "seeds"),
        made_runs.uncompared("C.1", "seeds", "unsupported", "get.grad"),
    ]
    have = had(found, lines)
    assert have == {"torch.ones", "method.sum", "method.backward"}
    ready, *steps = way(found, have, frozenset({"B.1"}))
    assert (ready.operations, [one.id for one in ready.programs]) == ((), ["A.1"])
    assert {step.operations for step in steps} == {("get.grad",), ("method.cumsum",)}


@pytest.mark.parametrize(
    ("reason", "have"),
    [
        ("line 4: the backend lacks Tensor.cumsum", {"torch.ones", "method.exp", "method.sin"}),
        ("line 4: the backend lacks a product", {"torch.ones", "method.exp"}),
        ("method.cumsum", {"torch.ones", "method.exp", "method.sin"}),
        ("Tensor.register_hook", {"torch.ones", "method.exp", "method.sin", "method.cumsum"}),
        ("torch.float16", set()),
        ("a product", set()),
        ("", set()),
    ],
)
def test_what_came_before_an_operation_that_is_lacking_is_there(reason, have):
    source = "x = torch.ones(2)\ny = x.exp()\nz = y.sin().cumsum(0)\n"
    lacking = program("A", source + "z.register_hook(lambda g: g.log())\n")
    lines = [made_runs.uncompared("A.1", "seeds", "unsupported", reason)]
    assert had(needs([lacking]), lines) == have


def test_what_one_program_lacks_is_not_there_because_it_came_early_in_another():
    one = program("A", "x = torch.ones(2, dtype=torch.float16)\ny = x.exp()")
    two = program("B", "x = torch.ones(2).exp()")
    lines = [
        made_runs.uncompared("A.1", "seeds", "unsupported", "line 3: the backend lacks a dtype"),
        made_runs.uncompared("B.1", "seeds", "unsupported", "torch.ones"),
    ]
    assert had(needs([one, two]), lines) == {"torch.float16"}


def test_operation_that_unlocks_more_programs_comes_first():
    programs = [program(f"P{n}", "x = torch.ones(2)\nx.exp()") for n in range(3)]
    programs += [program("Q", "x = torch.ones(2)\nx.log()")]
    have = frozenset({"torch.ones"})
    first, second = way(needs(programs), have)
    assert (first.operations, len(first.programs), first.rules) == (("method.exp",), 3, 3)
    assert second.operations == ("method.log",)


def test_command_tells_the_way_from_nothing_and_from_a_run(tmp_path):
    done = conform("todo", "--area", "seeds", "--steps", "3", cwd=tmp_path)
    assert done.returncode == 0
    assert "0 of them compared; from nothing" in done.stdout
    assert "method.backward, torch.tensor (SEED-07.3)" in done.stdout
    assert "get.grad, operator.mul, torch.ones (SEED-13.3)" in done.stdout
    assert "more operations (see --steps)" in done.stdout
    run = made_runs.run_file(tmp_path / "run.jsonl", [made_runs.line("SEED-13.3", "seeds")])
    done = conform("todo", run, "--area", "seeds", cwd=tmp_path)
    assert "1 of them compared" in done.stdout
    assert "(SEED-13.3)" not in done.stdout


@pytest.mark.parametrize("arguments", [["no-such-run.jsonl"], ["--area", "no-such-area"]])
def test_wrong_input_is_refused(arguments, tmp_path):
    done = conform("todo", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "no-such" in done.stderr
