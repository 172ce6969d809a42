"""Relatives of findings of random programs, compared with PyTorch: programs of one cause each.

A program is a function of the library; its results are compared with dtype, sizes, strides,
version and values, or with the error, and the warnings with both.
"""

from __future__ import annotations

import warnings

import pytest
import torch
from made_programs import outcome

import impl


def _in_anomaly_mode(t, program):
    with t.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program()


def _in_autocast(t, call):
    with t.autocast("cpu"):
        return call(t, t.tensor([[2.0, 1.0], [1.0, 3.0]]))


def _in_mutation_mode(t, call):
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        return call(t.ones(2, 2))


def _inference(t, *shape, flagged=False):
    with t.inference_mode():
        return t.ones(*shape).requires_grad_(flagged)


def _grad_of(t, function, *inputs, **settings):
    made = function(*inputs)
    return t.autograd.grad(made, inputs, t.ones_like(made), **settings)


def _written_slice(t, recorded=False):
    """The gradient of a number by which the first row of an expanded tensor was multiplied."""
    x, b = t.ones(1).expand(4).detach(), t.tensor(1.0, requires_grad=True)
    x[:1] *= b
    return t.autograd.grad(x, b, t.ones(4), create_graph=recorded)


def _written_view(t, recorded):
    b = t.ones(2, 2, 3, 2, requires_grad=True)
    a = t.ones(2, 2, 3, 2).to(memory_format=t.channels_last)
    a.view_as(a).mul_(b)
    return t.autograd.grad(a, b, t.ones(2, 2, 3, 2), create_graph=recorded)


def _wrapped(t, transform):
    """Whether the tensor that a transform gives a function is a view."""
    seen = []

    def function(x):
        seen.append((x._is_view(), x._base is None))
        return x.sum()

    getattr(t.func, transform)(function)(t.ones(2, requires_grad=True))
    return seen


def _nan_only_summed(t, function):
    """A gradient in which NaN arises where it is summed over a broadcast dimension."""
    b = t.zeros(1, requires_grad=True)
    made = function(t.ones(2, 2), b)
    return _in_anomaly_mode(t, lambda: made.backward(t.tensor([[1.0, -1.0], [1.0, 1.0]]) / 0))


def _instance_norm(t, mean, var):
    mean, var = (t.ones(2, dtype=getattr(t, name)) for name in (mean, var))
    return t.nn.functional.instance_norm(t.arange(8.0).view(1, 2, 4), mean, var)


def _drawn(t, **named):
    t.manual_seed(0)
    draw = t.vmap(lambda x: t.rand_like(x, generator=None), **named)
    made = draw(t.ones(2, 3))
    return made, made._is_view()


def _refused_out(t, *shape):
    return t.ones(*shape, requires_grad=True)


_BEYOND = 2**63

CAUSES = {
    # histograms
    "histc of one large number": lambda t: t.histc(t.tensor([33554432.0]), 10),
    "histc of the largest number": lambda t: t.histc(t.tensor([3.4028234663852886e38]), 10),
    "histc of a double": lambda t: t.histc(t.tensor([2.0**53], dtype=t.float64), 10),
    "histc of halves": lambda t: t.histc(t.tensor([65504.0]).half(), 10),
    "histogram of one large number": lambda t: t.histogram(t.tensor([1e8]), 4),
    # layer normalisation of examples
    "vmap of a layer over its own sizes": lambda t: t.vmap(
        lambda x: t.nn.functional.layer_norm(x, (2, 4))
    )(t.arange(8.0).view(2, 4)),
    "vmap of a layer of other sizes": lambda t: t.vmap(
        lambda x: t.nn.functional.layer_norm(x, (2, 4))
    )(t.ones(3, 4)),
    "vmap of unfold of numbers": lambda t: t.vmap(lambda x: x.unfold(0, 1, 2))(t.arange(3.0)),
    "vmap of unfold of no number": lambda t: t.vmap(lambda x: x.unfold(0, 0, 1))(t.arange(3.0)),
    "jacrev of unfold": lambda t: t.func.jacrev(lambda x: x.unfold(0, 2, 1))(t.ones(3)),
    # autocast casts no operands of functions with out=
    "autocast of vecdot": lambda t: _in_autocast(
        t, lambda t, x: t.linalg.vecdot(x, x, out=t.zeros(0))
    ),
    "autocast of fft": lambda t: _in_autocast(
        t, lambda t, x: t.fft.fft(x, out=t.zeros(0, dtype=t.bfloat16))
    ),
    "autocast of inv": lambda t: _in_autocast(
        t, lambda t, x: t.linalg.inv(x.bfloat16(), out=t.zeros(0))
    ),
    "autocast of quantile": lambda t: _in_autocast(
        t, lambda t, x: t.quantile(x.bfloat16(), 0.5, out=t.zeros(0, dtype=t.bfloat16))
    ),
    # variances with out=
    "var of halves in floats": lambda t: t.var(t.ones(2).half(), out=t.zeros(0)),
    "std of one number of halves": lambda t: t.std(t.ones(1, 2).bfloat16(), 1, out=t.zeros(0)),
    "std of several numbers": lambda t: t.std(t.ones(2, 2).half(), 0, out=t.zeros(0)),
    "var of complex numbers": lambda t: t.var(t.tensor([2 - 1j, 3]), out=t.tensor([0j])),
    "std of no degrees": lambda t: t.std(t.tensor([2 - 1j]), out=t.zeros(2)),
    # kernels that write to norms of single numbers of inference tensors
    "norm of single numbers": lambda t: t.linalg.vector_norm(_inference(t, 2, 1), dim=1),
    "norm of nothing": lambda t: _inference(t, 0, 2).norm(),
    "norm of numbers": lambda t: t.norm(_inference(t, 2, 2)),
    "norm that is refused": lambda t: t.nn.functional.normalize(_inference(t, 2, 1, flagged=True)),
    "norm of order 0": lambda t: t.linalg.vector_norm(
        _inference(t, 2, 1, flagged=True), 0, 1, True
    ),
    # NaN after a gradient is summed to its input's sizes
    "nan of a sum": lambda t: _nan_only_summed(t, t.add),
    "nan of a product": lambda t: _nan_only_summed(t, t.mul),
    "nan of an expansion": lambda t: _nan_only_summed(t, lambda x, b: b.expand(2, 2)),
    # writes seen by a dispatch mode, below transforms
    "mutation mode in jvp": lambda t: _in_mutation_mode(
        t, lambda x: t.func.jvp(lambda x: t.ones(2, 2).mul_(2) * x, (x,), (x,))
    ),
    "mutation mode in vmap": lambda t: _in_mutation_mode(t, t.vmap(lambda x: x.clone().mul_(2))),
    "mutation mode of kron": lambda t: _in_mutation_mode(t, lambda x: t.kron(x, x, out=t.zeros(0))),
    "mutation mode of a rank": lambda t: _in_mutation_mode(t, t.linalg.matrix_rank),
    # slices of gradients
    "slice of an expanded base": _written_slice,
    "slice, recorded": lambda t: _written_slice(t, True),
    "layout of a slice": lambda t: _written_view(t, False),
    "layout of a slice, recorded": lambda t: _written_view(t, True),
    "gradient of as_strided of an expanded tensor": lambda t: _grad_of(
        t,
        lambda x: x.as_strided((1,), (1,)),
        t.ones(1).expand(4).detach().requires_grad_(),
        create_graph=True,
    ),
    # wrappers of transforms
    "grad": lambda t: _wrapped(t, "grad"),
    "jacrev": lambda t: _wrapped(t, "jacrev"),
    # integers with tensors that require grad
    "slice_scatter to integers": lambda t: t.zeros(2).int().slice_scatter(_refused_out(t, 2)),
    "masked_fill of integers": lambda t: (
        t.zeros(2).int().masked_fill(t.tensor([True, False]), _refused_out(t))
    ),
    "index_fill of integers": lambda t: (
        t.zeros(2).int().index_fill(0, t.tensor([0]), _refused_out(t))
    ),
    "integers of a tensor that requires grad": lambda t: _refused_out(t, 2).int(),
    # the order of checks
    "bitwise_not": lambda t: t.bitwise_not(t.tensor([1]), out=_refused_out(t, 1)),
    "nuclear_norm": lambda t: t.nuclear_norm(t.ones(1, 1).double(), (1, 1), out=t.zeros(0)),
    "nuclear_norm of a missing dimension": lambda t: t.nuclear_norm(
        t.ones(1, 1).double(), 5, out=t.zeros(0)
    ),
    "svd without vectors": lambda t: t.svd(t.ones(2).double(), True, False, out=[t.zeros(0)] * 3),
    "matrix_rank": lambda t: t.linalg.matrix_rank(
        t.ones(2, 2), rtol=t.ones(2), out=_refused_out(t, 2)
    ),
    "scatter with a reduction": lambda t: t.scatter(
        t.ones(2), 0, t.tensor([0]), t.ones(1), reduce="add", out=_refused_out(t, 2)
    ),
    "scatter of a reduction": lambda t: t.ones(2).scatter(
        0, t.tensor([0]), t.ones(1), reduce="sum"
    ),
    "softmax": lambda t: t.nn.functional.softmax(t.ones(2), None, t.float32),
    "multilabel_margin_loss": lambda t: t.nn.functional.multilabel_margin_loss(
        t.ones(2), t.tensor([0.0, float("nan")])
    ),
    "normal of complex means": lambda t: t.normal(t.ones(2, dtype=t.complex64), _refused_out(t, 2)),
    "ldl_factor": lambda t: t.linalg.ldl_factor(t.zeros(1, 2, 2)),
    # arguments are converted from the last to the first
    "roll": lambda t: t.roll(t.ones(2), (_BEYOND,), (_BEYOND,)),
    "as_strided": lambda t: t.as_strided(t.ones(2), (_BEYOND,), (_BEYOND,), _BEYOND),
    "conv2d": lambda t: t.conv2d(t.ones(1, 1, 1, 1), t.ones(1, 1, 1, 1), None, *[(_BEYOND, 1)] * 3),
    # attention
    "attention of integers": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[t.ones(1, 1, 0, 2).long()] * 3
    ),
    "attention of bools": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[t.ones(1, 1, 0, 2).bool()] * 3
    ),
    "attention with a negative dropout": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[t.ones(1, 2, 2)] * 3, dropout_p=-1.0
    ),
    # segments
    "offsets go before lengths": lambda t: t.segment_reduce(
        t.ones(3), "sum", lengths=t.tensor([1, 1]), offsets=t.tensor([0, 3])
    ),
    "a negative length": lambda t: t.segment_reduce(t.ones(3), "sum", offsets=t.tensor([3, 1])),
    # layouts
    "take": lambda t: t.take(t.ones(2, 2), t.zeros(3, 6).long().t(), out=t.zeros(0)),
    "svd": lambda t: [v.stride() for v in t.svd(t.ones(2, 2), out=[t.zeros(0) for _ in range(3)])],
    # draws
    "rand_like with a generator": _drawn,
    "rand_like with a generator, the same": lambda t: _drawn(t, randomness="same"),
    # ZeroTensors keep being so through promotions
    "zeros times a number": lambda t: _grad_of(
        t, lambda x: t.sgn(x * 2), t.ones(1, dtype=t.bfloat16, requires_grad=True)
    ),
    "zeros over a number": lambda t: _grad_of(
        t, lambda x: t.sgn(x / 2), t.ones(1, dtype=t.float16, requires_grad=True)
    ),
    # kernels
    "i0e": lambda t: t.special.i0e(t.linspace(-20, 20, 41)),
    "i1e": lambda t: t.special.i1e(t.linspace(-20, 20, 41)),
    "i0 of what is not finite": lambda t: t.special.i0(t.tensor([0.0, 89.0, float("inf")])),
    "i1 of zeros": lambda t: t.special.i1(t.tensor([0.0, -0.0, 1e-30])),
    "laguerre": lambda t: t.special.laguerre_polynomial_l(t.linspace(-1, 1, 9), 300),
    "legendre": lambda t: t.special.legendre_polynomial_p(t.linspace(-1, 1, 9), 30),
    "hermite": lambda t: t.special.hermite_polynomial_he(t.linspace(-1, 1, 9), 30),
    "batch norm of strided memory": lambda t: t.nn.functional.batch_norm(
        t.tensor([[1e30, 0.0, 0.0, 1.0], [0.0, 1.0, 2.0, 3.0]]).t(), None, None, training=True
    ),
    "singular vectors of a negative zero": lambda t: t.linalg.svd(t.tensor([[-0.0, 0.0]])),
    "instance norm casts both statistics": lambda t: _instance_norm(t, "float64", "complex64"),
    "instance norm casts none": lambda t: _instance_norm(t, "float32", "float64"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_relative_of_a_finding(cause):
    assert outcome(impl, CAUSES[cause]) == outcome(torch, CAUSES[cause])


def test_a_polar_factor_is_hermitian_despite_the_rounding():
    factor = impl.linalg.polar(impl.randn(6, 4, dtype=impl.complex64))[1]
    assert factor.equal(factor.mH)
