"""The neutral form: compilation of programs, refusals with their reasons, and the schemas."""

from __future__ import annotations

import functools
import json

import jsonschema
import pytest
from referencing import Registry, Resource

from conformance.base import schemas
from conformance.neutral.compile import NotNeutral, neutral
from conformance.program.givens import Given
from conformance.program.program import Program
from conformance.suite import conventions
from conformance.suite.chapters import read_spec


def program(source: str, **changes) -> Program:
    return Program("T-01.1", "leaves", source, "A sentence", **changes)


def statement(source: str, *before: str) -> dict:
    """The neutral form of the last statement."""
    return neutral(program("\n".join([*before, source])))["statements"][-1]


def steps(source: str, *before: str) -> list[dict]:
    return statement(source, *before)["steps"]


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    found = [schemas.schema(each) for each in schemas.NAMES]
    registry = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in found)
    return jsonschema.Draft202012Validator(schemas.schema(name), registry=registry)


def part(name: str, definition: str) -> jsonschema.Draft202012Validator:
    """The validator of one definition within a schema."""
    whole = validator(name)
    return whole.evolve(schema={"$ref": f"{whole.schema['$id']}#/$defs/{definition}"})


def test_a_call_with_keywords():
    assert steps("x = torch.tensor([1., 2.], requires_grad=True)") == [
        {
            "op": "torch.tensor",
            "args": [{"float": [1.0, 2.0]}],
            "kwargs": {"requires_grad": True},
            "to": "x",
        }
    ]


def test_nested_expressions_become_temporaries():
    assert steps("z = (x * 2 + y.sin()).sum()") == [
        {"op": "operator.mul", "args": [{"ref": "x"}, {"int": 2}], "to": "%1"},
        {"op": "method.sin", "args": [{"ref": "y"}], "to": "%2"},
        {"op": "operator.add", "args": [{"ref": "%1"}, {"ref": "%2"}], "to": "%3"},
        {"op": "method.sum", "args": [{"ref": "%3"}], "to": "z"},
    ]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1", {"int": 1}),
        ("1.", {"float": 1.0}),
        ("True", True),
        ("None", None),
        ("'a'", "a"),
        ("-float('inf')", {"float": "-inf"}),
        ("torch.nan", {"float": "nan"}),
        ("2j", {"complex": [0.0, 2.0]}),
        ("2**60", {"int": str(2**60)}),
        ("1 / 4", {"float": 0.25}),
        ("(1, 2)", {"tuple": [{"int": 1}, {"int": 2}]}),
        ("[[1, 2], [3, 4]]", {"int": [[1, 2], [3, 4]]}),
        ("[1, 2.]", {"list": [{"int": 1}, {"float": 2.0}]}),
        ("[]", {"list": []}),
        ("[True]", {"list": [True]}),
        ("...", {"ellipsis": True}),
        ("{'a': 1}", {"dict": [["a", {"int": 1}]]}),
        ("torch.float64", {"torch": "float64"}),
        ("float", {"builtin": "float"}),
    ],
)
def test_values(source, value):
    assert statement(source) == {"line": 2, "source": source, "steps": [], "result": value}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x.grad = None", [{"op": "set.grad", "args": [{"ref": "x"}, None]}]),
        ("x += 1", [{"op": "operator.iadd", "args": [{"ref": "x"}, {"int": 1}], "to": "x"}]),
        ("x &= y", [{"op": "operator.iand", "args": [{"ref": "x"}, {"ref": "y"}], "to": "x"}]),
        ("a = b", [{"op": "bind", "args": [{"ref": "b"}], "to": "a"}]),
        ("del x", [{"op": "delete", "args": ["x"]}]),
        (
            "x[1:] = 0",
            [
                {
                    "op": "operator.setitem",
                    "args": [{"ref": "x"}, {"slice": [{"int": 1}, None, None]}, {"int": 0}],
                }
            ],
        ),
        ("pass", []),
        ("import torch.nn.functional as F", []),
        (
            "v, i = x.max(0)",
            [
                {"op": "method.max", "args": [{"ref": "x"}, {"int": 0}], "to": "%1"},
                {"op": "unpack", "args": [{"ref": "%1"}], "to": ["v", "i"]},
            ],
        ),
        (
            "with torch.no_grad():\n    x.add_(1)",
            [
                {"op": "torch.no_grad", "args": [], "to": "%1"},
                {
                    "op": "with",
                    "args": [{"ref": "%1"}],
                    "to": "%2",
                    "body": [{"op": "method.add_", "args": [{"ref": "x"}, {"int": 1}], "to": "%3"}],
                },
            ],
        ),
        (
            "for i in range(2):\n    x = x * i",
            [
                {"op": "bind", "args": [{"int": 0}], "to": "i"},
                {"op": "operator.mul", "args": [{"ref": "x"}, {"ref": "i"}], "to": "x"},
                {"op": "bind", "args": [{"int": 1}], "to": "i"},
                {"op": "operator.mul", "args": [{"ref": "x"}, {"ref": "i"}], "to": "x"},
            ],
        ),
    ],
)
def test_statements(source, expected):
    assert steps(source) == expected


def test_imported_names_are_torchs_until_they_are_bound_again():
    imports = "import torch.nn.functional as F\nfrom torch.autograd import grad"
    assert steps("F.relu(x)", imports)[0]["op"] == "torch.nn.functional.relu"
    assert steps("grad(y, x)", imports)[0]["op"] == "torch.autograd.grad"
    assert steps("grad.sin()", imports, "grad = x.grad")[0] == {
        "op": "method.sin",
        "args": [{"ref": "grad"}],
        "to": "%1",
    }


def test_a_builtin_that_the_program_rebinds_is_its_own():
    assert steps("len(x)")[0]["op"] == "builtin.len"
    assert steps("sum = x.sum()\nsum(x)", "sum = 1")[-1]["op"] == "call"


def test_functions_that_run_straight_through():
    assert statement("x.register_hook(lambda g: g * w)")["steps"][0]["args"][1] == {
        "function": {
            "parameters": ["g"],
            "steps": [{"op": "operator.mul", "args": [{"ref": "g"}, {"ref": "w"}], "to": "%1"}],
            "result": {"ref": "%1"},
        }
    }
    made = steps("def f(x, *rest):\n    y = x\n    return y")[0]
    assert made["to"] == "f"
    function = made["args"][0]["function"]
    assert (function["parameters"], function["rest"], function["name"]) == (["x"], "rest", "f")
    assert function["result"] == {"ref": "y"}


def test_given_tensors_are_statements_like_any_other():
    given = Given("x", "float32", (2,), (1.0, 2.0), requires_grad=True)
    form = neutral(program("y = x * 2", givens=(given,)))
    assert [s["line"] for s in form["statements"]] == [2, 3]
    assert form["statements"][0]["steps"][0]["op"] == "torch.tensor"


def test_what_is_unspecified_says_so():
    assert statement("x = torch.empty(2)  # unspecified")["unspecified"] is True


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("if x:\n    y = 1", "an if statement"),
        ("y = [a for a in x]", "a comprehension"),
        ("class A:\n    pass", "a class"),
        ("y = f'{x}'", "an f-string"),
        ("y = 1 if x else 2", "a conditional expression"),
        ("y = a and b", "`and` or `or`"),
        ("0 < x < 1", "a chained comparison"),
        ("for a in x:\n    pass", "a loop over anything but a few literals"),
        ("for a in range(n):\n    pass", "a loop over anything but a few literals"),
        ("for a in range(1000):\n    pass", "a loop over anything but a few literals"),
        ("try:\n    x\nexcept Exception:\n    pass", "a try statement"),
        ("import copy\ny = copy.copy(x)", "the module `copy`"),
        ("f(*x)", "a starred expression"),
        ("f(**x)", "`**` in a call"),
        ("def f(x=1):\n    pass", "a parameter with a default"),
        ("@torch.no_grad()\ndef f(x):\n    pass", "a decorator"),
        ("x = " + "(" * 90 + "1" + ")" * 90 + " if x else 1", "a conditional expression"),
    ],
)
def test_what_has_no_neutral_form(source, what):
    with pytest.raises(NotNeutral) as caught:
        neutral(program(f"x = torch.ones(2)\n{source}"))
    assert what in str(caught.value)
    assert caught.value.line >= 3 and str(caught.value).startswith(f"line {caught.value.line}: ")


def test_most_of_the_specification_compiles_and_meets_the_schema():
    chapters = [p for c in read_spec(None) for rule in c.rules for p in rule.programs]
    compiled = []
    for each in [*chapters, *conventions.programs()]:
        try:
            compiled.append(neutral(each))
        except NotNeutral:
            continue
    # Classes are Python's, and have no form in another language.
    assert len(compiled) > 0.85 * sum("class " not in each.source for each in chapters)
    check = part("neutral", "program")
    for form in compiled[::25]:
        check.validate(form)
        json.dumps(form, allow_nan=False)
    for form in compiled:
        assert all({"line", "source", "steps"} <= s.keys() for s in form["statements"])


def test_the_schemas_are_schemas():
    for name in schemas.NAMES:
        jsonschema.Draft202012Validator.check_schema(schemas.schema(name))


@pytest.mark.parametrize(
    "broken",
    [
        {"op": "torch.sin"},
        {"op": "sin", "args": []},
        {"op": "torch.sin", "args": [1]},
        {"op": "torch.sin", "args": [{"int": 1.5}]},
        {"op": "torch.sin", "args": [{"int": 1, "float": 1.0}]},
        {"op": "torch.sin", "args": [], "into": "x"},
    ],
)
def test_the_schema_refuses(broken):
    with pytest.raises(jsonschema.ValidationError):
        part("neutral", "step").validate(broken)
