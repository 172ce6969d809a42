"""impl's forward mode: tangents against gradients, levels, and zero tangents."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from made_operators import scratch

import impl
from conformance.backends import find
from conformance.execution.execute import trace
from conformance.samples import OPERATORS as TABLE
from conformance.samples.forward import forward_programs_of
from conformance.samples.variants import programs_of
from impl.autograd import forward_ad as fw
from impl.core.registry import OPERATORS
from impl.dispatch import forward_rules
from impl.dispatch.definition import Array, operator

__all__ = ["scratch"]


@pytest.fixture(autouse=True)
def level():
    with fw.dual_level():
        yield


def tangent(tensor):
    return fw.unpack_dual(tensor).tangent


# -- every operator ---------------------------------------------------------------------------

_FORWARD = {
    p.operator: p for entry in TABLE for p in forward_programs_of(entry) if "/plain/" in p.id
}
_BACKWARD = {
    p.operator: p for e in TABLE for p in programs_of(e) if p.id.endswith("/plain/float32")
}


def last_seen(program):
    """The last observation of every name of a program, and the error that ended it, if any."""
    with_impl = trace(program, find("impl"))
    seen: dict = {}
    for step in with_impl.steps:
        seen.update(step.changed)
    return seen, [step.error for step in with_impl.steps if step.error]


@pytest.mark.parametrize("name", sorted(_FORWARD))
def test_the_tangent_is_the_transpose_of_the_gradient(name):
    fw.exit_dual_level()
    try:
        backward, refused = last_seen(_BACKWARD[name])
        forward, errors = last_seen(_FORWARD[name])
    finally:
        fw.enter_dual_level()
    given = {g.name: np.array(g.values, float) for g in _FORWARD[name].givens}
    outputs = [n for n in forward if n.endswith("_t") and n not in given]
    unsupported = any("Trying to use forward AD" in error["message"] for error in errors)
    if refused or unsupported:  # operators without gradients have no tangents
        assert not outputs
        return
    seeds = [g.values for g in _BACKWARD[name].givens if g.name in ("v", "w", "u")]
    pushed = sum(
        np.dot(seed, forward[output]["values"]) for seed, output in zip(seeds, outputs, strict=True)
    )
    pulled = sum(
        np.dot(given[f"{n}_t"], seen["grad"]["values"])
        for n, seen in backward.items()
        if f"{n}_t" in given and seen["grad"] is not None
    )
    assert outputs
    assert pushed == pytest.approx(pulled, rel=1e-4, abs=1e-4)


def test_every_operator_with_a_gradient_has_a_rule():
    for op in OPERATORS.values():
        if op.formulas:
            assert callable(forward_rules.rule_of(op))


# -- the general rule -------------------------------------------------------------------------


def test_an_operator_without_a_forward_formula_transposes_its_gradient(scratch):
    @operator(function=False, method=False)
    def scratch_turned(self: Array, other: Array) -> Array:
        return np.flip(self) * np.sum(other)

    scratch_turned.gradient(
        self=lambda F, grad, other: F.flip(grad, (0,)) * F.sum_all(other),
        other=lambda F, grad, self, other: F.expand(
            F.sum_all(F.flip(self, (0,)) * grad), other.shape
        ),
    )
    assert forward_rules.rule_of(scratch_turned) is forward_rules.transposed
    x = fw.make_dual(impl.tensor([1.0, 2.0]), impl.tensor([10.0, 20.0]))
    w = fw.make_dual(impl.tensor([3.0, 4.0]), impl.tensor([1.0, 1.0]))
    # (flip x) sum w along (x', w'): (flip x') sum w + (flip x) sum w'
    assert tangent(scratch_turned(x, w)).tolist() == [20 * 7 + 2 * 2.0, 10 * 7 + 1 * 2.0]
    assert tangent(scratch_turned(x, impl.tensor([3.0, 4.0]))).tolist() == [140.0, 70.0]


def test_the_general_rule_is_recorded(scratch):
    @operator(function=False, method=False)
    def scratch_cube(self: Array) -> Array:
        return self**3

    scratch_cube.gradient(self=lambda F, grad, self: grad * self * self * 3.0)
    x = impl.tensor([1.0, 2.0], requires_grad=True)
    t = tangent(scratch_cube(fw.make_dual(x, impl.tensor([1.0, 10.0]))))
    assert t.tolist() == [3.0, 120.0]
    t.sum().backward()
    assert x.grad.tolist() == [6.0, 120.0]


def test_the_general_rule_reads_a_saved_result(scratch):
    @operator(function=False, method=False)
    def scratch_exp(self: Array) -> Array:
        return np.exp(self)

    scratch_exp.gradient(self=lambda F, grad, result: grad * result)
    x = impl.tensor([0.0], dtype=impl.float64, requires_grad=True)
    t = tangent(scratch_exp(fw.make_dual(x, impl.tensor([2.0], dtype=impl.float64))))
    assert t.tolist() == [2.0]
    t.sum().backward()
    assert x.grad.tolist() == [2.0]


# -- memory -----------------------------------------------------------------------------------


def test_leaving_the_level_frees_the_tangents():
    d = fw.make_dual(impl.ones(2, requires_grad=True), impl.ones(2))
    y = d.exp() * 1
    held = weakref.ref(tangent(y))
    gc.collect()
    assert held() is not None
    fw.exit_dual_level()
    gc.collect()
    assert held() is None
    fw.enter_dual_level()


def test_the_level_keeps_no_dual_alive():
    d = fw.make_dual(impl.ones(2), impl.ones(2))
    held = weakref.ref(d)
    del d
    gc.collect()
    assert held() is None


def test_zeros_in_the_place_of_a_tangent_do_not_get_out():
    d = fw.make_dual(impl.tensor([2.0, 3.0]), impl.ones(2))
    for y in (d * 2, d + 2, d - impl.ones(2), d / 2, impl.ones(2) @ d, impl.stack([d, d * 0])):
        assert not tangent(y)._zero
