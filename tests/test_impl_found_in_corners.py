"""Findings of random programs in rare corners, and their relatives, compared with PyTorch.

The tests are of views in inference mode, nodes called with complex gradients, ZeroTensors of one
element, the order of checks and of conversions, `out=` of results without a derivative, states of
optimizers after a failed step, and matrices that are not finite.
"""

from __future__ import annotations

import pytest
import torch
from made_programs import outcome

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def check(program):
    assert outcome(impl, program) == outcome(torch, program)


# -- inference mode ------------------------------------------------------------------------------

VIEWS = {
    "mT": lambda t, x: x.mT,
    "view": lambda t, x: x.view(4),
    "stack": lambda t, x: t.stack([x]),
    "sum": lambda t, x: x.sum(),
    "mul": lambda t, x: x * 2,
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("made_within", [True, False])
@pytest.mark.parametrize("run_within", [True, False])
def test_gradients_and_inference_mode(view, made_within, run_within):
    def program(t):
        x = t.ones(2, 2, requires_grad=True)
        y = VIEWS[view](t, x)
        with t.inference_mode(made_within):
            g = t.ones(y.shape)
        with t.inference_mode(run_within):
            grads = t.autograd.grad(y, [x], g)
        return grads

    check(program)


@pytest.mark.parametrize("kind", ["float32", "complex64"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (0, 0), (2, 1, 1)])
def test_eigenvalues_of_an_inference_tensor(kind, shape):
    def program(t):
        with t.inference_mode():
            x = t.ones(shape, dtype=getattr(t, kind))
        return t.linalg.eigvals(x)._version, [e._version for e in t.linalg.eig(x)]

    check(program)


# -- nodes that are called -----------------------------------------------------------------------

MIXED = {
    "add": lambda t, x, c: x + c,
    "sub": lambda t, x, c: c - x,
    "mul": lambda t, x, c: x * c,
    "div": lambda t, x, c: c / x,
    "pow": lambda t, x, c: x**c,
    "addcmul": lambda t, x, c: t.addcmul(c, x, c),
    "stack": lambda t, x, c: t.stack([x, c]),
    "number": lambda t, x, c: 1j - x,
}


@pytest.mark.parametrize("mixed", MIXED)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_called_node_takes_the_real_part_for_a_real_input(mixed, recorded):
    def program(t):
        y = MIXED[mixed](t, t.ones(2, requires_grad=True), t.ones(2, dtype=t.complex64))
        with t.set_grad_enabled(recorded):
            made = y.grad_fn(t.ones(y.shape, dtype=y.dtype))
        made = made if isinstance(made, tuple) else (made,)
        return [None if g is None else (str(g.dtype)[-9:], g._is_view()) for g in made]

    check(program)


# -- ZeroTensors ---------------------------------------------------------------------------------

OF_ZEROS = {
    "alone": lambda t, x: t.sgn(x),
    "mul": lambda t, x: t.sgn(x) * 2,
    "add": lambda t, x: t.sgn(x) + t.sgn(x),
    "sum": lambda t, x: t.sgn(x).sum(),
    "view": lambda t, x: t.sgn(x).view(-1),
    "expand": lambda t, x: t.sgn(x).reshape(-1)[:1].expand(3),
    "abs": lambda t, x: t.sgn(x).abs(),
    "neg": lambda t, x: -t.sgn(x),
    "product": lambda t, x: t.sgn(x) * x,
}


@pytest.mark.parametrize("use", OF_ZEROS)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,), (2, 1)])
def test_a_tangent_of_one_element_that_is_a_zero_tensor(use, shape):
    def program(t):
        x = t.ones(shape)
        return t.func.jvp(lambda x: OF_ZEROS[use](t, x), (x,), (x,))[1]

    check(program)


def test_the_second_derivative_of_abs_is_a_zero_tensor():
    check(lambda t: t.func.hessian(lambda x: (t.abs(x) * 2).sum())(t.tensor(1.0)))


# -- optimizers ----------------------------------------------------------------------------------

OPTIMIZERS = ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "ASGD", "Adagrad"]
OPTIMIZERS += ["Adadelta", "RMSprop", "Rprop"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_after_a_step_that_failed_at_the_first_parameter(name):
    def program(t):
        params = [t.ones(2, requires_grad=True) for _ in range(2)]
        options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        optimizer = getattr(t.optim, name)(params, differentiable=True, **options)
        for param in params:
            param.grad = t.ones(2)
        with pytest.raises(RuntimeError, match="in-place"):
            optimizer.step()
        return optimizer.state_dict()["state"]

    check(program)


# -- the order of conversions and checks ---------------------------------------------------------

BIG = 2**63
CALLS = {
    "conv2d": lambda t: t.conv2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 1), None, [BIG, 1], [1, BIG]),
    "roll": lambda t: t.roll(t.ones(3), [BIG], [BIG]),
    "as_strided": lambda t: t.as_strided(t.ones(3), [BIG], [BIG]),
    "max_unpool3d": lambda t: t.nn.functional.max_unpool3d(
        t.ones(1, 1, 1, 1, 1), t.ones(1, 1, 1, 1, 1).long(), BIG
    ),
    "floor_divide": lambda t: t.tensor([0, 1, 1]) // t.tensor([0, 1]),
    "fmod": lambda t: t.fmod(t.tensor([0, 1, 1]), t.tensor([0, 1])),
    "bernoulli_": lambda t: t.ones(1).bernoulli_(t.ones(2, 2)),
    "bernoulli_ of another size": lambda t: t.ones(2).bernoulli_(t.ones(3)),
    "as_strided_copy": lambda t: t.as_strided_copy(t.tensor(1), (2, -1, 0), (5,)),
    "as_strided_copy of no size": lambda t: t.as_strided_copy(t.tensor(1), (0, -1), (5, 1)),
    "nll_loss without classes": lambda t: t.nn.functional.nll_loss(
        t.zeros(1, 0, 3), t.tensor([[0, 1, 0]])
    ),
    "fractional_max_pool3d": lambda t: t.nn.functional.fractional_max_pool3d(
        t.ones(1, 1, 2, 2, 2), (1, 2, 2), 1
    ),
    "bilinear": lambda t: t.nn.functional.bilinear(t.ones(1, 1), t.ones(1, 0), t.ones(3, 1, 0)),
    "log_softmax": lambda t: t.log_softmax(t.zeros(3, 0), -1, t.bool),
    "cummax": lambda t: t.tensor(1j).cummax(-2),
    "cummax of a number": lambda t: t.tensor(1j).cummax(0),
    "cummax of nothing": lambda t: t.zeros(2, 0, dtype=t.complex64).cummax(0),
    "mode": lambda t: t.ones(2, 0, dtype=t.complex64).mode(1),
    "kthvalue": lambda t: t.ones(2, dtype=t.complex64).kthvalue(5, 0),
    "index": lambda t: t.ones(3, 2)[t.tensor([[0], [5]]), t.tensor([[0, 2]])],
    "index of one": lambda t: t.ones(3, 2)[t.tensor([[0, 5]]), t.tensor([[0], [2]])],
    "bitwise_not": lambda t: t.bitwise_not(t.ones(2), out=t.ones(2, requires_grad=True)),
    "native_batch_norm": lambda t: t.native_batch_norm(
        t.zeros(2, 3, 0), None, t.ones(3), t.zeros(2, 0), t.ones(3), False, 0.5, 1e-5
    ),
    "segment_reduce": lambda t: t.segment_reduce(
        t.ones(4, 4), "sum", lengths=t.ones(4), offsets=t.tensor([0, 2, 2, 4]), axis=0
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_call_looks_at_first(call):
    check(CALLS[call])


# -- out= ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("compute_uv", [True, False])
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("flawed", ["leaf", "float64", "int64", "none"])
def test_svd_writes_to_out(compute_uv, place, flawed):
    def program(t):
        out = [t.zeros(0) for _ in range(3)]
        if flawed == "leaf":
            out[place] = t.ones(2, 2, requires_grad=True)
        elif flawed != "none":
            out[place] = t.zeros(0, dtype=getattr(t, flawed))
        made = t.svd(t.tensor([[3.0, 0.0], [0.0, 1.0]]), compute_uv=compute_uv, out=tuple(out))
        return [(value.shape, value.stride(), value._version) for value in made]

    check(program)


UNDERIVED = {
    "lstsq": lambda t, e: t.linalg.lstsq(
        t.eye(2), t.eye(2), out=(t.zeros(0), t.zeros(0), t.zeros(0), e)
    ),
    "lu": lambda t, e: t.linalg.lu(t.eye(2), out=(e, t.zeros(0), t.zeros(0))),
    "airy_ai": lambda t, e: t.func.jvp(
        lambda x: t.special.airy_ai(x, out=t.zeros(0)), (t.ones(2),), (t.ones(2),)
    ),
    "eq": lambda t, e: t.func.jvp(lambda x: t.eq(x, x, out=t.zeros(0)), (t.ones(2),), (t.ones(2),)),
}


@pytest.mark.parametrize("call", UNDERIVED)
def test_out_of_a_result_without_derivative(call):
    def program(t):
        e = t.ones(1, 1, requires_grad=True)
        UNDERIVED[call](t, e)
        return e

    check(program)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("kinds", ["float16 float32", "bfloat16 float64", "float16 float16"])
@pytest.mark.parametrize("dim", [None, 0])
def test_the_variance_of_half_precision_in_out(name, kinds, dim):
    def program(t):
        kind, wanted = (getattr(t, k) for k in kinds.split())
        return getattr(t, name)(t.ones(2, 2, dtype=kind), dim, out=t.zeros(0, dtype=wanted))

    check(program)


# -- matrices ------------------------------------------------------------------------------------

INF, NAN = float("inf"), float("nan")
MATRICES = [
    [[INF, 0.0], [INF, 0.0]],
    [[NAN, 0.0], [NAN, 0.0]],
    [[1.0, NAN], [2.0, 1.0]],
    [[1.0, 2.0], [NAN, 1.0]],
    [[0.0, 1.0, 2.0], [NAN, 3.0, 1.0], [INF, 0.0, 0.0]],
    [[1.0, NAN, 0.0], [3.0, 1.0, 0.0], [2.0, INF, 0.0], [0.0, 1.0, 2.0]],
]


@pytest.mark.parametrize("matrix", MATRICES, ids=str)
def test_the_factors_of_a_matrix_that_is_not_finite(matrix):
    check(lambda t: list(t.linalg.lu_factor_ex(t.tensor(matrix))))


@pytest.mark.parametrize("sizes", [(2, 3), (1, 3), (3, 1), (5, 4)], ids=str)
def test_a_product_over_one_element_keeps_minus_zero(sizes):
    def program(t):
        rows, columns = (t.zeros(sizes[0], 1), -t.ones(1, sizes[1]))
        layer = t.nn.functional.linear(rows, columns.t())
        return t.signbit(rows @ columns), t.signbit(layer)

    check(program)


# -- layouts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 1])
def test_the_gradient_of_a_product_of_a_view_with_gaps(offset):
    def program(t):
        memory = t.tensor([-1.0, 0.0, -0.5, 0.0, 1.0, -1.0, 2.0, -0.5, 0.0, 1.0, -1.0, 3.0])
        x = memory.as_strided((1, 3, 2), (1, 2, 6), offset).detach().requires_grad_()
        return t.autograd.grad(t.prod(x, 1), x, t.ones(1, 2))

    check(program)


@pytest.mark.parametrize("name", ["max", "min", "maximum", "fmax"])
@pytest.mark.parametrize("shape", [(1, 4, 6), (4, 6), (2, 1, 3)])
def test_the_sum_of_two_gradients_of_a_permuted_leaf(name, shape):
    def program(t):
        x = t.zeros(shape).movedim(-1, 0).detach().requires_grad_()
        y = getattr(t, name)(x, x)
        return t.autograd.grad(y, x, t.ones(y.shape))

    check(program)


STRIDES = [((0, 1), (1, 0)), ((2, 1), (1, 0)), ((1, 2), (0, 1)), ((0, 1), (1, 7)), ((2, 0), (3, 1))]


@pytest.mark.parametrize("geometry", STRIDES, ids=str)
def test_the_warning_of_a_gradient_of_another_layout(geometry):
    def program(t):
        shape, strides = geometry
        x = t.zeros(shape, requires_grad=True)
        x.grad = t.zeros(4).as_strided(shape, strides)
        x.backward(t.zeros(shape))

    check(program)


def test_channels_of_no_elements_are_shuffled_in_place():
    def program(t):
        x = t.zeros(0, 2, 2, 2, requires_grad=True)
        y = t.nn.functional.channel_shuffle(x, 1)
        first, second = t.autograd.grad(y, [x, y], t.ones(y.shape))
        return first.untyped_storage()._cdata == second.untyped_storage()._cdata

    check(program)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_wrapper_of_a_transform_is_no_view(recorded):
    def program(t):
        seen = []
        x = t.ones(2, requires_grad=recorded)
        t.func.grad(lambda x: (seen.append((x._is_view(), x.view(-1)._base is x)), x.sum())[1])(x)
        return seen

    check(program)
