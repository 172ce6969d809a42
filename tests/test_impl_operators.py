"""impl's operator definitions: the public functions made from a kernel, operands, results."""

from __future__ import annotations

import inspect
from itertools import pairwise

import numpy as np
import pytest
import torch
from made_operators import kept, leaf, scaled, scratch

import impl
from impl.core.registry import FUNCTIONS, OPERATORS, array_ops, tensor_ops
from impl.dispatch.definition import Array, alias, function, operator
from impl.dispatch.operator_node import OperatorNode
from impl.tape.saved_variable import SavedVariable
from impl.tensor.tensor import Tensor

__all__ = ["scratch"]


def test_nothing_but_a_function_and_a_method_is_made_unasked():
    op = scaled()
    assert FUNCTIONS["scaled"](impl.ones(2), 3, 1).tolist() == [4.0, 4.0]
    assert impl.ones(2).scaled(3, 1).tolist() == [4.0, 4.0]
    assert array_ops.scaled(np.ones(2), 3, 1).tolist() == [4.0, 4.0]
    assert tensor_ops.scaled(impl.ones(2), 3, 1).tolist() == [4.0, 4.0]
    assert OPERATORS["scaled"] is op
    assert "scaled_" not in FUNCTIONS and not hasattr(Tensor, "scaled_")
    with pytest.raises(TypeError, match="out"):
        FUNCTIONS["scaled"](impl.ones(2), 3, 1, out=impl.ones(2))


def test_a_hidden_operator_is_for_formulas_only():
    scaled(function=False, method=False, inplace=True)
    assert "scaled" not in FUNCTIONS and not hasattr(Tensor, "scaled")
    assert "scaled_" not in FUNCTIONS
    assert tensor_ops.scaled(impl.ones(2), 3).tolist() == [3.0, 3.0]


def test_the_in_place_form_writes_counts_and_records():
    scaled(inplace=True).gradient(self=lambda F, grad, other: grad * other)
    x = leaf()
    y = x * 1
    assert FUNCTIONS["scaled_"](y, 3, 1) is y
    assert y.scaled_(2) is y
    assert y.tolist() == [8.0, 14.0, 20.0]
    assert y._version == 2
    assert y.grad_fn.name() == "ScaledBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [6.0] * 3
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.scaled_(2)


def test_what_an_in_place_formula_needs_is_saved_before_the_write():
    scaled(inplace=True).gradient(
        self=lambda F, grad, other: grad * other, other=lambda F, grad, self: grad * self
    )
    x, w = leaf(), leaf(4.0, 5.0, 6.0)
    y = x * 1
    y.scaled_(w)
    y.sum().backward()
    assert w.grad.tolist() == [1.0, 2.0, 3.0]


def test_the_out_form_writes_and_records_nothing():
    scaled(out=True).gradient(self=lambda F, grad, other: grad * other)
    out = impl.zeros(3)
    call = FUNCTIONS["scaled"]
    assert call(leaf().detach(), 2, 1, out=out) is out
    assert (out.tolist(), out._version, out.grad_fn) == ([3.0, 5.0, 7.0], 1, None)
    with pytest.raises(RuntimeError, match=r"scaled\(\): functions with out=... arguments don't"):
        call(leaf(), 2, out=out)
    with pytest.raises(TypeError, match=r"scaled\(\): argument 'out' .* not list"):
        call(impl.ones(3), 2, out=[])


def test_a_spelling_has_the_kernels_signature_and_docstring():
    @operator(inplace=True, out=True)
    def limited(self: Array, low, *, high=5.0) -> Array:
        """Limited from both sides."""
        return np.clip(self, low, high)

    made = FUNCTIONS["limited"]
    assert str(inspect.signature(made)) == "(input, low, *, high=5.0, out=None)"
    assert str(inspect.signature(FUNCTIONS["limited_"])) == "(input, low, *, high=5.0)"
    assert made.__doc__ == "Limited from both sides." and made.__name__ == "limited"
    x = impl.tensor([1.0, 4.0, 9.0])
    assert x.limited(2).tolist() == made(input=x, low=2, high=5.0).tolist() == [2.0, 4.0, 5.0]
    assert x.limited(2, high=3).tolist() == [2.0, 3.0, 3.0]
    with pytest.raises(TypeError):
        x.limited(2, 3)


def test_other_names_are_the_same_function_and_writes_show_theirs():
    scaled(inplace=True)
    alias("scaled", "stretched")
    assert FUNCTIONS["stretched"] is FUNCTIONS["scaled"]
    assert FUNCTIONS["stretched_"].__wrapped__ is FUNCTIONS["scaled_"]
    assert impl.ones(1).stretched_(4).item() == 4
    captured = impl.ones(1)
    with pytest.raises(RuntimeError, match=r"aten::stretched_\)"):
        impl.func.grad(lambda x: (captured.stretched_(4), x.sum())[1])(impl.ones(1))


def test_a_composite_records_the_operators_it_is_written_with():
    @function("doubled")
    def doubled_(input):
        return input.exp() + 1

    @function("hidden", torch=False)
    def hidden(input):
        return input

    assert leaf().doubled().grad_fn.name() == "AddBackward0"
    assert FUNCTIONS["doubled"] is doubled_ is Tensor.doubled
    assert "hidden" not in FUNCTIONS and Tensor.hidden is hidden


def test_a_node_is_named_after_its_operator_or_as_told():
    scaled().gradient(self=lambda F, grad: grad)
    assert leaf().scaled(1).grad_fn.name() == "ScaledBackward0"
    scaled_again = operator(node="RescaleBackward7", function=False)(_named_kernel("twice_over"))
    scaled_again.gradient(self=lambda F, grad: grad)
    assert leaf().twice_over().grad_fn.name() == "RescaleBackward7"
    assert isinstance(leaf().twice_over().grad_fn, OperatorNode)
    plain = operator(function=False)(_named_kernel("twice_more"))
    plain.gradient(self=lambda F, grad: grad)
    assert leaf().twice_more().grad_fn.name() == "TwiceMoreBackward0"


def _named_kernel(name: str):
    def made(self: Array) -> Array:
        return self * 2

    made.__name__ = name
    return made


# -- operands --------------------------------------------------------------------------------------


def test_what_is_no_tensor_is_refused_where_a_tensor_is_needed():
    scaled()
    operator()(_named_kernel("lonely"))
    call = FUNCTIONS["scaled"]
    with pytest.raises(TypeError, match=r"scaled\(\): argument 'other' \(position 2\) .* not str"):
        call(impl.ones(2), "three")
    with pytest.raises(TypeError, match=r"lonely\(\): argument 'input' \(position 1\) .* not int"):
        FUNCTIONS["lonely"](3)
    assert call(2, impl.ones(2)).tolist() == [2.0, 2.0]


def test_numbers_can_be_refused_next_to_tensors():
    scaled(numbers=False)
    with pytest.raises(TypeError, match=r"argument 'other' .* must be Tensor, not float"):
        FUNCTIONS["scaled"](impl.ones(2), 3.0)


def test_an_optional_tensor_may_be_left_out():
    @operator()
    def shifted(self: Array, by: Array | None = None) -> Array:
        return self + 1 if by is None else self + by

    shifted.gradient(self=lambda F, grad: grad, by=lambda F, grad: grad)
    x, b = leaf(), leaf(1.0, 1.0, 1.0)
    alone = FUNCTIONS["shifted"](x)
    assert alone.grad_fn.next_functions[1] == (None, 0)
    (alone + FUNCTIONS["shifted"](x, b)).sum().backward()
    assert (x.grad.tolist(), b.grad.tolist()) == ([2.0] * 3, [1.0] * 3)


@pytest.mark.parametrize(
    "promote, expected", [(None, "int16"), ("arithmetic", "int32"), ("float", "float32")]
)
def test_operands_are_promoted_as_asked(promote, expected):
    seen: list = []

    @operator(promote=promote)
    def noted(self: Array, other: Array) -> Array:
        seen.append((self.dtype.name, other.dtype.name))
        return np.asarray(self) + np.asarray(0, self.dtype)

    y = FUNCTIONS["noted"](impl.ones(2, dtype=impl.int16), impl.ones(2, dtype=impl.int32))
    assert str(y.dtype) == f"torch.{expected}"
    assert seen == [("int16", "int32") if promote is None else (expected, expected)]


def test_shapes_that_do_not_broadcast_are_refused_in_torchs_words():
    scaled(promote="arithmetic", elementwise=True)
    errors = []
    for call, ones in ((FUNCTIONS["scaled"], impl.ones), (torch.mul, torch.ones)):
        with pytest.raises(RuntimeError) as caught:
            call(ones(2, 3), ones(2, 4))
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_arguments_can_be_checked_before_they_are_promoted():
    op = scaled(promote="float", inplace=True)

    @op.checked
    def _(self, other, amount):
        if self.dtype.kind == "i":
            raise RuntimeError("no integers")

    with pytest.raises(RuntimeError, match="no integers"):
        FUNCTIONS["scaled"](impl.ones(2, dtype=impl.int32), 2.0)
    assert FUNCTIONS["scaled"](impl.ones(2), 2.0).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("elementwise", [True, False])
def test_only_elementwise_results_follow_their_operands_layout(elementwise):
    scaled(elementwise=elementwise)
    x = impl.ones(2, 3).t()
    assert x.scaled(2).stride() == ((1, 3) if elementwise else (2, 1))


# -- several outputs, and lists --------------------------------------------------------------------


def test_outputs_have_numbers_and_gradients_of_their_own():
    @operator(outputs=("total", "place", "rest"))
    def parted(self: Array):
        return self.sum(), np.argmax(self), self * 2

    parted.differentiable("total", "rest")

    def formula(F, grad_total, grad_rest, self, rest):
        result = 0 * self
        if grad_total is not None:
            result = result + grad_total
        return result if grad_rest is None else result + grad_rest * 2

    parted.gradient(self=formula)
    x = leaf()
    total, place, rest = FUNCTIONS["parted"](x)
    assert [t.requires_grad for t in (total, place, rest)] == [True, False, True]
    assert total.grad_fn is rest.grad_fn and (total.output_nr, rest.output_nr) == (0, 1)
    impl.autograd.backward([total], retain_graph=True)
    assert x.grad.tolist() == [1.0] * 3
    impl.autograd.backward([total, rest.sum()])
    assert x.grad.tolist() == [4.0] * 3
    # Freed with its node: a saved output keeps no history.
    assert kept_names(parted) == {"self", "rest"}


def kept_names(op) -> set[str]:
    return {n for n in op.plan(1).names if not n.startswith("grad")}


def test_a_list_of_tensors_has_an_edge_for_each():
    @operator()
    def strung_together(tensors: list[Array], gap=0) -> Array:
        return np.concatenate(tensors) + gap

    def formula(F, grad, tensors_shape, tensors_dtype, gap):
        assert len(tensors_shape) == len(tensors_dtype) == 3
        ends = np.cumsum([0] + [n for (n,) in tensors_shape])
        return [grad[a:b] * 1 for a, b in pairwise(ends)]

    strung_together.gradient(tensors=formula)
    a, b, c = leaf(), leaf(4.0), leaf(5.0, 6.0)
    y = FUNCTIONS["strung_together"]([a, b.detach(), c], 1)
    assert y.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    edges = y.grad_fn.next_functions
    assert [node and node.variable for node, _ in edges] == [a, None, c]
    (y * impl.arange(6.0)).sum().backward()
    assert (a.grad.tolist(), b.grad, c.grad.tolist()) == ([0.0, 1.0, 2.0], None, [4.0, 5.0])
    assert not FUNCTIONS["strung_together"]([b.detach()]).requires_grad


def test_a_saved_list_is_checked_for_writes():
    @operator()
    def multiplied(tensors: list[Array]) -> Array:
        return np.prod(np.stack(tensors), 0)

    multiplied.gradient(tensors=lambda F, grad, tensors: [grad * tensors[1], grad * tensors[0]])
    a, b = leaf(), leaf(4.0, 5.0, 6.0).detach()
    y = FUNCTIONS["multiplied"]([a, b])
    assert [type(s) for s in kept(y.grad_fn)["tensors"]] == [SavedVariable] * 2
    y.sum().backward()
    assert a.grad.tolist() == [4.0, 5.0, 6.0]
    y = FUNCTIONS["multiplied"]([a, b])
    b.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
