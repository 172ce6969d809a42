"""Exemptions from comparison: values that are unspecified, fields that are lacking."""

import copy

from made_comparisons import ALL, TENSOR_FIELDS, observed, program

from conformance.compare.compare import compare
from conformance.observe.trace import Trace


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
