"""Comparison: the level, step and field at which two traces differ."""

import json

import pytest
from made_comparisons import ALL, GRAD_FIELDS, SOURCE, TENSOR_FIELDS, observed, program, verdict

from conformance.base.levels import LEVELS
from conformance.compare.compare import compare
from conformance.compare.verdict import Verdict
from conformance.observe.trace import Step, Trace
from conformance.program.internals import internals
from conformance.program.program import Program


def test_a_trace_conforms_with_itself_at_every_level():
    made = compare(observed(), observed(), program())
    assert (made.outcome, made.levels, made.divergences) == ("conforms", ALL, {})
    assert made.ulp == {"float32": 0.0}
    assert "reason" not in made.to_json()
    json.dumps(made.to_json(), allow_nan=False)


@pytest.mark.parametrize(("field", "level"), TENSOR_FIELDS.items())
def test_each_field_of_a_tensor_belongs_to_its_level_alone(field, level):
    got = observed()
    step = got.steps[1]
    value = step.changed["y"][field]
    step.changed["y"][field] = (
        {"shape": [1], "dtype": "float32", "values": [0.0]} if field == "grad" else [value, "other"]
    )
    made = compare(observed(), got, program())
    others = set(LEVELS) - {level}
    if field in ("shape", "dtype"):  # values are not compared without them
        others.discard("values")
    assert made.levels[level] == "diverges" and made.outcome == "diverges"
    assert {made.levels[other] for other in others} <= {"conforms"}
    divergence = made.divergences[level]
    assert (divergence.step, divergence.line, divergence.name) == (1, 3, "y")
    assert divergence.field == field


@pytest.mark.parametrize(("field", "level"), GRAD_FIELDS.items())
def test_each_field_of_a_gradient_belongs_to_its_level_alone(field, level):
    got = observed()
    got.steps[2].changed["x"]["grad"][field] = [7.0, 7.0, 7.0]
    made = compare(observed(), got, program())
    assert list(made.divergences) == [level]
    assert made.divergences[level].field == f"grad.{field}"
    assert (made.divergences[level].step, made.divergences[level].name) == (2, "x")


def test_the_tables_name_every_field_that_is_observed():
    fields = observed().steps[0].changed["x"].keys() - {"kind"}
    assert fields == set(TENSOR_FIELDS)
    assert observed().steps[2].changed["x"]["grad"].keys() == set(GRAD_FIELDS)
    assert {*TENSOR_FIELDS.values(), *GRAD_FIELDS.values()} == set(LEVELS)


def test_a_gradient_that_is_missing():
    made = verdict(
        "x = torch.ones(1, requires_grad=True)\n(x * 2).backward()",
        SOURCE[:0] + ("x = torch.ones(1, requires_grad=True)\n(x * 2).sum()"),
    )
    divergence = made.divergences["values"]
    assert (divergence.field, divergence.expected, divergence.got) == ("grad", "tensor", None)


def test_the_first_divergence_of_each_level_is_kept():
    made = verdict(
        "x = torch.ones(2)\ny = x.detach()\ny.add_(1)\nz = y + 1",
        "x = torch.ones(2)\ny = x.clone()\ny.add_(1)\nz = y + 2",
    )
    memory, values = made.divergences["memory"], made.divergences["values"]
    assert (memory.step, memory.name, memory.field) == (1, "y", "storage")
    assert (memory.expected, memory.got) == ("x", "y")
    assert (values.step, values.name, values.field, values.index) == (2, "x", "values", 0)
    assert (values.expected, values.got) == ([2.0, 2.0], [1.0, 1.0])
    assert made.levels["graph"] == "conforms"


def test_an_error_on_one_side_only_is_a_difference_in_values():
    made = verdict("x = torch.ones(2)\nx.backward()", "x = torch.ones(2)\nx.sum()")
    divergence = made.divergences["values"]
    assert (divergence.step, divergence.field, divergence.got) == (1, "error", None)
    assert divergence.expected["type"] == "RuntimeError"


def test_error_classes_are_values_and_their_messages_diagnostics():
    assert list(verdict("1 / 0", "[][1]").divergences) == ["values"]
    made = verdict("raise ValueError('a')", "raise ValueError('b')")
    assert list(made.divergences) == ["diagnostics"]
    divergence = made.divergences["diagnostics"]
    assert (divergence.field, divergence.expected, divergence.got) == ("error message", "a", "b")


def test_a_name_that_is_missing_points_to_the_statement_that_did_not_bind_it():
    made = verdict(
        "x = torch.ones(1)\ny = x + 1\nz = y + 1", "x = torch.ones(1)\ny = nothing\nz = y + 1"
    )
    assert {level: d.step for level, d in made.divergences.items()} == dict.fromkeys(LEVELS, 1)
    assert made.divergences["values"].field == "error"
    graph = made.divergences["graph"]
    assert (graph.name, graph.field, graph.expected, graph.got) == (
        "y",
        "kind",
        "tensor",
        "missing",
    )


def test_a_deleted_name_that_is_still_there():
    made = verdict("a = 1\ndel a", "a = 1\na")
    assert (made.divergences["values"].name, made.divergences["values"].got) == ("a", "int")
    assert list(made.divergences) == ["values"]


def test_warnings_are_diagnostics():
    warn = "import warnings\nwarnings.warn('{}', {})"
    made = verdict(warn.format("a", "UserWarning"), warn.format("a", "FutureWarning"))
    assert list(made.divergences) == ["diagnostics"]
    assert made.divergences["diagnostics"].field == "warnings"
    assert made.divergences["diagnostics"].expected == [["UserWarning", "a"]]
    assert verdict(warn.format("a", "UserWarning"), warn.format("a", "UserWarning")).levels == {
        "values": "conforms",
        "graph": "not_applicable",
        "memory": "not_applicable",
        "diagnostics": "conforms",
    }


def test_objects_differ_in_kind_only():
    assert verdict("f = len", "f = int").outcome == "conforms"
    assert verdict("f = len", "f = 3").outcome == "diverges"


def test_a_trace_that_ends_early_diverges():
    got = observed()
    del got.steps[3:]
    divergence = compare(observed(), got, program()).divergences["values"]
    assert (divergence.field, divergence.expected, divergence.got) == ("steps", 5, 3)


def test_a_program_that_was_not_compared():
    made = Verdict.without_comparison("not_run", "no such device").to_json()
    assert (made["outcome"], made["reason"]) == ("not_run", "no such device")
    assert set(made["levels"].values()) == {"not_applicable"}


@pytest.mark.parametrize(
    ("shape", "one", "other", "agrees"),
    [
        ((2, 1), (1, 1), (1, 2), "conforms"),  # one element along it: the stride leads nowhere
        ((0, 3), (3, 1), (1, 1), "conforms"),  # no element at all
        ((2, 3), (3, 1), (1, 2), "diverges"),
        ((2, 2), (2, 1), (1, 2), "diverges"),
    ],
)
def test_a_stride_counts_where_it_leads_to_another_element(
    shape: tuple[int, ...], one: tuple[int, ...], other: tuple[int, ...], agrees: str
) -> None:
    source = "x = torch.empty_strided({}, {}).fill_(1.)"
    found = verdict(source.format(shape, one), source.format(shape, other))
    assert found.levels["memory"] == agrees


def test_storages_are_compared_as_a_partition_of_names():
    source = "x = torch.ones(2)\ny = x * 2\nz = y.detach()"
    made = observed(source)
    renamed = Trace.from_json(json.loads(json.dumps(made.to_json())))
    for step in renamed.steps:
        for seen in step.changed.values():
            seen["storage"] = {"x": "s7", "y": "s3"}[seen["storage"]]
    assert compare(made, renamed, program(source)).levels["memory"] == "conforms"
    renamed.steps[2].changed["z"]["storage"] = "s7"
    divergence = compare(made, renamed, program(source)).divergences["memory"]
    assert (divergence.name, divergence.expected, divergence.got) == ("z", "y", "x")
    renamed.steps[2].changed["z"]["storage"] = "s9"
    assert compare(made, renamed, program(source)).divergences["memory"].got == "s9"


@pytest.mark.parametrize(
    ("source", "level"),
    [
        ("x._version", "memory"),
        ("v = x._version", "memory"),
        ("y.stride()", "memory"),
        ("y._base is x", "memory"),
        ("x.grad is g", "memory"),
        ("y.grad_fn is None", "graph"),
        ("(x.is_leaf, y.requires_grad)", "graph"),
        ("(x.is_leaf, x._version)", "memory"),
        ("y.grad_fn.name()", "diagnostics"),
        ("x.grad is None", None),
        ("x.item()", None),
        ("y = torch.ones(2, requires_grad=True)", None),
        ("x.requires_grad = True", None),
        ("for v in (x._version,):\n    pass", None),
    ],
)
def test_the_level_of_what_a_statement_reads(source, level):
    assert internals(source) == level


def test_internals_that_differ_diverge_at_their_own_level():
    program = Program("A-01.1", "leaves", "x = torch.ones(1)\nx._version\n", "")
    one, other = ({"kind": "int", "value": value} for value in (0, 1))
    traces = [
        Trace([Step(0, 2, changed={"x": {"kind": "none"}}), Step(1, 3, result=seen)])
        for seen in (one, other)
    ]
    verdict = compare(*traces, program, stated=False)
    assert verdict.levels["values"] == "conforms"
    assert verdict.levels["memory"] == "diverges"
    assert compare(*traces, program, stated=False, levels=("values",)).outcome == "conforms"


def test_a_sparse_tensor_differs_from_a_strided_one_at_the_level_of_values():
    """Also where it stores all elements; and in indices, and in whether it is coalesced."""
    expected = "s = torch.tensor([1., 2.]).to_sparse()"
    divergence = verdict(expected, "s = torch.tensor([1., 2.])").divergences["values"]
    assert (divergence.field, divergence.got) == ("sparse", "not sparse")
    other = expected.replace("[1., 2.]", "[1., 0., 2.]")
    assert verdict(expected, other).divergences["values"].field == "shape"
    moved = "s = torch.tensor([0., 1., 2.]).to_sparse()"
    assert verdict(moved, other).divergences["values"].field == "sparse"
    assert not verdict(expected, expected).divergences
