"""Normative comments: their recognition, and those that a trace of torch satisfies."""

import pytest

from conformance.backends import find
from conformance.compare.printed_values import shown
from conformance.compare.unmet import unmet
from conformance.execution.execute import trace
from conformance.program.expectations import MalformedExpectation, looks_literal, read_comment
from conformance.program.program import Program

TORCH = find("torch")


def failures(source: str, rule: str | None = "T-01") -> list[tuple[int, str, str]]:
    program = Program("T-01.1", "leaves", "import torch\n" + source, "", rule=rule)
    return [(u.line - 1, u.expected, u.got) for u in unmet(program, trace(program, TORCH))]


@pytest.mark.parametrize(
    "comment",
    [
        "a leaf",
        "shares storage",
        "3 elements",
        "None (not zeros)",
        "True, because x is a leaf",
        "",
        "raises if x is a leaf",
        "warns",
        "[x, y]",
        "x.grad",
        "because ; of this",
        "2or more",
    ],
)
def test_prose(comment):
    assert read_comment(comment) == ()


def test_prose_that_begins_like_a_value_is_noticed():
    assert looks_literal("None (not zeros)") and looks_literal("3 elements")
    assert not looks_literal("shares storage")


@pytest.mark.parametrize(
    "comment",
    [
        "tensor([1., 2.)",
        "tensor([[1.], [1., 2.]])",
        "tensor([1.], colour=3)",
        "tensor(x)",
        "torch.Size(2)",
        "raises RuntimeError because of x",
        "tensor([1.]) ; and so on",
    ],
)
def test_what_is_meant_to_be_normative_must_be_readable(comment):
    with pytest.raises(MalformedExpectation):
        read_comment(comment)


def test_several_expectations_in_one_comment():
    first, second = read_comment("tensor([1.]) ; warns UserWarning: a ; b...")
    assert (first.kind, second.kind) == ("value", "warns")
    assert second.message == "a ; b..."


MET = [
    "torch.tensor([1., 2.]) * 1.00001  # tensor([1., 2.])",
    "torch.tensor(3.)  # tensor(3.)",
    "torch.tensor(3)  # tensor(3)",
    "torch.zeros(0, 3)  # tensor([], size=(0, 3))",
    "torch.tensor([float('nan'), float('inf'), -float('inf')])  # tensor([nan, inf, -inf])",
    "torch.tensor([1.], dtype=torch.float64)  # tensor([1.], dtype=torch.float64)",
    "torch.ones(1, requires_grad=True)  # tensor([1.], requires_grad=True)",
    "torch.ones(1, requires_grad=True) * 2  # tensor([2.], grad_fn=<MulBackward0>)",
    "torch.tensor([1j, 2.])  # tensor([0.+1.j, 2.+0.j])",
    "torch.tensor([True])  # tensor([True])",
    "x = torch.ones(2)  # tensor([1., 1.])",
    "x = torch.ones(2).max(0)  # (tensor(1.), tensor(0))",
    "v, i = torch.ones(2).max(0)  # (tensor(1.), tensor(0))",
    "torch.ones(2).max(0)  # torch.return_types.max(values=tensor(1.), indices=tensor(0))",
    "torch.ones(2).shape  # torch.Size([2])",
    "torch.ones(2).dtype  # torch.float32",
    "torch.ones(2).stride()  # (1,)",
    "{'a': [1, 2.5, 'b', None]}  # {'a': [1, 2.5, 'b', None]}",
    "torch.ones(2).tolist()  # [1.0, 1.0]",
    "True  # True",
    "2+1j  # 2+1j",
    "-3  # -3",
    "float('nan')  # nan",
    "torch.ones(2, requires_grad=True).backward()  # raises RuntimeError",
    "torch.ones(2, requires_grad=True).backward()  # raises RuntimeError: grad can be ...scalar...",
    "(torch.ones(2, requires_grad=True)*1).grad  # None ; warns UserWarning: The .grad attr...",
    "torch.rand(2)  # unspecified",
]


@pytest.mark.parametrize("line", MET)
def test_met(line):
    assert Program("T", "leaves", line, "").statements[0].expects
    assert failures(line) == []


@pytest.mark.parametrize(
    ("line", "got"),
    [
        ("torch.tensor([1.001])  # tensor([1.])", "tensor([1.001])"),
        ("torch.tensor([1.])  # tensor([1])", "tensor([1.])"),
        ("torch.tensor([1])  # tensor([1.])", "tensor([1])"),
        ("torch.tensor([1])  # tensor([True])", "tensor([1])"),
        ("torch.tensor([1.])  # tensor(1.)", "tensor([1.])"),
        ("torch.tensor([1.])  # [1.]", "tensor([1.])"),
        ("torch.tensor([1.])  # None", "tensor([1.])"),
        ("None  # tensor([1.])", "None"),
        ("torch.tensor([1.])  # tensor([nan])", "tensor([1.])"),
        ("torch.tensor([float('nan')])  # tensor([1.])", "tensor([nan])"),
        ("torch.zeros(0, 2)  # tensor([])", "tensor([], size=(0, 2), dtype=torch.float32)"),
        (
            "torch.tensor([1.])  # tensor([1.], dtype=torch.float64)",
            "tensor([1.])",
        ),
        ("torch.ones(1)  # tensor([1.], requires_grad=True)", "tensor([1.])"),
        (
            "torch.ones(1, requires_grad=True) * 2  # tensor([2.], grad_fn=<AddBackward0>)",
            "tensor([2.], grad_fn=<MulBackward0>)",
        ),
        ("torch.Size([1])  # torch.Size([2])", "torch.Size([1])"),
        ("torch.float32  # torch.float64", "torch.float32"),
        ("(1, 2)  # [1, 2]", "(1, 2)"),
        ("(1, 2)  # (1, 2, 3)", "(1, 2)"),
        ("1  # True", "1"),
        ("1  # 1.0", "1"),
        ("'a'  # 'b'", "'a'"),
        ("{'a': 1}  # {'b': 1}", "{'a': 1}"),
        ("x = torch.ones(1)  # tensor([2.])", "tensor([1.])"),
        ("torch.ones(1)  # raises RuntimeError", "no error"),
        ("1 / 0  # raises RuntimeError", "raises ZeroDivisionError: division by zero"),
        (
            "1 / 0  # raises ZeroDivisionError: by zero",
            "raises ZeroDivisionError: division by zero",
        ),
        ("1  # warns UserWarning", "no warning"),
        ("1 / 0  # 1", "raises ZeroDivisionError: division by zero"),
    ],
)
def test_not_met(line, got):
    ((at, _, actual),) = failures(line)
    assert (at, actual) == (1, got)


def test_an_error_that_no_comment_announces_fails_a_rules_example_only():
    assert failures("1 / 0") == [(1, "no error", "raises ZeroDivisionError: division by zero")]
    assert failures("1 / 0", rule=None) == []


def test_the_value_of_a_name_is_that_after_its_own_statement():
    source = (
        "x = torch.ones(1)  # tensor([1.])\nx.add_(1)\ny = x  # tensor([2.])\nx = y  # tensor([3.])"
    )
    assert [at for at, _, _ in failures(source)] == [4]


def test_a_warning_is_found_among_others():
    source = (
        "import warnings\n"
        "for c in (UserWarning, FutureWarning): warnings.warn('no  go\\nat all', c)"
    )
    assert failures(source + "  # warns FutureWarning: no go at all") == []
    assert len(failures(source + "  # warns FutureWarning: no go")) == 1


def test_a_trace_that_ends_early_is_told():
    program = Program("T", "leaves", "x = 1\ny = 2\n", "", rule="T")
    short = trace(program, TORCH)
    del short.steps[1]
    assert [(u.line, u.got) for u in unmet(program, short)] == [
        (3, "the trace ends before this statement")
    ]


def test_what_cannot_be_read_is_shown_as_such():
    error = {"error": {"type": "RuntimeError", "message": "no"}}
    observed = {"kind": "tensor", "shape": [1], "dtype": "float32", "values": error}
    assert "cannot be read" in shown({**observed, "requires_grad": False})
    assert shown({"kind": "object", "type": "function"}) == "<function>"


def test_what_is_left_open() -> None:
    assert [e.kind for e in read_comment("implementation-defined")] == ["unspecified"]
    value, differ = read_comment("2 ; may differ: memory, graph")
    assert (value.kind, differ.kind, differ.levels) == ("value", "may differ", ("memory", "graph"))
    with pytest.raises(MalformedExpectation, match="the levels are values, graph"):
        read_comment("may differ: colours")


SPARSE = (
    "tensor(indices=tensor([[0, 2]]), values=tensor([1., 3.]), size=(3,), nnz=2, "
    "layout=torch.sparse_coo)"
)


@pytest.mark.parametrize(
    ("comment", "meets"),
    [
        (SPARSE, True),
        (SPARSE.replace("3.]", "4.]"), False),
        (SPARSE.replace("[[0, 2]]", "[[0, 1]]"), False),
        (SPARSE.replace("size=(3,)", "size=(4,)"), False),
        ("tensor([1., 3.])", False),
    ],
)
def test_a_sparse_tensor_is_shown_as_torch_shows_it(comment, meets):
    """On one line; a strided tensor with the same elements is another value."""
    source = f"s = torch.tensor([1., 0., 3.]).to_sparse()\ns # {comment}"
    assert (failures(source) == []) is meets
    observed = trace(Program("a", "b", source, ""), TORCH).steps[1].result
    assert shown(observed) == SPARSE


def test_a_sparse_literal_needs_both_of_its_parts():
    with pytest.raises(MalformedExpectation, match="with indices= and values="):
        read_comment("tensor(indices=tensor([[0]]), size=(1,))")
