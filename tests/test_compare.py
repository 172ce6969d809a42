"""Comparison: the level, step and field at which two traces differ, and exempt fields."""

import copy
import json

import numpy as np
import pytest
import torch

from conformance.backends import find
from conformance.base.levels import LEVELS
from conformance.base.tolerances import PRECISIONS, TOLERANCES, unit_in_last_place
from conformance.compare.compare import compare
from conformance.compare.verdict import Verdict
from conformance.execution.execute import trace
from conformance.observe.fields import Comparator, fields_of
from conformance.observe.trace import Step, Trace
from conformance.program.internals import internals
from conformance.program.program import Program

TORCH = find("torch")
TENSOR_FIELDS, GRAD_FIELDS = (  # of strided tensors
    {row.name: row.level for row in fields_of(of) if row.comparator is not Comparator.OPTIONAL}
    for of in ("tensor", "grad")
)
SOURCE = """\
x = torch.tensor([1., 2., 3.], requires_grad=True)
y = x * x
(y * 2).sum().backward()
x.backward()
y
"""
ALL = dict.fromkeys(LEVELS, "conforms")


def program(source: str = SOURCE, **fields) -> Program:
    return Program("T-01.1", "leaves", source, "", **fields)


def observed(source: str = SOURCE) -> Trace:
    return trace(program(source), TORCH)


def verdict(expected: str, got: str) -> Verdict:
    """The comparison of two sources, statement by statement, as if both were the first one."""
    return compare(observed(expected), observed(got), program(expected))


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


@pytest.mark.parametrize(
    ("one", "other", "field"),
    [
        ("1", "True", "result.kind"),
        ("1", "2", "result.value"),
        ("'a'", "'b'", "result.value"),
        ("0.5", "0.6", "result.value"),
        ("1j", "2j", "result.value"),
        ("None", "1", "result.kind"),
        ("[1, 2]", "[1]", "result.length"),
        ("[1, 2]", "(1, 2)", "result.kind"),
        ("[1, [2]]", "[1, [3]]", "result[1][0].value"),
        ("{'a': 1}", "{'b': 1}", "result.keys"),
        ("{'a': 1}", "{'a': 2}", "result['a'].value"),
        ("torch.Size([1])", "torch.Size([2])", "result.value"),
        ("torch.float32", "torch.float64", "result.value"),
        ("torch.ones(2)", "torch.zeros(2)", "result.values"),
        ("torch.ones(2)", "torch.ones(1, 2)", "result.shape"),
        ("torch.ones(2)", "torch.ones(2).double()", "result.dtype"),
        ("torch.ones(2).numpy()", "torch.zeros(2).numpy()", "result.values"),
        ("torch.ones(2).numpy()", "torch.ones(2).double().numpy()", "result.dtype"),
    ],
)
def test_values_of_every_kind(one, other, field):
    divergence = verdict(one, other).divergences["values"]
    assert (divergence.name, divergence.field) == (None, field)
    assert verdict(one, one).outcome == "conforms"


def test_objects_differ_in_kind_only():
    assert verdict("f = len", "f = int").outcome == "conforms"
    assert verdict("f = len", "f = 3").outcome == "diverges"


def tensors(dtype: str, one: list, other: list) -> Verdict:
    base = observed("x = torch.ones(1)").steps[0].changed["x"]
    traces = [
        Trace([Step(0, 2, {"x": {**base, "dtype": dtype, "shape": [len(v)], "values": v}})])
        for v in (one, other)
    ]
    return compare(traces[0], traces[1], program("x = torch.ones(1)"))


@pytest.mark.parametrize("dtype", sorted(set(TOLERANCES) - {"complex32"}))
def test_tolerances_are_those_of_torch_testing(dtype):
    kind = getattr(torch, dtype)
    with pytest.raises(AssertionError) as caught:
        torch.testing.assert_close(torch.ones(1, dtype=kind) * 2, torch.ones(1, dtype=kind))
    rtol, atol = TOLERANCES[dtype]
    assert f"(up to {atol} allowed)" in str(caught.value)
    assert f"(up to {rtol} allowed)" in str(caught.value)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_values_within_the_tolerance_conform(dtype):
    rtol, atol = TOLERANCES[dtype]
    bound = atol + rtol * 100
    assert tensors(dtype, [100.0], [100.0 + bound * 0.99]).outcome == "conforms"
    assert tensors(dtype, [100.0], [100.0 - bound * 1.01]).outcome == "diverges"
    assert tensors(dtype, [0.0], [atol * 0.99]).outcome == "conforms"
    assert tensors(dtype, [0.0], [atol * 1.01]).outcome == "diverges"


@pytest.mark.parametrize(
    ("dtype", "one", "other", "conforms"),
    [
        ("float32", ["nan"], ["nan"], True),
        ("float32", ["nan"], [1.0], False),
        ("float32", [1.0], ["nan"], False),
        ("float32", ["inf"], ["inf"], True),
        ("float32", ["inf"], ["-inf"], False),
        ("float32", ["inf"], [3.4e38], False),
        ("float64", [1.7e308], [-1.7e308], False),
        ("float32", [0.0], [-0.0], True),
        ("int64", [2**53], [2**53 + 1], False),
        ("bool", [True], [False], False),
        ("float8_e4m3fn", [1.0], [1.125], False),
        ("complex64", [[1.0, 1.0]], [[1.0, 1.000001]], True),
        ("complex64", [[1.0, 1.0]], [[1.0, 1.001]], False),
        ("complex64", [["nan", 1.0]], [["nan", 1.0]], True),
        ("complex64", [["nan", 1.0]], [["nan", 2.0]], False),
        ("complex64", [["inf", 1.0]], [["-inf", 1.0]], False),
        ("complex64", [["inf", 0.0]], [[1.0, 0.0]], False),
    ],
)
def test_special_values(dtype, one, other, conforms):
    assert (tensors(dtype, one, other).outcome == "conforms") is conforms


def test_the_index_of_the_first_element_that_differs():
    divergence = tensors("float32", [1.0, 1.0, 1.0], [1.0, 1.0000001, 2.0]).divergences["values"]
    assert divergence.index == 2 and divergence.to_json()["index"] == 2


def test_the_largest_error_in_ulp_is_kept_for_each_dtype():
    step = float(np.spacing(np.float32(3.0)))
    assert tensors("float32", [3.0, 3.0], [3.0 + 2 * step, 3.0 - step]).ulp == {"float32": 2.0}
    assert tensors("float64", [3.0], [3.0]).ulp == {"float64": 0.0}
    assert tensors("int64", [3], [4]).ulp == {}


@pytest.mark.parametrize("value", [1.0, 3.0, 0.0, 1e-40, 1e-5, 65504.0, 1e30, -7.0])
def test_ulps_are_numpys(value):
    for dtype, kind in (("float32", np.float32), ("float64", np.float64)):
        rounded = float(kind(value))
        assert unit_in_last_place(rounded, dtype) == abs(float(np.spacing(kind(value))))
    if abs(value) < 65536:
        half = np.float16(value)
        if abs(value) < 65504:
            assert unit_in_last_place(float(half), "float16") == abs(float(np.spacing(half)))
    for dtype, (bits, smallest) in PRECISIONS.items():
        info = torch.finfo(getattr(torch, dtype))
        assert (info.eps, info.tiny) == (2.0**-bits, 2.0**smallest)


def test_numbers_read_from_a_float32_tensor_have_its_tolerance():
    source = "torch.tensor(1.) * {}"
    assert verdict(
        "v = torch.tensor(0.1).item()", "v = torch.tensor(0.1000003).item()"
    ).outcome == ("conforms")
    assert verdict("v = 0.1", "v = 0.1000003").outcome == "diverges"
    assert verdict("v = 1e300", "v = 1e300").outcome == "conforms"
    assert verdict(source.format(1), source.format(2)).outcome == "diverges"


def test_unspecified_values_are_skipped_and_their_metadata_is_not():
    random = "x = torch.rand(3, requires_grad=True)  # unspecified\n(x * x).sum().backward()\n"
    fixed = "x = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\n"
    assert compare(observed(random), observed(fixed), program(random)).levels == ALL
    assert compare(observed(fixed), observed(random), program(fixed)).levels["values"] == "diverges"
    short = fixed.replace("3", "2")
    made = compare(observed(random), observed(short), program(random))
    assert made.divergences["values"].field == "shape"


def test_a_name_bound_again_is_specified_again():
    one = "x = torch.rand(1)  # unspecified\nx = torch.ones(1)\n"
    other = "x = torch.zeros(1)\nx = torch.zeros(1)\n"
    made = compare(observed(one), observed(other), program(one))
    assert made.divergences["values"].step == 1


def test_an_unspecified_result():
    one = "torch.rand(1)  # unspecified\ntorch.ones(1)\n"
    assert (
        compare(observed(one), observed("torch.ones(1)\ntorch.ones(1)"), program(one)).levels == ALL
    )
    made = compare(observed(one), observed("torch.ones(1)\ntorch.zeros(1)"), program(one))
    assert made.divergences["values"].step == 1


def without(made: Trace, *fields: str) -> Trace:
    """The trace of a port that does not observe some fields."""
    made = copy.deepcopy(made)
    for step in made.steps:
        for observation in [*step.changed.values(), step.result or {}]:
            for field in fields:
                observation.pop(field, None)
    return made


def test_a_field_that_a_port_has_no_notion_of_is_not_applicable():
    memory = [field for field, level in TENSOR_FIELDS.items() if level == "memory"]
    calm = "x = torch.ones(2)\ny = x * 2"
    made = compare(observed(calm), without(observed(calm), *memory), program(calm))
    assert made.levels == {**ALL, "memory": "not_applicable"}
    assert made.outcome == "conforms"
    made = compare(observed(calm), without(observed(calm), "version"), program(calm))
    assert made.levels == ALL


def test_a_step_without_a_change_has_the_same_gradient_still():
    """A port without node names sees no change where torch sees one in the graph alone."""
    source = (
        "x = torch.ones(1, requires_grad=True)\n"
        "y = x * 1\n"
        "y.retain_grad()\n"
        "y.backward()\n"
        "z = x\n"
        "del x\n"
    )
    expected = observed(source)
    assert "y" in expected.steps[5].changed  # its graph now ends in z
    got = without(expected, "graph")
    got.steps[5].changed.pop("y")
    assert compare(expected, got, program(source)).divergences == {}


def test_a_field_that_cannot_be_read():
    source = "with torch.inference_mode(): q = torch.ones(1)"
    expected, got = observed(source), observed(source)
    assert compare(expected, got, program(source)).levels == ALL
    got.steps[0].changed["q"]["version"]["error"]["message"] = "other"
    made = compare(expected, got, program(source))
    assert list(made.divergences) == ["diagnostics"]
    got.steps[0].changed["q"]["version"]["error"]["type"] = "OtherError"
    assert list(compare(expected, got, program(source)).divergences) == ["memory"]
    got.steps[0].changed["q"]["version"] = 0
    assert list(compare(expected, got, program(source)).divergences) == ["memory"]


def lacking(expected: Trace, at: int) -> Trace:
    made = copy.deepcopy(expected)
    made.steps[at].changed, made.steps[at].result = {}, None
    made.steps[at].error = {"type": "AttributeError", "message": "no", "lacks": "torch.amax"}
    return made


def test_what_a_backend_lacks_makes_a_program_unsupported():
    made = compare(observed(), lacking(observed(), 1), program())
    assert made.outcome == "unsupported" and made.divergences == {}
    assert made.reason == "line 3: the backend lacks torch.amax"
    assert set(made.levels.values()) == {"not_applicable"}


def test_a_divergence_before_what_is_lacking_counts():
    got = lacking(observed(), 1)
    got.steps[0].changed["x"]["values"] = [9.0, 2.0, 3.0]
    made = compare(observed(), got, program())
    assert made.outcome == "diverges" and made.divergences["values"].step == 0


def test_what_the_oracle_lacks_too_is_an_ordinary_error():
    source = "torch.no_such_name"
    assert compare(observed(source), observed(source), program(source)).outcome == "conforms"


def test_comments_that_the_oracle_does_not_meet_are_kept_apart():
    source = "x = torch.ones(1)  # tensor([2.])\n"
    made = compare(observed(source), observed(source), program(source, rule="T-01"))
    assert (made.outcome, made.levels["values"], made.divergences) == ("diverges", "conforms", {})
    assert made.to_json()["specification"] == [
        {"line": 2, "expected": "tensor([2.])", "got": "tensor([1.])"}
    ]


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


def test_what_was_computed_in_float32_is_compared_in_float32():
    source = """\
a = torch.tensor([2.0, 3.0])
b = torch.tensor(1.5387744903564453, dtype=torch.float64)
"""
    near, far = (source.replace("1.5387744903564453", v) for v in ("1.538774967", "1.5388"))
    assert verdict(source, near).outcome == "conforms"
    assert verdict(source, far).outcome == "diverges"
    alone, alone_near = (s.split("\n", 1)[1] for s in (source, near))
    assert verdict(alone, alone_near).outcome == "diverges"


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


def test_what_a_port_lacks_makes_a_program_unsupported_though_torch_refuses_it_too():
    """The port did not do the statement; whether its trace ends there changes nothing."""
    source = "x = torch.ones(2)\nx.refused()\ny = x + 1"
    expected, got = observed(source), observed(source)
    lacking = {"type": "NotImplementedError", "message": "", "lacks": "method.refused"}
    expected.steps[1].error = {"type": "NotImplementedError", "message": "no", "lacks": "no"}
    got.steps[1].error = lacking
    found = ("unsupported", "line 3: the backend lacks method.refused")
    made = compare(expected, got, program(source))
    assert (made.outcome, made.reason) == found
    del got.steps[2:]
    made = compare(expected, got, program(source))
    assert (made.outcome, made.reason) == found


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


def test_a_permitted_difference_is_no_divergence_and_ends_its_level() -> None:
    marked = "x = torch.ones(2)\nx._version  # 0 ; may differ: memory, diagnostics\nx.add_(1)\n"
    changed = marked.replace("x._version", "x.add_(0)._version", 1)
    made = compare(observed(marked), observed(changed), program(marked))
    assert (made.outcome, made.divergences) == ("conforms", {})
    permitted = made.permitted["memory"]
    assert (permitted.line, permitted.expected, permitted.got) == (3, 0, 1)
    assert made.to_json()["permitted"]["memory"]["line"] == 3
    strict = compare(observed(marked), observed(changed), program(marked), permitting=False)
    assert strict.levels["memory"] == "diverges"


def test_a_rule_may_leave_a_level_open_in_all_its_programs() -> None:
    source = "x = torch.ones(2)\nx._version\n"
    other = observed(source.replace("x._version", "x.add_(0)._version"))
    assert compare(observed(source), other, program(source)).levels["memory"] == "diverges"
    assert compare(observed(source), other, program(source, may_differ=("memory",))).outcome == (
        "conforms"
    )


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
