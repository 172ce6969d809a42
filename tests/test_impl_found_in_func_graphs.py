"""Findings of random programs in the graphs of transforms, and relatives, compared with PyTorch."""

from __future__ import annotations

import pytest
import torch
from made_programs import outcome
from test_impl_found_in_gradients import recorded

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def check(program):
    assert outcome(impl, program, 4) == outcome(torch, program, 4)


def graph(*tensors):
    """The nodes of some tensors' graphs; tensors without one themselves."""
    return [t if t.grad_fn is None else recorded(t) for t in tensors]


FUNCTIONS = {
    "product": lambda t, x, a: x * a,
    "exponential": lambda t, x, a: (x * a).exp(),
    "sine": lambda t, x, a: x.sin() * a,
    "norm": lambda t, x, a: (x - a).norm(dim=0, keepdim=True) * a,
    "solve": lambda t, x, a: t.linalg.lu_solve(
        x.reshape(1, 2).expand(2, 2) + t.eye(2), t.tensor([1, 2], dtype=t.int32), a.reshape(2, 1)
    ),
    "distance": lambda t, x, a: t.nn.functional.triplet_margin_with_distance_loss(x, a, a + 1),
    "constant": lambda t, x, a: x * 2,
    "captured": lambda t, x, a: a.sigmoid(),
    "view": lambda t, x, a: (x * a)[1:],
    "written": lambda t, x, a: (x * 1).mul_(a),
}
TRANSFORMS = {
    "vjp": lambda t, f, x: (lambda y, pull: (y, *pull(t.ones_like(y)), *pull(y.detach())))(
        *t.func.vjp(f, x)
    ),
    "grad": lambda t, f, x: (t.func.grad(lambda x: f(x).sum())(x),),
    "grad_and_value": lambda t, f, x: t.func.grad_and_value(lambda x: f(x).sum())(x),
    "aux": lambda t, f, x: t.func.grad(lambda x: (f(x).sum(), f(x)), has_aux=True)(x),
    "jacrev": lambda t, f, x: (t.func.jacrev(f)(x),),
    "twice": lambda t, f, x: (
        t.func.grad(lambda y: (t.func.grad(lambda x: f(x).sum())(y) * y).sum())(x),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_graph_that_a_caller_sees(name, transform, requires_grad):
    def program(t):
        x = t.tensor([0.5, 1.5], requires_grad=requires_grad)
        a = t.tensor([1.0, 2.0], requires_grad=True)
        found = TRANSFORMS[transform](t, lambda x: FUNCTIONS[name](t, x, a), x)
        leaves = [x, a] if requires_grad else [a]
        ends = [one for one in found if one.requires_grad]
        pulled = t.autograd.grad(
            ends, leaves, [t.ones_like(e) for e in ends], allow_unused=True, create_graph=True
        )
        nodes = [] if transform == "jacrev" else [len(recorded(one)) for one in ends]
        return found, nodes, pulled

    check(program)


LAYERS = {
    "ELU": lambda t: t.nn.ELU(),
    "MaxPool1d": lambda t: t.nn.MaxPool1d(1),
    "Linear": lambda t: t.nn.Linear(2, 2),
    "Softplus": lambda t: t.nn.Softplus(),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_output_that_a_hook_keeps(name, requires_grad):
    def program(t):
        t.manual_seed(0)
        module, kept = LAYERS[name](t), []
        module.requires_grad_(False).register_forward_hook(lambda m, i, o: kept.append(o))
        x = t.ones(2, 2, requires_grad=requires_grad)
        found = t.func.grad(lambda x: module(x).sum())(x)
        node = kept[0].grad_fn
        while not hasattr(node, "variable"):
            node = node.next_functions[0][0]
        leaf = node.variable
        return graph(found), recorded(kept[0]), leaf is x, leaf.is_leaf, [*leaf.shape]

    check(program)


@pytest.mark.parametrize("name", ["div", "mul", "pow", "add", "float_power"])
@pytest.mark.parametrize("kind", ["float32", "complex64"])
@pytest.mark.parametrize("unpacked", ["float32", "float64"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_real_tensor_unpacked_in_the_place_of_a_complex_one(name, kind, unpacked, create_graph):
    def program(t):
        x = t.tensor([2.0, 0.5]).to(getattr(t, kind)).requires_grad_()

        def unpack(shape):
            return t.full(shape, 1.5, dtype=getattr(t, unpacked))

        with t.autograd.graph.saved_tensors_hooks(lambda value: value.shape, unpack):
            y = getattr(t, name)(x, x * 1)
        seed = t.full_like(y, 1 + 2j if y.is_complex() else 1)
        (found,) = t.autograd.grad(y, x, seed, create_graph=create_graph)
        return t.view_as_real(found) if found.is_complex() else found, recorded(found)

    check(program)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(2, 0, 6), (0, 2, 6), (2, 2, 6)])
@pytest.mark.parametrize("bias", [False, True])
def test_second_derivatives_of_a_convolution_without_elements(transposed, shape, bias):
    def program(t):
        x = t.zeros(shape, requires_grad=True)
        sizes = (shape[1], 3, 1) if transposed else (3, shape[1], 1)
        w, b = t.ones(sizes, requires_grad=True), t.ones(3, requires_grad=True)
        call = t.nn.functional.conv_transpose1d if transposed else t.nn.functional.conv1d
        y = call(x, w, b if bias else None)
        seed = t.ones_like(y, requires_grad=True)
        found = t.autograd.grad(y, [x, w], seed, create_graph=True)
        total = sum((one * one).sum() for one in found)
        return found, t.autograd.grad(total, [seed, x, w, b], allow_unused=True)

    check(program)


@pytest.mark.parametrize("shape", [(1, 6), (2, 6), (1, 1, 6), (6,), (1, 4, 6)])
@pytest.mark.parametrize("pad", [(-1, -2), (0, 0), (1, 2), (1, -2), (-1, 0)])
@pytest.mark.parametrize("create_graph", [False, True])
def test_strides_of_padding_with_sizes_of_one(shape, pad, create_graph):
    def program(t):
        x = t.zeros(shape, requires_grad=True)
        y = t.nn.functional.pad(x, pad)
        return y, t.autograd.grad(y, x, t.ones_like(y), create_graph=create_graph)

    check(program)
