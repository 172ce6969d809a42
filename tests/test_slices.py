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


@pytest.mark.parametrize(
    "stated", ["3", '"a"', "Parameter containing: tensor([1.], requires_grad=True)"]
)
def test_statement_whose_comment_states_any_value_only_shows(stated):
    source = f"import torch\nx = torch.ones(2)\nf(x)  # {stated}\nx * 2\n"
    assert slice_lines(source, 4) == {1, 2, 4}


def test_comment_in_prose_states_nothing():
    assert 3 in slice_lines("import torch\nx = torch.ones(2)\nf(x)  # fills x\nx * 2\n", 4)


def test_statement_does_not_need_the_former_value_of_a_name_that_it_binds():
    source = "import torch\nx = torch.ones(2)\ny = x.double()\ny = x * 2\ny = y * 2\n"
    assert slice_lines(source, 4, "y") == {1, 2, 4}
    assert slice_lines(source, 5, "y") == {1, 2, 3, 4, 5}


def test_gradient_of_roots_made_of_leaves_on_the_spot_changes_nothing():
    source = (
        "import torch\nx = torch.ones(2)\nh = x.exp()\n"
        "torch.autograd.grad((x * x).sum(), x)\n{}\nh.sum()\n"
    )
    assert 4 not in slice_lines(source.format("pass"), 6)
    frees = source.replace("(x * x).sum()", "h.sum()")
    assert 4 in slice_lines(frees.format("pass"), 6)
    assert 4 in slice_lines(source.format("x.register_hook(seen.append)"), 6)


def test_transform_that_is_named_as_the_function_that_frees_a_graph_has_no_effect():
    source = "import torch\nx = torch.ones(2)\n{}(x.sum(), x)  # raises TypeError\nx.sum()\n"
    assert slice_lines(source.format("torch.func.grad"), 4) == {1, 2, 4}
    assert slice_lines(source.format("x.register_hook(f); torch.autograd.grad"), 4) == {1, 2, 3, 4}


def test_formula_of_a_function_is_left_out_where_no_pass_runs_it():
    source = (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x):\n        return x * 2\n    @staticmethod\n"
        "    def backward(ctx, g):\n        return g\nx = torch.ones(2)\ny = F.apply(x)\n"
        "y.sum().backward()\n"
    )
    assert slice_lines(source, 10) == {1, 2, 3, 4, 5, 9, 10}
    assert slice_lines(source, 11) == set(range(1, 12))
    assert 7 in slice_lines(source.replace("def forward", "def first"), 10)


def test_choice_of_warnings_that_are_shown_is_left_out():
    source = 'import torch\nimport warnings\nwarnings.simplefilter("ignore")\nx = torch.ones(2)\n'
    assert slice_lines(source, 4) == {1, 4}


def test_gradient_that_is_written_to_an_object_is_in_the_slice():
    source = "import torch\nw = torch.ones(2)\nx = torch.ones(2)\n{}\n{}\n"
    given = "x.grad = torch.autograd.grad((w * w).sum(), w)[0]"
    assert 4 in slice_lines(source.format(given, "x.grad"), 5)
    assert 4 in slice_lines(source.format(given.replace(".grad =", "[0] ="), "x"), 5)


def test_gradient_of_a_root_that_was_written_frees_its_graph():
    source = (
        "import torch\nx = torch.ones(2)\nh = torch.zeros(2)\nh.add_(x.exp())\n"
        "torch.autograd.grad(h.sum(), x)\nh.sum().backward()\n"
    )
    assert slice_lines(source, 6) == {1, 2, 3, 4, 5, 6}
