"""Findings of random programs in gradients: their graphs, versions and strides, and relatives,
compared with PyTorch."""

from __future__ import annotations

import pytest
import torch
from made_programs import outcome

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def check(program, digits=None):
    assert outcome(impl, program, digits) == outcome(torch, program, digits)


def recorded(*tensors):
    """The nodes of some tensors' graphs in the order of their making, each with its edges."""
    nodes, left = {}, [tensor.grad_fn for tensor in tensors]
    while left:
        node = left.pop()
        if node is not None and node not in nodes:
            nodes[node] = node
            left += [following for following, _ in node.next_functions]
    made = sorted((n for n in nodes if not hasattr(n, "variable")), key=lambda n: n._sequence_nr())
    numbers = {node: i for i, node in enumerate(made)}
    return tuple(
        f"{node.name()} {[(numbers.get(n, n and 'leaf'), i) for n, i in node.next_functions]}"
        for node in made
    )


def gradients(t, result, inputs, create_graph=True):
    """The gradients of a result, with their graph."""
    found = t.autograd.grad(
        result, inputs, t.ones_like(result), create_graph=create_graph, allow_unused=True
    )
    return found, recorded(*(g for g in found if g is not None))


# -- dtypes in formulas --------------------------------------------------------------------------

KINDS = ["float32", "float64", "float16", "bfloat16", "int8", "int64", "bool"]


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta"])
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shapes", [((), (2,)), ((2,), ()), ((2,), (2,))])
def test_a_parameter_of_another_dtype(name, first, second, shapes):
    def program(t):
        x = t.full(shapes[0], 3).to(getattr(t, first))
        if x.is_floating_point():
            x = x * t.ones_like(x, requires_grad=True)
        y = t.full(shapes[1], 2.0, dtype=getattr(t, second), requires_grad=True)
        result = getattr(t.special, name)(x, y)
        return gradients(t, result, [y], False), gradients(t, result, [y])

    check(program, 2 if "float16" in first + second else 5)


@pytest.mark.parametrize("kind", ["float32", "float16", "complex64"])
@pytest.mark.parametrize("p", [0.5, 1, 2, 3, float("inf")])
@pytest.mark.parametrize("maxnorm", [0.5, 10.0])
def test_the_derivatives_of_renorm(kind, p, maxnorm):
    def program(t):
        x = t.arange(1, 7).reshape(2, 3).to(getattr(t, kind)).requires_grad_()
        y = t.renorm(x, p, 0, maxnorm)
        return gradients(t, y, [x])[1]

    check(program)


# -- layouts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("weight", [None, "float32", "float64", "complex64"])
@pytest.mark.parametrize("transposed", [False, True])
def test_rms_norm_casts_after_it_copies(kind, weight, transposed):
    def program(t):
        x = t.ones(4, 4).to(getattr(t, kind))
        x = (x.T if transposed else x).detach().requires_grad_()
        w = weight and t.ones(4, dtype=getattr(t, weight), requires_grad=True)
        result = t.nn.functional.rms_norm(x, (4,), w)
        return result, recorded(result)

    check(program)


SIZES = [(b, n, m) for b in (1, 2) for n in (1, 2) for m in (1, 3)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
@pytest.mark.parametrize("part", [False, True])
def test_operands_of_a_product_with_sizes_of_one(sizes, order, part):
    def program(t):
        shape = [sizes[order.index(d)] + part for d in range(3)]
        x = t.ones(shape)[tuple(slice(int(part), None) for _ in range(3))].permute(order)
        y = t.ones(sizes[0], sizes[2], 2, requires_grad=True)
        result = x.detach().requires_grad_() @ y
        product = result.grad_fn.next_functions[0][0]
        return result, recorded(result), product._saved_self, product._saved_mat2

    check(program)


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 1, 3), (1, 3, 1), (1, 2, 2), (1, 1, 1)])
def test_the_derivative_of_pinv_with_sizes_of_one(shape):
    def program(t):
        x = t.ones(shape, requires_grad=True)
        return gradients(t, t.linalg.pinv(x), [x])[1]

    check(program)


# -- the order in which operators are recorded ----------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("spacing", [None, 2.0, "points", "values"])
@pytest.mark.parametrize("dim", [0, 1])
def test_finite_differences_evaluate_right_operands_first(order, spacing, dim):
    def program(t):
        x = t.tensor([[1.0, 2, 5, 4], [3, 3, 2, 7], [2, 8, 1, 9]], requires_grad=True)
        step = 1 if spacing is None else spacing
        if isinstance(step, str):
            points = t.tensor([1.0, 2, 4, 8][: x.shape[dim]])
            step = ((x[0] if dim else x[:, 0]) if spacing == "values" else points,)
        (result,) = t.gradient(x, spacing=step, dim=dim, edge_order=order)
        return result, recorded(result), gradients(t, result, [x])

    check(program, 4)


FORMULAS = {
    "div": lambda t, x, y: x / y,
    "reciprocal": lambda t, x, y: y.reciprocal(),
    "pinv": lambda t, x, y: t.linalg.pinv(t.stack([x, y])),
    "pinv of columns": lambda t, x, y: t.linalg.pinv(t.stack([x, y]).T),
    "acosh": lambda t, x, y: (x + y).acosh(),
    "atanh": lambda t, x, y: (x / 10).atanh(),
}
REAL = "i1 i1e bessel_j1 bessel_y1 modified_bessel_i1 modified_bessel_k1 log_ndtr ndtri erfinv"


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_formulas_evaluate_right_operands_first(name, kind):
    def program(t):
        x, y = (
            t.tensor(numbers, dtype=getattr(t, kind), requires_grad=True)
            for numbers in ([1.0, 2.0, 4.0], [3.0, 2.0, 1.0])
        )
        return gradients(t, FORMULAS[name](t, x, y), [x, y])[1]

    check(program)


@pytest.mark.parametrize("name", REAL.split())
def test_special_formulas_evaluate_right_operands_first(name):
    def program(t):
        x = t.tensor([0.25, 0.5], dtype=t.float64, requires_grad=True)
        return gradients(t, getattr(t.special, name)(x), [x])

    check(program, 6)


# -- strides and versions of gradients ------------------------------------------------------------

LAYOUTS = {
    "rows": lambda t: t.arange(12.0).reshape(4, 3),
    "columns": lambda t: t.arange(12.0).reshape(3, 4).T,
    "parts": lambda t: t.arange(48.0).reshape(8, 6)[::2, ::2],
    "expanded": lambda t: t.arange(4.0)[:, None].expand(4, 3),
    "overlapping": lambda t: t.arange(9.0).as_strided((4, 3), (1, 1)),
}
LAID_OUT = {
    "prelu": lambda t, x: t.nn.functional.prelu(x - 2, t.tensor([0.5])),
    "prelu by channel": lambda t, x: t.nn.functional.prelu(x, t.tensor([0.5, 1.0, 2.0])),
    "mvlgamma": lambda t, x: t.mvlgamma(x + 4, 2),
    "mvlgamma_": lambda t, x: (x + 4).clone().mvlgamma_(3),
    "native_dropout": lambda t, x: t.native_dropout(x, 0.0, True)[0],
}


@pytest.mark.parametrize("name", LAID_OUT)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("of_gradient", LAYOUTS)
def test_the_layout_of_a_gradient(name, layout, of_gradient):
    def program(t):
        x = LAYOUTS[layout](t).requires_grad_()
        return t.autograd.grad(LAID_OUT[name](t, x), x, LAYOUTS[of_gradient](t))

    check(program, 3)


WRITES = {
    "clamp": lambda t, x, y: x.clamp_(y),
    "clamp between": lambda t, x, y: x.clamp_(y - 1, y),
    "clamp_max": lambda t, x, y: x.clamp_max_(y),
    "copysign": lambda t, x, y: x.copysign_(y),
    "mul": lambda t, x, y: x.mul_(y),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("view", ["x[1:]", "x[:, None][1]", "x.as_strided((1,), (2,))", "x.T[:1]"])
@pytest.mark.parametrize("whole", [False, True])
def test_an_operand_of_a_write_through_a_view(name, view, whole):
    def program(t):
        x, y = t.zeros(2), t.tensor([2.0], requires_grad=True)
        part = WRITES[name](t, eval(view, {"x": x}), y)
        result = x if whole else part
        found = t.autograd.grad(result, y, t.ones_like(result), retain_graph=True)
        result.backward(t.ones_like(result))
        return found, y.grad

    check(program)


STRIDED = [
    ((2, 0, 5), (2, 1, 2), None),
    ((0,), (1,), ((0,), (0,))),
    ((3,), (1,), ((0, 2), (1, 1))),
    ((3,), (0,), ((2,), (0,))),
    ((3,), (0,), ((0,), (0,))),
]


@pytest.mark.parametrize("shape, stride, view", STRIDED)
@pytest.mark.parametrize("create_graph", [False, True])
def test_as_strided_without_elements(shape, stride, view, create_graph):
    def program(t):
        x = t.zeros(20).as_strided(shape, stride).requires_grad_()
        y = x * 1
        z = y.as_strided(*(view or (y.shape, y.stride())))
        return gradients(t, z, [z, x, y], create_graph)[0]

    check(program)


SECOND_WRITES = ["mul_(2.0)", "mul_(x[0, 0].detach())", "exp_()", "add_(1)", "copy_(x[0])"]


@pytest.mark.parametrize("view", ["squeeze()", "view(3)", "T[:, 0]", "mul(1)"])
@pytest.mark.parametrize("second", SECOND_WRITES)
@pytest.mark.parametrize("retain_graph", [False, True])
@pytest.mark.parametrize("observed", [False, True])
def test_the_history_of_a_written_view_that_was_saved(view, second, retain_graph, observed):
    def program(t):
        x = t.tensor([[1.0, 2.0, 0.5]], requires_grad=True)
        y = eval(f"(x * 1).{view}", {"x": x})
        y.relu_()
        kept = y.grad_fn if observed else None
        eval(f"y.{second}", {"x": x, "y": y})
        y.backward(t.ones_like(y), retain_graph=retain_graph)
        return x.grad, kept is None

    check(program, 5)


@pytest.mark.parametrize("fast", [False, True])
def test_a_hook_keeps_the_seed_of_gradcheck(fast):
    def program(t):
        kept = []

        def function(x):
            y = x * 2
            y.register_hook(kept.append)
            return y

        x = t.tensor([1.0, 2.0, 3.0], dtype=t.float64, requires_grad=True)
        t.autograd.gradcheck(function, (x,), fast_mode=fast)
        return [k for k in kept if k is not None][: 1 if fast else 6]

    check(program, 0 if fast else None)
