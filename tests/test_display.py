"""Values of traces as short text: complete if short, with a visible difference if unequal."""

from __future__ import annotations

import made_runs
import pytest

from conformance.output.display import (
    cut,
    field_lines,
    field_value,
    marked_source,
    nested,
    observation,
    pair,
    printable,
)
from conformance.output.failure import headlines


def tensor(values, shape, dtype="float32"):
    return {"kind": "tensor", "values": values, "shape": shape, "dtype": dtype}


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        ({"kind": "none"}, "None"),
        ({"kind": "bool", "value": True}, "True"),
        ({"kind": "float", "value": "nan"}, "nan"),
        ({"kind": "float", "value": -0.0}, "-0.0"),
        ({"kind": "complex", "value": [1.0, "inf"]}, "(1.0, infj)"),
        ({"kind": "str", "value": "a\n"}, "'a\\n'"),
        ({"kind": "tuple", "items": [{"kind": "int", "value": 1}, {"kind": "none"}]}, "(1, None)"),
        ({"kind": "dict", "items": {"a": {"kind": "int", "value": 1}}}, "{'a': 1}"),
        ({"kind": "size", "value": [2, 3]}, "torch.Size([2, 3])"),
        ({"kind": "dtype", "value": "float64"}, "torch.float64"),
        ({"kind": "object", "type": "function"}, "<function>"),
        (tensor([1.0], []), "tensor(1.0, float32)"),
        (tensor([1, 2, 3, 4], [2, 2], "int64"), "tensor([[1, 2], [3, 4]], int64)"),
        (tensor([], [0, 3]), "tensor([], float32)"),
        (tensor([], [2, 0]), "tensor([[], []], float32)"),
        (
            tensor({"error": {"type": "RuntimeError", "message": "no"}}, [2]),
            "tensor(RuntimeError: no, float32)",
        ),
    ],
)
def test_observation(seen, text):
    assert observation(seen) == text


def test_nested_values_are_rows_of_rows():
    assert nested(list(range(8)), [2, 2, 2]) == "[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]"


def test_short_values_are_shown_whole():
    assert pair([1.0, 2.0], [1.0, 3.0]) == ("[1.0, 2.0]", "[1.0, 3.0]")
    assert pair(None, {"type": "KeyError", "message": "x"}) == ("None", "KeyError: x")


@pytest.mark.parametrize("length", [10, 100, 1000])
@pytest.mark.parametrize("at", [0, 5, 9])
def test_long_values_show_where_they_differ(length, at):
    one, other = "a" * length, "a" * length
    other = other[: length * at // 10] + "b" + other[length * at // 10 + 1 :]
    expected, got = pair(one, other, 60)
    assert expected != got
    assert "b" in got
    assert max(len(expected), len(got)) <= 60


def test_long_lists_differ_in_what_is_shown():
    values = [float(n) for n in range(400)]
    expected, got = pair(values, [*values[:300], -1.0, *values[301:]])
    assert "300.0" in expected
    assert "-1.0" in got


def test_what_a_backend_says_cannot_steer_the_terminal():
    text = "red \x1b[31m\x07\u202e\r\n\udc80"
    shown = printable(text)
    assert shown.isprintable()
    assert "\\x1b[31m" in shown
    assert "\x1b" not in cut(text)
    assert printable("größer ≠ 0") == "größer ≠ 0"


def test_field_values():
    assert field_value({"error": {"type": "RuntimeError", "message": "no"}}) == (
        "raises RuntimeError: no"
    )
    assert field_value(["nan", 1.0]) == "[nan, 1.0]"
    assert field_value("x") == "'x'"


def test_marks_stand_at_their_lines():
    lines = marked_source("a\nb  # 1\nc\n", {2: "here"})
    assert lines == ["a", "b  # 1  # <-- here", "c"]
    lines = marked_source('a = 1 + \\\n  2\nb = """\n"""\n', {1: "here", 3: "there"})
    assert lines == ["# here:", "a = 1 + \\", "  2", "# there:", 'b = """', '"""']


def test_a_headline_is_followed_by_the_sentence_of_its_rule():
    lines = [
        made_runs.diverging("TIES-03.1", "ties"),
        made_runs.diverging("TIES-03.2", "ties"),
        made_runs.diverging("SEED-01.1", "seeds", sentence="Of \x1b[31m one line"),
        made_runs.diverging("SEED-02.1", "seeds", sentence=""),
    ]
    shown = list(headlines(lines, ("values",)))
    assert [one[0].split()[0] for one in shown] == [line["id"] for line in lines]
    assert shown[0][1].strip() == made_runs.SENTENCES["ties"]
    assert shown[1][1:] == []
    assert shown[2][1].strip() == "Of \\x1b[31m one line"
    assert shown[3][1:] == []


def test_a_sparse_tensor_and_gradient_show_what_they_store() -> None:
    stored = {"values": [2.0, 3.0], "shape": [4, 1], "dtype": "float32"}
    sparse = {**stored, "sparse": {"layout": "sparse_coo", "indices": [[1, 3]], "coalesced": True}}
    assert observation({"kind": "tensor", **sparse}) == "tensor([2.0, 3.0] at [[1, 3]], float32)"
    shown = field_lines({**tensor([0.0] * 4, [4, 1]), "grad": sparse})
    assert ("grad = [2.0, 3.0] at [[1, 3]]", ("grad",)) in shown
