"""Backward passes of classes with `__torch_dispatch__`: their operators and gradients."""

from __future__ import annotations

from typing import Any

import pytest
from made_wrappers import lines

import impl
import impl.utils._python_dispatch
from impl.engine import execution
from impl.engine.gradient_values import ArrayGradients, TensorGradients, gradient_form

# Functions of a wrapper's backward whose operators, in the order of the calls, are those of torch.
FORMULAS = """
relu: torch.relu(x)
sigmoid: torch.sigmoid(x)
tanh: x.tanh()
log: x.log()
sine: x.sin()
difference: x - x * 2
reflected: 1 - x
matrices: torch.mm(x.view(1, 2), x.view(2, 1))
linear: torch.nn.functional.linear(x.view(1, 2), x.view(1, 2))
softmax: torch.softmax(x, -1) * x
log_softmax: torch.log_softmax(x, -1)[0]
cross_entropy: torch.nn.functional.cross_entropy(x.view(1, 2), torch.tensor([0]))
silu: torch.nn.functional.silu(x)
layer_norm: torch.nn.functional.layer_norm(x, (2,))
sum: x.view(1, 2).sum(0)
transposed: x.view(1, 2).t()
permuted: x.view(1, 2).permute(1, 0)
selected: x[0]
sliced: x[1:]
joined: torch.cat([x, x])
stacked: torch.stack([x, x])
parts: x.split(1)[0]
unbound: x.unbind()[1]
cloned: x.clone()
expanded: x.expand(3, 2)
squeezed: x.view(1, 2).squeeze(0)
masked: x.masked_fill(x > 1, 0.0)
norm: x.norm()
cumulative: x.cumsum(0)
gathered: x.gather(0, torch.tensor([0]))
in place: (x * 1).exp_()
a written view: (lambda y: (y.view(2, 1).mul_(3), y)[1])(x * 1)
an item: (lambda y: (y.__setitem__(0, 5.0), y)[1])(x * 1)
"""


# Those of which only the gradient is: formulas multiply by other overloads, or in another order.
OTHER_FORMULAS = """
square root: x.sqrt()
reciprocal: 1 / x
cast: x.double()
power: x**3
powers: x**x
quotient: x / (x + 1)
product: x.prod()
products: torch.stack([x, x]).prod(1)
written: (x * 1).copy_(x)
zeroed: (x * 1).zero_()
scaled in place: (x * 1).mul_(x)
maximum: torch.maximum(x, x * 2)
maxima: x.view(1, 2).max(1).values
largest: x.amax(0)
chosen: torch.where(x > 1, x, x * 2)
clamped: x.clamp(0, 1.5)
variance: x.var()
mean: x.mean()
gelu: torch.nn.functional.gelu(x)
mse: torch.nn.functional.mse_loss(x, x * 2)
weighted: torch.lerp(x, x * 2, 0.5)
indexed: x[torch.tensor([0])]
batches: torch.matmul(x.view(1, 1, 2), x.view(2, 1))
sorted: x.sort().values
embedded: torch.nn.functional.embedding(torch.tensor([0, 0]), x.view(1, 2))
convolved: torch.nn.functional.conv1d(x.view(1, 1, 2), x.view(1, 1, 2))
checkpointed: torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
einsum: torch.einsum("i,j->ij", x, x)
"""


@pytest.mark.parametrize("formula", FORMULAS.strip().splitlines())
def test_backward_asks_for_the_operators_of_torch(formula: str):
    torch = pytest.importorskip("torch")
    program = f"({formula.partition(': ')[2]}).sum().backward()\nshow(x.grad)"
    theirs = lines(torch, program)
    assert lines(impl, program) == theirs


@pytest.mark.parametrize("formula", OTHER_FORMULAS.strip().splitlines())
def test_a_wrapper_has_the_gradient_that_it_has_on_torch(formula: str):
    torch = pytest.importorskip("torch")
    program = f"({formula.partition(': ')[2]}).sum().backward()\nshow(x.grad)"
    theirs = lines(torch, program)[-1]
    assert lines(impl, program)[-1] == theirs


def test_passes_that_meet_no_wrapper_take_their_gradients_as_arrays(
    monkeypatch: pytest.MonkeyPatch,
):
    forms = []

    def form(*args: Any) -> Any:
        forms.append(type(found := gradient_form(*args)))
        return found

    monkeypatch.setattr(execution, "gradient_form", form)

    class Empty(impl.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return impl.ones(2)

    wrapper = impl.Tensor._make_wrapper_subclass(Empty, (2,))
    x = impl.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    (x * wrapper).sum().backward()
    (x * x).backward(wrapper)
    assert forms == [ArrayGradients, TensorGradients, TensorGradients]
