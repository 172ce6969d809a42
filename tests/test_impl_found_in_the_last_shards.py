"""Findings of the last shards of a million random programs, and their relatives, compared with
PyTorch."""

from __future__ import annotations

import pytest
import torch
from made_programs import observed, outcome

import impl

pytestmark = pytest.mark.filterwarnings("ignore")


def check(program, digits=4):
    if isinstance(program, str):
        assert observed(program, impl) == observed(program, torch)
    else:
        assert outcome(impl, program, digits) == outcome(torch, program, digits)


# -- layouts, and memory -------------------------------------------------------------------------

BINARY = ["rsub", "sub", "add", "mul", "div", "maximum", "atan2", "hypot", "copysign", "logaddexp"]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("first", [0, 1])
def test_a_result_lies_as_the_operand_that_is_first_in_the_kernel(name, first):
    """Where two orders of dimensions are as good: `rsub` subtracts from its second operand."""

    def program(t):
        operands = t.ones(2, 2, 2), t.arange(1.0, 9.0).as_strided((2, 2, 2), (1, 2, 4))
        return getattr(t, name)(operands[first], operands[1 - first])

    check(program)


@pytest.mark.parametrize("other", ["2.0", "t.tensor(2.0)", "t.ones(3, 2)", "x"])
def test_a_permuted_tensor_is_subtracted(other):
    def program(t):
        x = t.ones(2, 3).t()
        return t.rsub(x, eval(other)), eval(other) - x

    check(program)


@pytest.mark.parametrize("name", ["view_as_complex", "view_as_complex_copy"])
@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((1, 1, 2), (1, 2, 1), 0),
        ((1, 2), (1, 1), 0),
        ((2, 1, 2), (4, 1, 1), 0),
        ((1, 2, 2), (5, 2, 1), 0),
        ((0, 1, 2), (1, 1, 1), 0),
        ((2, 1, 1, 2), (2, 3, 3, 1), 0),
        ((3, 2), (2, 1), 1),
        ((3, 2), (3, 1), 0),
        ((3, 2), (1, 3), 0),
    ],
)
def test_strides_of_one_element_need_not_be_even(name, shape, strides, offset):
    check(lambda t: getattr(t, name)(t.arange(40.0).as_strided(shape, strides, offset)))


@pytest.mark.parametrize("sizes", [(0, 0), (0, 2), (4, 0), (4, 2), (0, 3), (3, 2)])
def test_reflections_are_laid_out_in_columns_where_out_is_empty(sizes):
    def program(t):
        out = tuple(t.zeros(2, 2) if n == 4 else t.zeros(n) for n in sizes)
        return t.geqrf(t.tensor([[2.0, 1.0], [1.0, 3.0]]), out=out)

    check(program)


@pytest.mark.parametrize("driver", ["gelsy", "gels", "gelsd", "gelss"])
@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize(("solution", "rank"), [(0, "int64"), (5, "int64"), ("fits", "int64")])
def test_a_driver_leaves_alone_what_it_does_not_compute(driver, m, n, solution, rank):
    """Unless the solution, or the rank, is copied to its `out=`: then all results are."""

    def program(t):
        a, b = t.eye(m, n) * t.arange(1.0, n + 1), t.ones(m, 1)
        first = t.zeros(n, 1) if solution == "fits" else t.zeros(solution)
        out = first, t.zeros(7), t.zeros(0, dtype=getattr(t, rank)), t.zeros(7)
        return t.linalg.lstsq(a, b, driver=driver, out=out)

    check(program)


# -- graphs --------------------------------------------------------------------------------------

NAMES = """
def names(tensor):
    found, left = [], [tensor.grad_fn]
    while left:
        node = left.pop(0)
        found.append(None if node is None else node.name())
        left += [] if node is None else [edge for edge, _ in node.next_functions]
    return tuple(found)
"""


@pytest.mark.parametrize("floor", ["x // y", "y // x", "x // y.detach()", "torch.ones(2) // x"])
def test_an_edge_for_each_input_that_requires_grad_though_no_gradient_goes_there(floor):
    check(
        f"""{NAMES}
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = torch.t(x)  # requires grad, and has no grad_fn
found = names({floor})
"""
    )


TRANSFORMED = [
    "torch.func.grad(lambda x: f(x).sum())(x)",
    "torch.func.vjp(f, x)[0]",
    "torch.func.jvp(f, (x,), (x,))[0]",
    "torch.vmap(f)(x)",
    "torch.func.grad(lambda x: torch.func.grad(lambda x: f(x).sum())(x).sum())(x)",
]


@pytest.mark.parametrize("transformed", TRANSFORMED)
@pytest.mark.parametrize("shape", ["(4, 3, 1)[::2]", "(2, 3, 1)", "(2, 3, 1).transpose(0, 1)"])
@pytest.mark.parametrize("call", ["x @ w.t()", "torch.nn.functional.linear(x, w)"])
def test_a_product_folds_by_what_requires_grad_at_its_level(transformed, shape, call):
    """A weight of the caller does not: a batch of matrices becomes rows of one only by a view."""
    sizes, _, rest = shape.partition(")")
    check(
        f"""{NAMES}
x = torch.ones{sizes}){rest}
w = torch.ones(3, 1, requires_grad=True)
f = lambda x: {call}
found = names({transformed})
"""
    )


@pytest.mark.parametrize("transformed", TRANSFORMED)
@pytest.mark.parametrize("factor", ["", " * x.sum()"])
def test_a_transform_reshapes_by_a_view(transformed, factor):
    """Not by an alias, which a tensor outside is reshaped by."""
    check(
        f"""{NAMES}
x = torch.ones(12)
w = torch.ones(3, 4, requires_grad=True)
f = lambda x: x.sum() * (w{factor}).t().reshape(4, 1, 3)
found = names({transformed})
"""
    )


# -- optimisers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Adagrad", "Adam", "AdamW", "SGD"])
@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}])
def test_versions_of_a_step_under_a_dispatch_mode(kind, options):
    def program(t):
        x = t.ones(2, requires_grad=True)
        optimizer = getattr(t.optim, kind)([x], **options)
        with t.autograd.graph.allow_mutation_on_saved_tensors():
            (x - 1).abs().sum().backward()
            optimizer.step()
        inside = [x._version, *(v._version for v in optimizer.state[x].values() if v is not None)]
        x.grad = t.ones(2)
        optimizer.step()
        return inside, x, list(optimizer.state[x].values())

    check(program)


@pytest.mark.parametrize("foreach", [True, False])
def test_the_rate_of_asgd_is_computed_in_the_dtype_of_its_count(foreach):
    def program(t):
        x = t.ones(2, requires_grad=True)
        optimizer = t.optim.ASGD([x], lambd=1.0, weight_decay=0.5, foreach=foreach)
        x.grad = t.ones(2)
        t.set_default_dtype(t.bfloat16)
        try:
            for _ in range(2):
                optimizer.step()
        finally:
            t.set_default_dtype(t.float32)
        return x, optimizer.state[x]["eta"], optimizer.state[x]["mu"]

    check(program)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("last", [-1.0, 2.0, 0.5, float("nan")])
def test_marks_of_right_classes_are_between_zero_and_one(reduction, last):
    def program(t):
        grad = t.ones(()) if reduction else t.ones(1)
        scores, target = t.tensor([[0.1, 0.2, 0.3]]), t.tensor([[1, 0, -1]])
        backward = t.ops.aten.multilabel_margin_loss_backward
        return backward(grad, scores, target, reduction, t.tensor([[1.0, 1.0, last]]))

    check(program)


@pytest.mark.parametrize("call", ["mm", "bmm", "addmm", "baddbmm"])
@pytest.mark.parametrize("out", [True, False])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_products_in_another_dtype_have_no_kernel(call, out, requires_grad):
    for library in (torch, impl):
        shape = (2, 2, 2) if "b" in call else (2, 2)
        x = library.ones(shape, requires_grad=requires_grad)
        operands = (x,) * (3 if "add" in call else 2)
        named = {"out": library.zeros(0)} if out else {}
        overload = rf"^Could not run 'aten::{call}\.dtype{'_out' if out else ''}' with arg"
        with pytest.raises(NotImplementedError, match=overload):
            getattr(library, call)(*operands, library.float32, **named)


# -- forward mode over reverse mode --------------------------------------------------------------

WRITES = [
    "exp_",
    "sigmoid_",
    "tanh_",
    "sqrt_",
    "rsqrt_",
    "reciprocal_",
    "tan_",
    "expm1_",
    "sin_",
    "square_",
    "log_",
    "sinh_",
    "relu_",
    "logit_",
    "asin_",
    "erf_",
    "digamma_",
    "abs_",
    "neg_",
    "frac_",
    "arctan_",
    "exp2_",
    "sinc_",
    "cumprod_(0)",
    "cumsum_(0)",
    "pow_(3)",
    "pow_(v.clone())",
    "mul_(v)",
    "div_(v+1)",
    "atan2_(v+1)",
    "mul_(z[1:])",
    "hypot_(z[1:])",
    "addcdiv_(v,v+1)",
    "lerp_(z[1:],v)",
    "clamp_(0.4)",
    "xlogy_(z[1:])",
    "copysign_(-v)",
    "masked_fill_(v>0.4,1)",
]
PLACES = ["z[:2]", "z[:2].view(1,2)[0]"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("place", PLACES)
def test_saved_results_of_writes_through_views_have_tangents(write, place):
    call = write if "(" in write else f"{write}()"

    def program(t):
        scope = {"torch": t}
        exec(f"def f(y):\n z = y * 1\n v = {place}\n v.{call}\n return z", scope)
        f, x = scope["f"], t.tensor([0.3, 0.5, 0.7], dtype=t.float64)

        def loss(y):
            return f(y).pow(2).sum()

        along = t.func.jvp(t.func.grad(loss), (x,), (t.arange(1.0, 4.0, dtype=t.float64),))
        with t.autograd.forward_ad.dual_level():
            y = x.clone().requires_grad_()
            (g,) = t.autograd.grad(loss(t.autograd.forward_ad.make_dual(y, x)), y)
            dual = t.autograd.forward_ad.unpack_dual(g).tangent
        return *along, dual

    assert outcome(impl, program, 8) == outcome(torch, program, 8)


@pytest.mark.parametrize("place", ["z", "z[:2]"])
def test_the_saved_result_of_a_function_that_writes_has_a_tangent(place):
    def program(t):
        class Exp(t.autograd.Function):
            @staticmethod
            def forward(x):
                return x.exp_()

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.mark_dirty(*inputs)
                ctx.save_for_backward(output)
                ctx.save_for_forward(output)

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0]

            @staticmethod
            def jvp(ctx, tangent):
                return tangent.mul_(ctx.saved_tensors[0])

        x = t.tensor([0.3, 0.5, 0.7], dtype=t.float64)
        with t.autograd.forward_ad.dual_level():
            y = x.clone().requires_grad_()
            z = t.autograd.forward_ad.make_dual(y, t.ones_like(x)) * 1
            Exp.apply(eval(place))
            (g,) = t.autograd.grad(z.pow(2).sum(), y, create_graph=True)
            return t.autograd.forward_ad.unpack_dual(g).tangent.detach()

    check(program, 8)


# -- order of checks, and numbers that few give --------------------------------------------------


@pytest.mark.parametrize("scale", [-1.5, 2.0, 0.0])
@pytest.mark.parametrize("dropout", [-2.0, 0.0])
@pytest.mark.parametrize("causal", [True, False])
def test_attention_of_matrices_with_any_scale(scale, dropout, causal):
    def program(t):
        q, k = t.arange(12.0).reshape(3, 4) / 7, t.arange(12.0).reshape(3, 4).cos()
        named = {"dropout_p": dropout, "is_causal": causal, "scale": scale}
        return t.nn.functional.scaled_dot_product_attention(q, k, q, **named)

    check(program)


@pytest.mark.parametrize("index", [[0.0, 1.0], [0.0], [0, 0], [0], [[0]]])
@pytest.mark.parametrize("value", [1.0, [1.0, 2.0]])
def test_indices_of_a_scalar(index, value):
    check(lambda t: t.index_select(t.tensor(value), 0, t.tensor(index)))


@pytest.mark.parametrize(
    "kinds", [("float32", "float64"), ("float64", "bfloat16"), ("half", "half")]
)
def test_weights_of_bags_have_the_dtype_of_the_table(kinds):
    def program(t):
        table, weights = (t.ones(2, 2, dtype=getattr(t, kind)) for kind in kinds)
        indices = t.tensor([[0, 1], [1, 1]])
        embedding_bag = t.nn.functional.embedding_bag
        return embedding_bag(indices, table, per_sample_weights=weights, mode="sum")

    check(program)


@pytest.mark.parametrize("targets", [(), (1, 1, 1), (1, 1)])
@pytest.mark.parametrize("lengths", [(), (1,), (4, 0)])
def test_dimensions_of_targets_are_looked_at_first(targets, lengths):
    def program(t):
        given = (t.ones(shape, dtype=t.int64) for shape in (targets, lengths, (1,)))
        return t.ctc_loss(t.ones(3, 1, 4).log_softmax(-1), *given)

    check(program)


@pytest.mark.parametrize("zeros", [1, 2])
def test_a_product_with_zeros_is_taken_of_a_copy_of_strided_values(zeros):
    check(
        f"""{NAMES}
x = torch.arange(50.0).as_strided((5, 5), (10, 2)).clone().t().detach()
x[0, :{zeros}] = 0
x.requires_grad_()
(g,) = torch.autograd.grad(x.prod(), x, create_graph=True)
found = names(g)
"""
    )
