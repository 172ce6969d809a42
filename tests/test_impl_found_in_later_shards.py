"""Findings of later shards of random programs, and their relatives, compared with PyTorch."""

from __future__ import annotations

import math

import pytest
import torch
from made_programs import observed, outcome

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def check(program):
    if isinstance(program, str):
        assert observed(program, impl) == observed(program, torch)
    else:
        assert outcome(impl, program) == outcome(torch, program)


# -- writes at indices ---------------------------------------------------------------------------

SHAPES = [(), (1,), (2,), (1, 1), (2, 2), (1, 2)]
WRITES = ["index_copy", "index_add", "index_reduce"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("target", SHAPES)
@pytest.mark.parametrize("source", [(), (1,), (1, 1), (1, 2), (2, 1)])
def test_slices_of_a_source_of_another_shape(write, dim, target, source):
    rest = ("prod",) if write == "index_reduce" else ()

    def program(t):
        call = getattr(t.ones(target), write)
        return call(dim, t.tensor([0]), t.full(source, 5.0), *rest)

    check(program)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin", "sum"])
@pytest.mark.parametrize("index", [[0, 2], [0, -1], [0, -3], [2, 0], [0, 0]])
@pytest.mark.parametrize("shape", [(2,), (2, 2)])
def test_a_reduction_that_stops_at_an_index(include_self, reduce, index, shape):
    check(
        f"""
        a, b = torch.full({shape}, 3.0), torch.full({shape}, 3.0)
        index = torch.tensor({index})
        places = index if b.ndim == 1 else index[:, None].expand(2, 2).contiguous()
        for value, write, where in ((a, "index_reduce_", index), (b, "scatter_reduce_", places)):
            call = getattr(value, write)
            try:
                call(0, where, torch.full({shape}, 5.0), "{reduce}", include_self={include_self})
            except (IndexError, RuntimeError) as error:
                scope[write] = (str(error),)
        """
    )


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["prod", "mean", "amax"])
@pytest.mark.parametrize("kind", ["bool", "int32", "bfloat16", "complex64"])
def test_an_index_reduction_by_dtype(include_self, reduce, kind):
    def program(t):
        value = t.ones(2, 3).to(getattr(t, kind))
        return value.index_reduce(
            1, t.tensor([0, 0], dtype=t.int32), value[:, :2], reduce, include_self=include_self
        )

    check(program)


ORDERS = {
    "index_fill_ of a wrong dtype": lambda t, x: x.index_fill_(0, x, 2),
    "index_fill_ of a wrong dtype and dim": lambda t, x: x.index_fill_(1, x, 2j),
    "index_fill_ of a wrong dim": lambda t, x: x.long().index_fill_(3, t.ones(2).long(), 2),
    "index_fill_ of itself": lambda t, x: (y := x.long()).index_fill_(3, y, 2),
    "index_fill_ of a leaf": lambda t, x: x.requires_grad_().index_fill_(0, x, 2),
    "index_fill_ of an expanded one": lambda t, x: x[:1].expand(2).index_fill_(0, x, 2),
    "index_copy_": lambda t, x: x.index_copy_(-2, t.ones(1, 2), x),
    "index_copy_ of a leaf": lambda t, x: x.requires_grad_().index_copy_(3, x, x),
    "index_reduce_": lambda t, x: x.index_reduce_(0, t.tensor([0, 1]), x, "prod"),
    "index_reduce_ of an expanded one": lambda t, x: (
        x[:1].expand(2).index_reduce_(0, t.tensor([0, 1]), x.clone(), "prod")
    ),
    "index_reduce_ of a wrong name": lambda t, x: x.index_reduce_(3, x, x, "sum"),
}


@pytest.mark.parametrize("order", ORDERS)
def test_what_an_indexed_write_looks_at_first(order):
    check(lambda t: ORDERS[order](t, t.ones(2)))


# -- gamma functions -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
def test_digamma_is_computed_in_the_dtype(kind):
    def program(t):
        x = t.cat(
            [
                t.linspace(-5.3, 12, 50),
                t.arange(-3.0, 12),
                t.tensor([-0.0, math.inf, -math.inf, math.nan, 1e18]),
            ]
        )
        return t.digamma(x.to(getattr(t, kind)))

    check(program)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 9])
def test_polygamma_is_rounded_as_zeta_and_the_factorial_are(kind, n):
    def program(t):
        x = t.linspace(-5.3, 12, 50, dtype=t.float64).to(getattr(t, kind))
        return t.polygamma(n, x)

    check(program)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("x", [1, 1.5, 2, 3.25, 9])
def test_zeta_has_its_first_term_in_the_dtype(kind, x):
    def program(t):
        return t.special.zeta(x, t.linspace(-2.3, 12, 50, dtype=getattr(t, kind)))

    check(program)


# -- dtypes and orders of checks -----------------------------------------------------------------

SIZES = [
    ((0, 5, 5), (0, 5, 3)),
    ((2, 0, 5), (2, 5, 3)),
    ((2, 5, 0), (2, 0, 3)),
    ((2, 5, 3), (2, 3, 0)),
]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["float64", "complex64", "int64", "bfloat16"])
@pytest.mark.parametrize("beta", [0, 1, 2])
def test_baddbmm_of_empty_factors_has_the_dtype_of_the_second(sizes, kind, beta):
    def program(t):
        left, right = t.ones(sizes[0]), t.ones(sizes[1]).to(getattr(t, kind))
        return t.baddbmm(t.full((1,), 3.0), left, right, beta=beta)

    check(program)


@pytest.mark.parametrize("kind", ["bool", "int64", "float16", "complex64"])
@pytest.mark.parametrize("limits", [(0, 0), (0, 1), (1, 1), (3, 1)])
@pytest.mark.parametrize("count", [0, 2])
def test_histc_by_dtype(kind, limits, count):
    def program(t):
        low, high = limits
        return t.histc(t.ones(count).to(getattr(t, kind)), bins=2, min=low, max=high)

    check(program)


OUTS = {
    "no dimension": "torch.zeros(())",
    "a vector": "torch.zeros(N)",
    "a matrix": "torch.zeros(2, N // 2)",
    "a column": "torch.zeros(N, 1)",
    "a transposed matrix": "torch.zeros(N // 2, 2).t()",
    "every second": "torch.zeros(2 * N)[::2]",
    "another size": "torch.zeros(N + 1)",
    "integers": "torch.zeros(N, dtype=torch.int64)",
}


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("n", [0, 1, 2, 4, 6])
def test_frequencies_in_an_out_of_any_shape(out, name, n):
    check(
        f"""
        out = {OUTS[out].replace("N", str(n))}
        try:
            torch.fft.{name}({n}, out=out)
        except (IndexError, RuntimeError) as error:
            text = (str(error),)
        """
    )


@pytest.mark.parametrize("kind", ["bool", "int8", "int64", "float32", "complex64"])
@pytest.mark.parametrize("p", [0, 1, 3])
@pytest.mark.parametrize("expanded", [True, False])
def test_mvlgamma_in_place(kind, p, expanded):
    def program(t):
        value = t.full((1,), 5.0).to(getattr(t, kind))
        return (value.expand(3) if expanded else value).mvlgamma_(p)

    check(program)


# -- sums of products with one rounding ----------------------------------------------------------

FUSED = {
    "addcmul": lambda t, a, b, c: t.addcmul(a, b, c),
    "addcmul with a value": lambda t, a, b, c: t.addcmul(a, b, c, value=-0.3),
    "addcmul broadcast": lambda t, a, b, c: t.addcmul(a, b[:, None], c, value=2),
    "addcmul_": lambda t, a, b, c: a.addcmul_(b, c, value=-1),
    "add": lambda t, a, b, c: t.add(a, b, alpha=0.3),
    "add broadcast": lambda t, a, b, c: t.add(a[:, None], b, alpha=0.3),
    "add of a number": lambda t, a, b, c: t.add(a, 1.7, alpha=0.3),
    "add_": lambda t, a, b, c: a.add_(b[:1], alpha=-0.3),
    "sub": lambda t, a, b, c: t.sub(a, b, alpha=0.3),
    "rsub": lambda t, a, b, c: t.rsub(a, b, alpha=0.3),
    "lerp": lambda t, a, b, c: t.lerp(a, b, 0.3),
    "lerp from the end": lambda t, a, b, c: t.lerp(a, b, 0.7),
    "lerp by a tensor": lambda t, a, b, c: t.lerp(a, b, c[:, None]),
    "tanh": lambda t, a, b, c: t.func.vjp(t.tanh, b)[1](a),
}


@pytest.mark.parametrize("fused", FUSED)
@pytest.mark.parametrize("count", [2, 16])
def test_a_product_that_is_added_is_not_rounded(fused, count):
    def program(t):
        parts = t.arange(1, 3 * count + 1, dtype=t.float32).reciprocal().view(3, count)
        return FUSED[fused](t, *parts.clone().unbind())

    check(program)


@pytest.mark.parametrize("fused", [name for name in FUSED if "lerp" not in name])
@pytest.mark.parametrize("start", [math.inf, -math.inf, -3e38])
def test_a_product_that_is_added_does_not_overflow(fused, start):
    def program(t):
        parts = t.full((2,), start), t.full((2,), 2e19), t.full((2,), 2e19)
        return FUSED[fused](t, *parts)

    check(program)


# -- modes and autocast --------------------------------------------------------------------------

COMPOSED = {
    "pinv": lambda t, x: t.linalg.pinv(x),
    "pinv of a Hermitian matrix": lambda t, x: t.linalg.pinv(x, hermitian=True),
    "pinverse": lambda t, x: t.pinverse(x),
    "multi_dot": lambda t, x: t.linalg.multi_dot([x, x, x]),
    "bilinear": lambda t, x: t.nn.functional.bilinear(x, x, t.ones(1, 2, 2)),
    "matrix_rank": lambda t, x: t.linalg.matrix_rank(x, rtol=t.ones(2)),
}


@pytest.mark.parametrize("call", COMPOSED)
@pytest.mark.parametrize("recorded", [True, False])
def test_what_a_mode_and_autocast_make_of_a_composed_operator(call, recorded):
    def program(t):
        x = t.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=recorded)
        with t.autograd.graph.allow_mutation_on_saved_tensors(), t.autocast("cpu"):
            return COMPOSED[call](t, x).dtype

    check(program)


def test_a_handler_runs_without_autocast():
    def program(t):
        seen = []

        class Mode(t.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                product = t.ones(2, 2) @ t.ones(2, 2)
                seen.append((t.is_autocast_enabled("cpu"), product.dtype))
                return func(*args, **(kwargs or {}))

        x = t.ones(2, 2)
        with t.autocast("cpu"), Mode():
            seen.append(x.sin().dtype)
            seen.append((x @ x).dtype)
        return seen, t.is_autocast_enabled("cpu"), (x @ x).dtype

    check(program)


@pytest.mark.parametrize("shape", [(0, 2), (2, 2, 0, 2), (0,), (0, 3), (3, 2)])
@pytest.mark.parametrize("name", ["view_as_complex", "view_as_complex_copy"])
def test_no_pairs_as_complex_numbers(shape, name):
    check(lambda t: getattr(t, name)(t.zeros(shape)))


@pytest.mark.parametrize("mode", ["LSTM", "X", None, 3, [None], {}], ids=repr)
def test_a_mode_of_recurrent_layers_may_be_anything(mode):
    check(lambda t: t.nn.RNNBase(mode, 1, 2).mode)
