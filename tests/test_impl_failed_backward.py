"""A formula that fails keeps the values that its node saved: the pass can be tried again."""

from __future__ import annotations

import pytest

import impl


@pytest.mark.parametrize("create_graph", [False, True])
def test_saved_values_survive_a_formula_that_fails(create_graph):
    x = impl.ones(4, requires_grad=True)
    size = 2
    with impl.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t[:size]):
        y = (x * x).sum()
    text = r"The size of tensor a \(4\) must match the size of tensor b \(2\) at non-singleton "
    for _ in range(2):
        with pytest.raises(RuntimeError, match=text):
            y.backward(create_graph=create_graph)
    size = 4
    y.backward(create_graph=create_graph)
    assert x.grad.tolist() == [2.0] * 4


def test_a_derivative_that_is_missing_is_named_each_time():
    x = impl.tensor(1.0, requires_grad=True)
    y = impl.igammac(x, x)
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="igammac: input"):
            y.backward()
