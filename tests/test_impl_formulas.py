"""impl's formulas: they refer to saved values by name, and run on arrays and on tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from made_operators import kept, leaf, scaled, scratch

import impl
from impl.core.registry import OPERATORS, array_ops, tensor_ops
from impl.dispatch.definition import Array, formula_operation, operator, written
from impl.tape.saved_variable import Versioned
from impl.tensor.tensor import Tensor

__all__ = ["scratch"]


def test_a_formula_saves_what_it_names_and_nothing_else():
    op = scaled()
    op.gradient(self=lambda F, grad, other: grad * other, other=lambda F, grad, self: grad * self)
    x, w = leaf(), leaf(4.0, 5.0, 6.0)
    assert set(kept(op(x, w, 1).grad_fn)) == {"self", "other"}
    # Each operand is needed only for the gradient of the other.
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
    assert seen.pop("F") is array_ops
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
    bare, written = w.detach(), leaf().detach().mul_(2)
    y = op(x, bare)
    saved = kept(y.grad_fn)
    # Only written memory has a version to save; the others were not written yet.
    assert saved["other"] is bare
    entry = kept(op(x, written).grad_fn)["other"]
    assert type(entry) is Versioned and entry.tensor is written and entry.version == 1
    assert saved["result"] is y._memory and saved["result"].buffer is y._raw
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
    """Formulas are checked when a graph is recorded, for each set of inputs that require grad."""
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

    tensor_ops.tripled = lambda value: value * 3
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


def test_a_formula_whose_gradient_nobody_wants_is_not_run():
    op = scaled()
    ran: list = []

    def formula(name):
        def made(F, grad):
            ran.append(name)
            return grad

        return made

    op.gradient(self=formula("self"), other=formula("other"))
    x, w = leaf(), leaf()
    y = op(x, w).sum()
    impl.autograd.grad(y, w, retain_graph=True)
    y.backward(inputs=[x], retain_graph=True)
    assert ran == ["other", "self"]
    y.backward()
    assert sorted(ran[2:]) == ["other", "self"]


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


def test_integers_are_refused_or_end_the_history():
    @operator(promote=None)
    def counted(self: Array) -> Array:
        return np.asarray(self).astype(np.int64)

    counted.gradient(self=lambda F, grad: grad)
    with pytest.raises(RuntimeError, match="Autograd not support dtype: Long"):
        counted(leaf())
    counted.ends_history = True
    assert not counted(leaf()).requires_grad


@pytest.mark.parametrize(
    "times, version", [(None, 0), (1, 1), (3, 3), (lambda arrived, made: 2, 2)]
)
def test_written_says_how_often_a_gradient_was_written(times, version):
    """It is the version of a `.grad` that steals the gradient."""
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

    cut_in_two.gradient(self=written(formula, lambda arrived, made: sum(arrived)))
    for used in (1, 2):
        x = leaf()
        sum(part.sum() for part in cut_in_two(x)[:used]).backward()
        assert x.grad._version == used
        assert x.grad.tolist() == [1.0, 1.0, float(used == 2)]


# -- saved tensors, as torch's --------------------------------------------------------------------

KEPT = {
    "mul": lambda n, x, w: x * w,
    "mul by a constant": lambda n, x, w: x * w.detach(),
    "add": lambda n, x, w: x + w,
    "div": lambda n, x, w: x / w,
    "div by a constant": lambda n, x, w: x / w.detach(),
    "div of a constant": lambda n, x, w: x.detach() / w,
    "pow": lambda n, x, w: x**2,
    "pow of tensors": lambda n, x, w: x**w,
    "pow by a constant tensor": lambda n, x, w: x ** w.detach(),
    "pow of a constant": lambda n, x, w: x.detach() ** w,
    "pow of a number": lambda n, x, w: 2.0**w,
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
    "maximum of a constant": lambda n, x, w: n.maximum(x.detach(), w),
    "atan2 by a constant": lambda n, x, w: n.atan2(x, w.detach()),
    "lerp": lambda n, x, w: n.lerp(x, w, 0.3),
    "lerp of tensors": lambda n, x, w: n.lerp(x, w.detach(), w.detach()),
    "addcmul": lambda n, x, w: n.addcmul(x, w, w),
    "addcmul of constants": lambda n, x, w: n.addcmul(x, w.detach(), w.detach()),
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
    """The names are the same; a node with fewer saved tensors frees memory and checks less."""
    made = []
    for n in (torch, impl):
        x = n.tensor([0.5, 1.5, 2.5, 3.5], requires_grad=True)
        w = n.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        made.append(saved_tensors(KEPT[name](n, x, w).grad_fn))
    assert made[0] == made[1]


def saved_tensors(node) -> dict[str, list]:
    """The tensors, and lists of tensors, that a node has saved."""
    found = {}
    for name in (n for n in dir(node) if n.startswith("_saved_")):
        value = getattr(node, name)
        if isinstance(value, (torch.Tensor, Tensor)):
            found[name] = [round(v, 5) for v in value.flatten().tolist()]
    return found
