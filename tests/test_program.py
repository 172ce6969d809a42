"""Programs: given tensors as source, statements, comments, and syntax errors."""

import math
import pickle

import pytest
import torch

from conformance.program.givens import Given
from conformance.program.program import Program, ProgramError, trailing_prose

NAN, INF = float("nan"), float("inf")


def program(source: str, **fields) -> Program:
    return Program(id="T-01.1", area="leaves", source=source, sentence="", **fields)


def bound(given: Given) -> torch.Tensor:
    names = {"torch": torch}
    exec(given.source(), names)
    return names[given.name]


@pytest.mark.parametrize(
    "given",
    [
        Given("x", "float32", (2, 2), (1.0, NAN, -INF, -0.0), requires_grad=True),
        Given("x", "float64", (), (0.1,)),
        Given("x", "float16", (2,), (65504.0, 6e-8)),
        Given("x", "bfloat16", (1,), (1.5,), requires_grad=True),
        Given("x", "int64", (3,), (2**62, -1, 0)),
        Given("x", "uint8", (1, 2), (255, 0)),
        Given("x", "bool", (2,), (True, False)),
        Given("x", "complex128", (2,), (complex(-0.0, NAN), complex(1, -INF)), requires_grad=True),
        Given("x", "float64", (0, 3), (), requires_grad=True),
        Given("x", "int32", (0,), ()),
        Given("x", "float64", (2, 3), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (1, 2), True),
        Given("x", "float32", (2, 2), (1.0, 2.0, 3.0, 4.0), (5, 2)),
        Given("x", "float32", (2, 3), (1.0, 2.0, 3.0, 1.0, 2.0, 3.0), (0, 1)),
    ],
    ids=lambda given: f"{given.dtype}-{given.shape}-{given.strides}",
)
def test_given_source_binds_the_tensor_described(given):
    x = bound(given)
    assert tuple(x.shape) == given.shape
    assert str(x.dtype) == f"torch.{given.dtype}"
    assert x.requires_grad is given.requires_grad and x.is_leaf
    assert "\n" not in given.source()
    if given.strides is not None:
        assert x.stride() == given.strides
    wanted = torch.tensor(given.values, dtype=x.dtype)
    assert [repr(v) for v in x.detach().reshape(-1).tolist()] == [repr(v) for v in wanted.tolist()]
    assert repr(Given.from_json(given.to_json())) == repr(given)  # NaN is not equal to itself


def test_given_default_dtypes_are_not_spelled_out():
    assert Given("x", "float32", (2,), (1, 2)).source() == "x = torch.tensor([1.0, 2.0])"
    assert Given("i", "int64", (1,), (3,)).source() == "i = torch.tensor([3])"


def test_given_refuses_what_it_cannot_bind():
    with pytest.raises(ValueError, match="takes 4 values, not 3"):
        Given("x", "float32", (2, 2), (1, 2, 3))
    with pytest.raises(ValueError, match="1 strides for shape"):
        Given("x", "float32", (2, 2), (1, 2, 3, 4), (1,))
    with pytest.raises(ValueError, match="give one place two values"):
        Given("x", "float32", (2,), (1.0, 2.0), (0,)).source()


def test_statements_are_what_is_pasted():
    p = program(
        "y = x * 2; z = y\n\nwith torch.no_grad():\n    z = z + 1\n    w = z\ny\n",
        givens=(Given("x", "float32", (1,), (2.0,)),),
    )
    lines = p.paste().splitlines()
    assert lines[:2] == ["import torch", "x = torch.tensor([2.0])"]
    assert [(s.line, s.end_line, s.given) for s in p.statements] == [
        (2, 2, True),
        (3, 3, False),
        (3, 3, False),
        (5, 7, False),
        (8, 8, False),
    ]
    assert [s.source for s in p.statements[1:3]] == ["y = x * 2", "z = y"]
    assert p.statements[3].source == "with torch.no_grad():\n    z = z + 1\n    w = z"
    assert p.statements[3].assigns == ("z", "w")
    assert [s.is_expression for s in p.statements] == [False] * 4 + [True]
    for statement in p.statements:
        assert lines[statement.line - 1].count(statement.source.splitlines()[0]) == 1


def test_paste_runs_as_it_stands():
    p = program("y = x.exp()\n", givens=(Given("x", "float64", (2,), (0.0, 1.0)),))
    names: dict = {}
    exec(p.paste(), names)
    assert names["y"].tolist() == [1.0, math.e]


def test_a_program_that_imports_torch_is_not_given_it_twice():
    p = program("# what people paste\nimport torch\nx = torch.ones(1)\n")
    assert p.paste().count("import torch") == 1
    assert [s.source for s in p.statements] == ["import torch", "x = torch.ones(1)"]
    assert p.statements[0].imports == ("torch",)
    assert program("import torch.nn.functional as F\n").paste().startswith("import torch\nimport")


def test_names_bound_in_inner_scopes_are_not_the_programs():
    p = program(
        "def f(a):\n    b = a\n    return b\n"
        "v = [c for c in range(3)]\n"
        "import math as m\n"
        "for i in range(2):\n    s = i\n"
        "(t := 3)\n"
    )
    assert [s.assigns for s in p.statements] == [("f",), ("v",), ("m",), ("i", "s"), ("t",)]


def test_a_comment_belongs_to_the_last_statement_that_ends_on_its_line():
    p = program(
        "a = 1; b = 2  # 2\n"
        "c = [\n    1,  # 1\n    2,\n]  # [1, 2]\n"
        "with torch.no_grad():\n    d = torch.ones(1)  # unspecified\n"
        "# 7\n"
        "e, f = 1, 2.5  # (1, 2.5)\n"
    )
    kinds = [[e.kind for e in s.expects] for s in p.statements]
    assert kinds == [[], ["value"], ["value"], ["unspecified"], ["value"]]
    assert p.statements[4].shown == ("e", "f")
    assert p.statements[3].unspecified


def test_a_hash_within_a_string_is_no_comment():
    assert program("s = '# None'\n").statements[0].expects == ()


def test_lines_are_found_again_in_the_file():
    p = program("x = 1\ny = 2\n", file="spec/01-leaves.md", line=40)
    assert [p.place(s.line) for s in p.statements] == [
        ("spec/01-leaves.md", 40),
        ("spec/01-leaves.md", 41),
    ]


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("x = 1\ny = = 2\n", 11, "does not parse"),
        ("x = 1\nreturn x\n", 11, "does not compile"),
        ("def f():  # None\n    pass\nx = (1 +\n", 12, "does not parse"),
        ("x = 1\nx.a = 2  # 2\n", 11, "a value can be stated for"),
        ("x = f(  # raises RuntimeError\n    1)\n", 10, "last line of a statement"),
        ("x = 1  # tensor([1., 2)\n", 10, "cannot be read as a value"),
        ("x = 1  # raises RuntimeError when it likes\n", 10, "write '# raises Error'"),
    ],
)
def test_malformed_source_says_where(source, line, message):
    p = program(source, file="a.md", line=10)
    with pytest.raises(ProgramError, match=message) as caught:
        _ = p.statements
    assert (caught.value.file, caught.value.line) == ("a.md", line)
    assert str(caught.value).startswith(f"a.md:{line}: ")


def test_a_null_byte_is_a_program_error():
    with pytest.raises(ProgramError, match="does not parse"):
        _ = program("x = 1\0").statements


def test_json_round_trip_keeps_the_program():
    p = program(
        "y = x\n",
        givens=(Given("x", "complex64", (1,), (complex(NAN, 1),)),),
        rule="T-01",
        dtype="complex64",
        file="a.md",
        line=3,
    )
    again = Program.from_json(p.to_json())
    assert again.paste() == p.paste() and again.to_json() == p.to_json()
    with pytest.raises(ProgramError, match="not a program"):
        Program.from_json({"id": "x"})
    with pytest.raises(ProgramError, match="not a program"):
        Program.from_json({**p.to_json(), "colour": "red"})


def test_a_program_can_be_sent_to_another_process():
    p = program("x = 1\n", givens=(Given("g", "float32", (1,), (1.0,)),))
    assert len(p.statements) == 2
    again = pickle.loads(pickle.dumps(p))
    assert again == p and [s.source for s in again.statements] == [s.source for s in p.statements]


def test_prose_comments_can_be_listed():
    p = program("x = 1  # one\ny = 2  # 2\nz = 3  # 3 of them\n")
    assert list(trailing_prose(p)) == [(2, "one"), (4, "3 of them")]
