"""Slices: the statements of a program that its first difference may depend on."""

import pytest

from conformance.program.slices import slice_lines

SOURCE = """import torch
x = torch.ones(2)
y = torch.ones(3)
v = x[:1]
y.sum()  # tensor(3.)
v.add_(1)
w = y * 2
x.sum()  # tensor(3.)
"""


def shown(source: str, line: int, name: str | None = None) -> list[str]:
    return [source.split("\n")[number - 1] for number in sorted(slice_lines(source, line, name))]


def test_only_what_a_statement_depends_on_is_in_its_slice():
    assert slice_lines(SOURCE, 8) == {1, 2, 4, 6, 8}
    assert slice_lines(SOURCE, 7) == {1, 3, 7}


def test_name_that_differs_is_in_the_slice_with_its_own():
    source = "import torch\nx = torch.ones(2)\nd = x.detach()\ny = x * 2\nx.add_(1)\n"
    assert slice_lines(source, 5) == {1, 2, 5}
    assert slice_lines(source, 5, "d") == {1, 2, 3, 5}


@pytest.mark.parametrize(
    "acting",
    [
        "x.add_(1)",
        "h = x.register_hook(print)",
        "x.sum().backward()",
        "x[0] = 2",
        "x += 1",
        "x.grad = None",
        "torch.set_grad_enabled(False)",
        "m.eval() is m  # True",
        "for i in (1, 2): x.mul_(i)",
        "with torch.no_grad(): x.zero_()",
        "del x",
    ],
)
def test_statement_that_may_change_something_is_in_the_slice(acting):
    source = f"import torch\nx = m = torch.ones(2)\n{acting}\nx * 2\n"
    assert acting in shown(source, 4)


@pytest.mark.parametrize("shows", ["x.sum()  # tensor(2.)", "x.grad", "x is x", "z = x * 3"])
def test_statement_that_only_shows_or_binds_is_left_out(shows):
    assert slice_lines(f"import torch\nx = torch.ones(2)\n{shows}\nx * 2\n", 4) == {1, 2, 4}


def test_state_that_no_name_tells_takes_all_statements():
    source = "import torch\ny = torch.ones(2)\nx = torch.rand(1)\nx * 2\n"
    assert slice_lines(source, 4) == {1, 2, 3, 4}
    state = "import torch\ny = torch.ones(2)\ntorch.is_grad_enabled()\n"
    assert slice_lines(state, 3) == {1, 2, 3}


def test_definitions_are_whole_and_nested_lines_are_those_of_their_statement():
    source = "import torch\n@torch.no_grad()\ndef f(x):\n    return x\n\nx = torch.ones(1)\nf(x)\n"
    assert slice_lines(source, 7) == {1, 2, 3, 4, 6, 7}
    assert slice_lines(source, 4) == {1, 2, 3, 4}


def test_text_that_is_no_program_is_taken_up_to_its_line():
    assert slice_lines("x = (\n1\n", 2) == {1, 2}
    assert slice_lines("", 1) == {1}
