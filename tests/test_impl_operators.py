"""impl's definition language: what is made from a kernel, its formulas and its geometry."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import impl
from impl.derivatives import OperatorNode
from impl.graph import SavedTensor
from impl.operator import (
    FUNCTIONS,
    OPERATORS,
    RAW,
    TAPED,
    Array,
    alias,
    formula_operation,
    function,
    operator,
    written,
)
from impl.tensor import Tensor
from impl.views import Geometry, view


@pytest.fixture(autouse=True)
def scratch() -> Iterator[None]:
    """What a test defines is gone after it."""
    tables = [FUNCTIONS, OPERATORS, vars(RAW), vars(TAPED)]
    before = [dict(t) for t in tables]
    methods = set(vars(Tensor))
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
    for name in set(vars(Tensor)) - methods:
        delattr(Tensor, name)


def leaf(*values: float) -> Any:
    return impl.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


def kept(node) -> dict[str, Any]:
    """What a node has saved, tensors and other values, by the names of its formulas."""
    return {
        name: value
        for name, value, (kind, _) in zip(node.plan.names, node.saved, node.plan.reads, strict=True)
        if not name.startswith("grad") and name != "needs"
    }


def scaled(**settings):
    """An operator with a tensor, a second one, and a number: self * other + amount."""

    @operator(**settings)
    def scaled(self: Array, other: Array, amount=0) -> Array:
        """self * other + amount."""
        return self * other + amount

    return scaled


# -- formulas and what is saved ---------------------------------------------------------------


def test_a_formula_saves_what_it_names_and_nothing_else():
    op = scaled()
    op.gradient(self=lambda F, grad, other: grad * other, other=lambda F, grad, self: grad * self)
    x, w = leaf(), leaf(4.0, 5.0, 6.0)
    assert set(kept(op(x, w, 1).grad_fn)) == {"self", "other"}
    # Each is needed by the other's formula only.
    assert set(kept(op(x, w.detach(), 1).grad_fn)) == {"other"}
    assert set(kept(op(x.detach(), w, 1).grad_fn)) == {"self"}
    op(x, w, 1).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([4.0, 5.0, 6.0], [1.0, 2.0, 3.0])


def test_every_kind_of_parameter_of_a_formula():
    op = scaled()
    seen: dict = {}

    def formula(F, grad, self, result, amount, other_shape, other_dtype, self_layout, needs):
        seen.update(locals())
        return grad

    op.gradient(self=formula, other=lambda F, grad: grad)
    x, w = leaf(), impl.tensor([[2.0], [3.0]])
    y = op(x, w, 7)
    y.backward(impl.ones(2, 3))
    assert seen.pop("F") is RAW
    assert seen["grad"].tolist() == [[1.0] * 3] * 2
    assert seen["self"].tolist() == [1.0, 2.0, 3.0]
    assert seen["result"].tolist() == y.tolist()
    assert seen["amount"] == 7
    assert (seen["other_shape"], seen["other_dtype"]) == ((2, 1), np.float32)
    assert seen["self_layout"] == ((3,), (1,), 0)
    assert seen["needs"] == (True, False)
    # Broadcast dimensions are summed by the engine.
    assert x.grad.tolist() == [2.0] * 3


def test_a_saved_input_is_the_tensor_and_a_saved_output_has_no_history():
    op = scaled()
    op.gradient(self=lambda F, grad, other, result: grad * other)
    x, w = leaf(), leaf()
    y = op(x, w.detach())
    saved = kept(y.grad_fn)
    assert {type(v) for v in saved.values()} == {SavedTensor}
    assert saved["other"].tensor is not None
    assert saved["result"].tensor is None and saved["result"].raw is y._raw
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    assert y.grad_fn._saved_result is not y
    with pytest.raises(AttributeError, match="_saved_self"):
        y.grad_fn._saved_self  # noqa: B018


def test_a_number_is_saved_as_it_is():
    op = scaled()
    op.gradient(self=lambda F, grad, other, amount: grad * other)
    y = op(leaf(), 3, 4)
    assert kept(y.grad_fn) == {"other": 3, "amount": 4}


def test_an_output_that_is_saved_is_checked_and_an_input_that_is_not_may_change():
    op = scaled(inplace=True)
    op.gradient(self=lambda F, grad, other: grad * other)
    x = leaf()
    y, w = x * 1, impl.ones(3)
    z = op(y, w)
    y.zero_()  # not saved
    z.sum().backward()
    assert x.grad.tolist() == [1.0] * 3
    z = op(x, w)
    w.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_unknown_names_are_errors():
    op = scaled()
    with pytest.raises(ValueError, match="scaled has no input named weight"):
        op.gradient(weight=lambda F, grad: grad)
    op.gradient(self=lambda F, grad, weights: grad)
    with pytest.raises(ValueError, match="scaled: a formula needs weights, which is nothing known"):
        op.plan(1)


def test_every_formula_of_every_operator_names_what_there_is():
    """Names are looked up when a graph is recorded, for each set of inputs that require grad."""
    assert len(OPERATORS) > 300
    wrong = {}
    for name, op in OPERATORS.items():
        edges = len(op.edge_of)
        for mask in {*(1 << e for e in range(edges)), (1 << edges) - 1} - {0}:
            try:
                assert op.plan(mask).formulas, f"no formula for {mask:b}"
            except (ValueError, AssertionError) as error:
                wrong[name] = str(error)
    assert not wrong


def test_a_formula_of_several_inputs_gives_several_gradients():
    op = scaled()
    calls: list = []

    @op.gradients("self", "other")
    def _(F, grad, self, other, needs):
        calls.append(needs)
        return (grad * other if needs[0] else None, grad * self if needs[1] else None)

    x, w = leaf(), leaf(4.0, 5.0, 6.0)
    op(x, w).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([4.0, 5.0, 6.0], [1.0, 2.0, 3.0])
    op(x, w.detach()).sum().backward()
    assert calls == [(True, True), (True, False)]
    assert x.grad.tolist() == [8.0, 10.0, 12.0]


def test_one_formula_is_run_on_arrays_and_on_tensors():
    @formula_operation
    def tripled(value):
        return value * 3

    TAPED.tripled = lambda value: value * 3
    op = scaled()
    kinds: list = []

    def formula(F, grad, self):
        kinds.append((F.records, type(self), type(grad)))
        return F.tripled(grad) * self

    op.gradient(self=formula)
    x = leaf()
    (first,) = impl.autograd.grad(op(x, x.detach()).sum(), x, create_graph=True)
    (second,) = impl.autograd.grad(first.sum(), x)
    impl.autograd.grad(op(x, x.detach()).sum(), x)
    assert kinds == [(True, Tensor, Tensor), (False, np.ndarray, np.ndarray)]
    assert (first.tolist(), second.tolist()) == ([3.0, 6.0, 9.0], [3.0] * 3)


def test_an_operation_of_formulas_has_one_meaning():
    formula_operation(_named("unheard_of"))
    with pytest.raises(ValueError, match="unheard_of is defined already"):
        formula_operation(_named("unheard_of"))


def _named(name: str):
    def made(value):
        return value

    made.__name__ = name
    return made


def test_without_a_formula_nothing_is_recorded():
    y = scaled()(leaf(), leaf())
    assert not y.requires_grad and y.grad_fn is None


def test_integers_are_never_recorded():
    @operator(promote=None)
    def counted(self: Array) -> Array:
        return np.asarray(self).astype(np.int64)

    counted.gradient(self=lambda F, grad: grad)
    assert not counted(leaf()).requires_grad


@pytest.mark.parametrize("times, version", [(None, 0), (1, 1), (3, 3), (lambda arrived: 2, 2)])
def test_written_says_how_often_a_gradient_was_written(times, version):
    """It shows as the version of a `.grad` that takes the gradient's memory over."""
    op = scaled()
    formula = lambda F, grad, other: grad * other  # noqa: E731
    op.gradient(self=formula if times is None else written(formula, times))
    x = leaf()
    op(x, leaf().detach()).sum().backward()
    assert x.grad._version == version


def test_written_may_depend_on_the_gradients_that_arrived():
    @operator(outputs=("low", "high"))
    def cut_in_two(self: Array):
        return self[:2].copy(), self[2:].copy()

    def formula(F, grads, self_shape):
        whole = np.zeros(self_shape, np.float32)
        for grad, part in zip(grads, (whole[:2], whole[2:]), strict=True):
            if grad is not None:
                part[...] = grad
        return whole

    cut_in_two.gradient(self=written(formula, lambda arrived: sum(arrived)))
    for used in (1, 2):
        x = leaf()
        sum(part.sum() for part in cut_in_two(x)[:used]).backward()
        assert x.grad._version == used
        assert x.grad.tolist() == [1.0, 1.0, float(used == 2)]


# -- spellings --------------------------------------------------------------------------------


def test_nothing_but_a_function_and_a_method_is_made_unasked():
    op = scaled()
    assert FUNCTIONS["scaled"](impl.ones(2), 3, 1).tolist() == [4.0, 4.0]
    assert impl.ones(2).scaled(3, 1).tolist() == [4.0, 4.0]
    assert RAW.scaled(np.ones(2), 3, 1).tolist() == [4.0, 4.0]
    assert TAPED.scaled(impl.ones(2), 3, 1).tolist() == [4.0, 4.0]
    assert OPERATORS["scaled"] is op
    assert "scaled_" not in FUNCTIONS and not hasattr(Tensor, "scaled_")
    with pytest.raises(TypeError, match="out"):
        FUNCTIONS["scaled"](impl.ones(2), 3, 1, out=impl.ones(2))


def test_a_hidden_operator_is_for_formulas_only():
    scaled(function=False, method=False, inplace=True)
    assert "scaled" not in FUNCTIONS and not hasattr(Tensor, "scaled")
    assert "scaled_" not in FUNCTIONS
    assert TAPED.scaled(impl.ones(2), 3).tolist() == [3.0, 3.0]


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


def test_other_names_are_the_same_function():
    scaled(inplace=True)
    alias("scaled", "stretched")
    assert FUNCTIONS["stretched"] is FUNCTIONS["scaled"]
    assert FUNCTIONS["stretched_"] is FUNCTIONS["scaled_"]
    assert impl.ones(1).stretched_(4).item() == 4


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


# -- operands ---------------------------------------------------------------------------------


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
    with pytest.raises(TypeError, match="argument 'other' .* must be Tensor, not float"):
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


# -- several outputs, and lists ---------------------------------------------------------------


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
    # Freed with its node, as a saved output keeps no history.
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
        return [grad[a:b] * 1 for a, b in zip(ends, ends[1:], strict=False)]

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
    assert [type(s) for s in kept(y.grad_fn)["tensors"]] == [SavedTensor] * 2
    y.sum().backward()
    assert a.grad.tolist() == [4.0, 5.0, 6.0]
    y = FUNCTIONS["multiplied"]([a, b])
    b.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# -- views ------------------------------------------------------------------------------------


def every_second(**settings):
    @view(**settings)
    def every_second(self: Geometry, start=0) -> Geometry:
        """Every second element of a vector."""
        (size,), (stride,) = self.shape, self.strides
        count = max((size - start + 1) // 2, 0)
        return Geometry((count,), (2 * stride,), self.offset + start * stride)

    return every_second


def test_a_geometry_makes_the_view_of_a_tensor_and_of_an_array():
    every_second()
    x = impl.arange(6.0)
    v = x.every_second(1)
    assert (v.tolist(), v.stride(), v.storage_offset()) == ([1.0, 3.0, 5.0], (2,), 1)
    assert v._is_view() and v._base is x
    v.every_second().zero_()
    assert x.tolist() == [0.0, 0.0, 2.0, 3.0, 4.0, 0.0] and x._version == v._version == 1
    array = np.arange(6.0)
    part = RAW.every_second(array, 1)
    assert part.tolist() == [1.0, 3.0, 5.0] and np.shares_memory(part, array)
    assert FUNCTIONS["every_second"].__doc__ == "Every second element of a vector."


def test_a_view_differentiates_by_its_formula_and_once_written_by_its_geometry():
    every_second().gradient(
        self=lambda F, grad, self_shape, start: F.tripled_spread(grad, self_shape, start)
    )

    @formula_operation
    def tripled_spread(grad, shape, start):
        whole = np.zeros(shape, grad.dtype)
        whole[start::2] = 3 * grad  # not the derivative, so that it can be told from as_strided's
        return whole

    x = leaf()
    v = x.every_second(1)
    assert v.grad_fn.name() == "EverySecondBackward0"
    v.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0, 0.0]
    y = x * 1
    v = y.every_second(1)
    y.mul_(5)
    assert v.grad_fn.name() == "AsStridedBackward0"
    x.grad = None
    v.sum().backward()
    assert x.grad.tolist() == [0.0, 5.0, 0.0]


def test_several_views_are_one_node_and_must_not_be_written():
    @view(node="OddEvenBackward0", multiple=True)
    def odd_even(self: Geometry) -> list[Geometry]:
        (size,), (stride,) = self.shape, self.strides
        return [
            Geometry(((size + 1 - s) // 2,), (2 * stride,), self.offset + s * stride)
            for s in (0, 1)
        ]

    odd_even.gradient(self=lambda F, grads, self_shape: np.full(self_shape, 2, np.float32))
    x = leaf()
    even, odd = x.odd_even()
    assert even.grad_fn is odd.grad_fn and (even.output_nr, odd.output_nr) == (0, 1)
    assert (even.tolist(), odd.tolist()) == ([1.0, 3.0], [2.0])
    with pytest.raises(RuntimeError, match="Output 1 of OddEven is a view and is being modified"):
        (x * 1).odd_even()[1].mul_(2)
    odd.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_view_in_place_changes_the_geometry_of_the_tensor_itself():
    every_second(inplace=True, inplace_node="EverySecondBackward1").gradient(
        self=lambda F, grad, self_shape, start: np.repeat(grad, 2)[: self_shape[0]]
    )
    x = impl.arange(5.0)
    alias_of = x.detach()
    assert x.every_second_() is x
    assert (x.tolist(), x._version, x._is_view()) == ([0.0, 2.0, 4.0], 1, False)
    assert alias_of.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    y = leaf() * 1
    y.every_second_()
    assert y.grad_fn.name() == "EverySecondBackward1"
    assert "every_second_" not in FUNCTIONS


GEOMETRIES = {
    "transpose": lambda n, x: n.transpose(x, 0, -1),
    "permute": lambda n, x: n.permute(x, tuple(reversed(range(x.ndim)))),
    "unsqueeze": lambda n, x: n.unsqueeze(x, -1),
    "select": lambda n, x: n.select(x, 0, 1),
    "narrow": lambda n, x: n.narrow(x, -1, 1, 1),
    "diagonal": lambda n, x: n.diagonal(x, 0, 0, 1),
    "unfold": lambda n, x: x.unfold(0, 2, 1),
    "expand": lambda n, x: x.expand(3, *x.shape),
    "squeeze": lambda n, x: n.squeeze(x[:1], 0),
    "slice": lambda n, x: x[1:, ::2],
    "view_as_strided": lambda n, x: n.as_strided(x, (2, 2), (1, 2), 1),
}


@pytest.mark.parametrize("name", GEOMETRIES)
@settings(derandomize=True, max_examples=25, deadline=None)
@given(
    shape=st.lists(st.integers(3, 4), min_size=2, max_size=3),
    order=st.randoms(use_true_random=False),
)
def test_a_view_of_any_tensor_is_torchs(name, shape, order):
    """Of permuted tensors as well: shape, strides, offset and elements."""
    dims = list(range(len(shape)))
    order.shuffle(dims)
    made = []
    for n in (torch, impl):
        base = n.arange(float(np.prod(shape))).view(*shape)
        v = GEOMETRIES[name](n, base.permute(*dims))
        made.append((tuple(v.shape), v.stride(), v.storage_offset(), v.tolist()))
        assert v._base is base._base
    assert made[0] == made[1]


# -- what torch keeps -------------------------------------------------------------------------

KEPT = {
    "mul": lambda n, x, w: x * w,
    "mul by a constant": lambda n, x, w: x * w.detach(),
    "add": lambda n, x, w: x + w,
    "div": lambda n, x, w: x / w,
    "div by a constant": lambda n, x, w: x / w.detach(),
    "div of a constant": lambda n, x, w: x.detach() / w,
    "pow": lambda n, x, w: x**2,
    "pow of tensors": lambda n, x, w: x**w,
    "exp": lambda n, x, w: x.exp(),
    "log": lambda n, x, w: x.log(),
    "sin": lambda n, x, w: x.sin(),
    "tanh": lambda n, x, w: x.tanh(),
    "sigmoid": lambda n, x, w: x.sigmoid(),
    "relu": lambda n, x, w: x.relu(),
    "abs": lambda n, x, w: x.abs(),
    "neg": lambda n, x, w: -x,
    "sqrt": lambda n, x, w: x.sqrt(),
    "clamp": lambda n, x, w: x.clamp(1, 2),
    "maximum": lambda n, x, w: n.maximum(x, w),
    "where": lambda n, x, w: n.where(x > 1, x, w),
    "lerp": lambda n, x, w: n.lerp(x, w, 0.3),
    "addcmul": lambda n, x, w: n.addcmul(x, w, w),
    "sum": lambda n, x, w: x.sum(),
    "mean": lambda n, x, w: x.mean(0),
    "prod": lambda n, x, w: x.prod(),
    "var": lambda n, x, w: x.var(),
    "amax": lambda n, x, w: x.amax(0),
    "max": lambda n, x, w: x.max(0)[0],
    "sort": lambda n, x, w: x.sort()[0],
    "cumsum": lambda n, x, w: x.cumsum(0),
    "cumprod": lambda n, x, w: x.cumprod(0),
    "softmax": lambda n, x, w: x.softmax(0),
    "logsumexp": lambda n, x, w: x.logsumexp(0),
    "dot": lambda n, x, w: x.dot(w),
    "mm": lambda n, x, w: x.view(1, 4).mm(w.view(4, 1)),
    "mm by a constant": lambda n, x, w: x.view(1, 4).mm(w.detach().view(4, 1)),
    "cat": lambda n, x, w: n.cat([x, w]),
    "gather": lambda n, x, w: x.gather(0, n.tensor([1, 2])),
    "index": lambda n, x, w: x[n.tensor([0, 2])],
    "masked_fill": lambda n, x, w: x.masked_fill(x > 1, 0.0),
    "mul_": lambda n, x, w: (x * 1).mul_(w),
    "exp_": lambda n, x, w: (x * 1).exp_(),
    "mse_loss": lambda n, x, w: n.nn.functional.mse_loss(x, w),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_node_keeps_the_tensors_that_torchs_keeps(name):
    """Under the same names; what keeps less frees memory sooner and checks fewer writes."""
    made = []
    for n in (torch, impl):
        x = n.tensor([0.5, 1.5, 2.5, 3.5], requires_grad=True)
        w = n.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        made.append(saved_tensors(KEPT[name](n, x, w).grad_fn))
    assert made[0] == made[1]


def saved_tensors(node) -> dict[str, list]:
    """The tensors, and lists of tensors, that a node has saved."""
    if isinstance(node, OperatorNode):
        names = [f"_saved_{n}" for n in node.plan.names if n in kept(node)]
    else:
        names = [n for n in dir(node) if n.startswith("_saved_")]
    found = {}
    for name in names:
        value = getattr(node, name)
        if isinstance(value, (torch.Tensor, Tensor)):
            found[name] = [round(v, 5) for v in value.flatten().tolist()]
    return found
