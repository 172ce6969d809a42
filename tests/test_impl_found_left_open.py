"""Findings of random programs that were left open, and their relatives, compared with PyTorch.

They are about `out=` with the conj or the neg bit, refusals that come before a gradient is
delivered, saved tensors that hooks replace by those of another dtype, and operators that return
their input.
"""

from __future__ import annotations

import pytest
import torch
from made_programs import observed, outcome

import impl


def check(program):
    """Assert that a program leaves the same on both."""
    assert observed(program, impl) == observed(program, torch)


# -- out= with the conj or the neg bit -----------------------------------------------------------

BITS = {
    "conj": "t.ones({}, dtype=t.complex64).conj()",
    "neg": "t.ones({}, dtype=t.complex64).conj().imag",
}
WRITTEN = [
    *("sin(t.ones(3), out=c)", "add(t.ones(3), 1, out=c)", "eq(t.ones(3), 1, out=c)"),
    *("le(t.tensor(2), t.tensor(2), out=c)", "sum(t.ones(3, 3), 0, out=c)", "zeros(3, out=c)"),
    *("cat([t.ones(3), t.ones(2)], out=c)", "cumsum(t.ones(3), 0, out=c)", "eye(3, out=c)"),
    *("full((2, 3), 2, out=c)", "linspace(0, 1, 3, out=c)", "normal(0.0, 1.0, (3,), out=c)"),
    *("rand(2, 3, out=c)", "randn(3, out=c)", "rand(3, generator=t.Generator(), out=c)"),
    *("mm(t.ones(2, 2), t.ones(2, 2), out=c)", "linalg.norm(t.ones(2, 2), out=c)"),
    *("quantile(t.ones(3), 0.5, out=c)", "kron(t.ones(2), t.ones(2), out=c)"),
]


@pytest.mark.parametrize("bit", BITS)
@pytest.mark.parametrize("size", [(2,), (3,)], ids=str)
@pytest.mark.parametrize("call", WRITTEN)
def test_out_with_a_bit_is_written_by_way_of_a_copy(bit, size, call):
    def program(t):
        c = eval(BITS[bit].format(size), {"t": t})
        return eval(f"t.{call}", {"t": t, "c": c}), c.is_conj(), c.is_neg()

    assert outcome(impl, program, 5) == outcome(torch, program, 5)


@pytest.mark.parametrize("out", ["float64", "complex64", "float32", "int64"])
@pytest.mark.parametrize("given", ["t.ones(3)", "t.ones(3) + 0j", "t.ones(3).long()"])
@pytest.mark.parametrize("name", ["angle", "abs"])
def test_how_often_a_resized_out_is_warned_of(name, given, out):
    def program(t):
        c = t.ones(2, dtype=getattr(t, out))
        return getattr(t, name)(eval(given, {"t": t}), out=c)

    assert outcome(impl, program) == outcome(torch, program)


@pytest.mark.parametrize("elements", ["3", "t.ones(())", "t.ones(2)", "True"])
@pytest.mark.parametrize("others", ["t.ones(2)", "t.ones(0)", "t.ones(2) + 0j", "1"])
@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_isin_of_a_number_empties_out_first(elements, others, dtype):
    def program(t):
        c = t.ones(1, 1, dtype=getattr(t, dtype))
        return t.isin(eval(elements, {"t": t}), eval(others, {"t": t}), out=c)

    assert outcome(impl, program) == outcome(torch, program)


# -- gradients -----------------------------------------------------------------------------------

ODD = [
    *("torch.ones(5)[1:].view(2, 2)", "torch.ones(2, 3)[:, 1:]", "torch.ones(6)[2:].view(2, 2)"),
    *("torch.ones(2, 2).mT", "torch.ones(1).expand(2, 2)", "torch.ones(3, 2)[1:]"),
]


@pytest.mark.parametrize("cotangent", ODD)
@pytest.mark.parametrize("name", ["view_as_real", "view_as_real_copy"])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_gradient_of_pairs_at_an_odd_offset_is_refused(cotangent, name, recorded):
    check(f"""
    x = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    torch.{name}(x).backward({cotangent}, create_graph={recorded})
    """)


COMPLEX = [
    *("torch.index_fill(x, 0, torch.tensor([0]), b)", "torch.where(torch.tensor([True]), x, b)"),
    *("torch.masked_fill(x, torch.tensor([True]), b)", "torch.where(torch.tensor([True]), b, x)"),
    *("torch.index_fill(x, 0, torch.tensor([0]), b.clone())", "x * b", "x + b.clone()"),
]


@pytest.mark.parametrize("call", COMPLEX)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_complex_gradient_is_refused_before_another_is_delivered(call, recorded):
    check(f"""
    x = torch.tensor([1j], requires_grad=True)
    b = torch.tensor(1.0, requires_grad=True)
    y = {call}
    try:
        y.backward(torch.ones_like(y), create_graph={recorded})
    except RuntimeError as error:
        text = str(error),
    first, second = x.grad is None, b.grad is None
    """)


# -- saved tensors of another dtype --------------------------------------------------------------

KINDS = ["int()", "long()", "double()"]
SAVING = ["x.sin()", "x.clone().sin()", "x.exp()", "x.prod()", "x * x", "x.sum().sin()"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", SAVING)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_hook_that_replaces_a_saved_leaf_by_integers_is_refused(kind, call, recorded):
    def program(t):
        x = t.ones(2, requires_grad=True)
        with t.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: eval(f"v.{kind}")):
            y = eval(call)
        y.sum().backward(create_graph=recorded)
        return x.grad

    assert outcome(impl, program, 5)[0] == outcome(torch, program, 5)[0]


SIZES = [(2, 2), (1, 1), (2, 1), (1, 2)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(
    "call", ["x.mm(x.T)", "x[None].bmm(x.T[None])", "(x @ x.T).matrix_power(3)", "x.mv(x[0])"]
)
def test_formulas_run_in_the_order_of_their_names(size, call):
    check(f"""
    x = torch.ones({size}, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v.shape, torch.ones):
        y = {call}
    y.sum().backward()
    """)


@pytest.mark.parametrize("replaced", [2, 3])
@pytest.mark.parametrize("of", ["x", "a", "w"])
@pytest.mark.parametrize("n", [1, 2])
def test_bilinear_with_saved_tensors_of_another_dtype(replaced, of, n):
    check(f"""
    x, a, w = torch.ones(2, {n}), torch.ones(2, 3), torch.ones(4, {n}, 3)
    {of}.requires_grad_()
    unpack = lambda v: v.double() if v.ndim == {replaced} else v
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v, unpack):
        y = torch.nn.functional.bilinear(x, a, w)
    y.sum().backward()
    """)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("kind", ["v.float()", "v.double()", "v.long().double()"])
def test_fractional_pooling_with_saved_tensors_of_another_dtype(ndim, kind):
    check(f"""
    x = torch.ones(1, 1, 4, 5, 4)[..., :{4 if ndim == 3 else 1}]
    x = (x if {ndim} == 3 else x.squeeze(-1)).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v, lambda v: {kind}):
        y = torch.nn.functional.fractional_max_pool{ndim}d(x, 2, output_size=2)
    y.sum().backward()
    """)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("of", ["A", "B"])
def test_a_triangular_system_with_a_real_saved_matrix_warns(left, of):
    check(f"""
    A, B = (torch.eye(2, dtype=torch.complex128) for _ in range(2))
    {of}.requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v.shape, torch.ones):
        y = torch.linalg.solve_triangular(A, B, upper=True, left={left})
    y.backward(torch.ones_like(y))
    """)


# -- nodes and checks ----------------------------------------------------------------------------

DROPPED = [
    *("x, 0.5, True", "x, 0.5, False", "x, -1.5, None", "x.sin(), 0.5, True", "x[:], 0.5, True"),
    *("x.detach(), 0.5, True", "x.long(), 0.5, False"),
]


@pytest.mark.parametrize("arguments", DROPPED)
def test_native_dropout_of_no_elements_gives_its_input_a_node(arguments):
    check(f"""
    x = torch.zeros(3, 0, requires_grad=True)
    y, mask = torch.native_dropout({arguments})
    y.sum().backward()
    """)


@pytest.mark.parametrize("cotangent", ["[1].sum().backward()", "[0].backward(torch.ones(3))"])
@pytest.mark.parametrize("sizes", [(3, 4), (0, 0), (4, 5)], ids=str)
def test_all_outputs_without_a_derivative_are_the_first_of_one_node(cotangent, sizes):
    check(f"""
    e = torch.ones(2, requires_grad=True)
    a, b = torch.zeros({sizes[0]}), torch.zeros({sizes[1]})
    y = torch.histogram(e, 3, out=(a, b))
    known = a.grad_fn is b.grad_fn, a.output_nr, b.output_nr, len(a.grad_fn._input_metadata)
    y{cotangent}
    """)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("sizes", ["-1, 6, 3, 2", "1, 6, 3, 2", "-1, -6, 3, 2", "-1, 6, 3, 5"])
def test_sizes_of_native_group_norm(dtype, sizes):
    check(f"torch.native_group_norm(torch.ones(1, dtype=torch.{dtype}), None, None, {sizes}, 0.5)")


SAVED = [
    *("torch.nn.MaxUnpool1d(1)(x, i.float())", "torch.nn.MaxUnpool2d(1)(x[None], i.float())"),
    *("torch.nn.MaxUnpool2d(1)(x[None], i[:, :1])", "torch.nn.MaxUnpool1d(1)(x, i)"),
    "torch.nn.functional.embedding_bag(i.view(-1)[::2], x, torch.tensor([1]))",
    "torch.nn.functional.embedding_bag(i.view(-1)[:2], x, torch.tensor([1]))",
    "torch.nn.functional.embedding_bag(i.view(-1)[::2], x, torch.tensor([0]))",
    "torch.nn.functional.embedding_bag(i.view(-1)[::2] + 7, x, torch.tensor([0]))",
]


@pytest.mark.parametrize("call", SAVED)
def test_what_is_checked_before_an_inference_tensor_is_saved(call):
    check(f"""
    x = torch.ones(2, 2, requires_grad=True)
    with torch.inference_mode():
        i = torch.zeros(2, 2, dtype=torch.long)
        f = i.float()
    i = f if ".float()" in {call!r} else i
    y = {call.replace(".float()", "")}
    """)


@pytest.mark.parametrize("given", ["0", "0, 2"], ids=str)
@pytest.mark.parametrize("parameters", ["f, None", "None, None", "f, f[:1]", "f.double(), None"])
def test_batch_norm_of_no_elements_looks_at_no_channels(given, parameters):
    check(f"""
    f = torch.ones(2)
    y = torch.native_batch_norm(torch.zeros({given}), {parameters}, f, f, False, 0.0, 1.0)
    """)


# -- vmap and forward mode -----------------------------------------------------------------------

STRIDED = [
    *("(2, 2), (1, 1)", "(2, 3), (2, 1)", "(5,), (1,)", "(2, 2), (0, 0)", "(3, 3), (1, 1), 1"),
    *("(2,), (1,), 0", "(), ()", "(0,), (1,), 7", "(2, 3), (2,)", "(2,), (1,), -1"),
]


@pytest.mark.parametrize("arguments", STRIDED)
@pytest.mark.parametrize("of", ["x.clone()", "x[1:]", "x"])
@pytest.mark.parametrize("name", ["as_strided", "as_strided_"])
def test_as_strided_of_examples(arguments, of, name):
    def program(t):
        x = t.arange(8.0).view(2, 4)
        return t.vmap(lambda x: getattr(eval(of), name)(*eval(f"[{arguments}]")))(x), x

    assert outcome(impl, program) == outcome(torch, program)


WITHIN = [
    *("make_dual(c, t.ones_like(c))", "make_dual(t.ones(()), c)", "make_dual(c, t.ones(()))"),
    "unpack_dual(c).tangent",
]


@pytest.mark.parametrize("call", WITHIN)
@pytest.mark.parametrize("dual", [False, True])
def test_dual_tensors_of_examples_are_refused(call, dual):
    def program(t):
        ad = t.autograd.forward_ad
        with ad.dual_level():
            x = ad.make_dual(t.ones(2), t.ones(2)) if dual else t.ones(2)
            return t.vmap(lambda c: eval(f"ad.{call}", {"ad": ad, "t": t, "c": c}))(x)

    assert outcome(impl, program) == outcome(torch, program)


@pytest.mark.parametrize("given", ["t.tensor(3)", "t.ones(2)", "3", "t.tensor([True])"])
@pytest.mark.parametrize("name", ["jacfwd", "hessian"])
@pytest.mark.parametrize("nested", [False, True])
def test_forward_mode_within_forward_mode_is_refused_first(given, name, nested):
    def program(t):
        transform = getattr(t.func, name)(lambda a: a.sin().sum())
        with t.autograd.forward_ad.dual_level() if nested else t.enable_grad():
            return transform(eval(given, {"t": t}))

    assert outcome(impl, program, 5) == outcome(torch, program, 5)


GEOMETRY = [
    *("squeeze_()", "squeeze_(0)", "squeeze_(-1)", "squeeze_((0, 1))", "unsqueeze_(0)"),
    *("unsqueeze_(-1)", "t_()", "transpose_(0, 1)", "swapaxes_(0, -1)", "squeeze_(2)"),
]
BATCHES = [((2, 1, 3), 0), ((2, 1, 3), 1), ((2, 1, 3), 2), ((2,), 0), ((1, 1, 3), 0), ((3, 1), 0)]


@pytest.mark.parametrize("call", GEOMETRY)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("of", ["x", "x.clone()"])
def test_geometry_that_changes_in_place_is_that_of_the_batch(call, batch, of):
    def program(t):
        size, dim = batch
        x = t.ones(size, requires_grad=of != "x")
        return t.vmap(lambda x: eval(f"{of}.{call}"), in_dims=dim)(x), x

    assert outcome(impl, program) == outcome(torch, program)


@pytest.mark.parametrize("of", ["x @ t.ones(3, 3)", "t.ones(3, 3) @ x", "x @ x", "x @ t.ones(3)"])
@pytest.mark.parametrize("size", [(2, 3), (2, 3, 3)], ids=str)
def test_products_of_examples_are_no_views(of, size):
    def program(t):
        linear = t.nn.functional.linear
        return t.vmap(lambda x: (eval(of), linear(x, t.ones(2, 3))))(t.ones(size))

    assert outcome(impl, program) == outcome(torch, program)


SECOND = ["x.softmax(0)", "x.log_softmax(0)", "x.sin() * x", "x.tanh()"]


@pytest.mark.parametrize("of", SECOND)
@pytest.mark.parametrize("mode", ["no_grad", "enable_grad"])
@pytest.mark.parametrize("name", ["hessian", "grad", "jacrev"])
def test_sums_of_gradients_within_transforms_are_in_new_memory(of, mode, name):
    def program(t):
        with getattr(t, mode)():
            along = lambda x: t.func.jvp(lambda x: eval(of), (x,), (x,))[1].sum()  # noqa: E731
            return getattr(t.func, name)(along)(t.tensor([1.0, 2.0]))

    assert outcome(impl, program, 3) == outcome(torch, program, 3)


BOUNDS = ["1 + 0j", "0.5, 2 + 0j", "None, 0.5 + 0j", "1 + 1j", "0j, 0.5 + 0j", "0, 1j"]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("given", ["t.ones(2)", "t.ones(2).int()", "t.ones(2).half()", "t.ones(0)"])
@pytest.mark.parametrize("name", ["clamp", "clamp_"])
def test_bounds_that_are_complex_numbers(bounds, given, name):
    def program(t):
        return getattr(eval(given, {"t": t}), name)(*eval(f"[{bounds}]"))

    assert outcome(impl, program) == outcome(torch, program)


MASKS = [
    *("t.tensor(True),", "t.tensor(False),", "t.tensor(True), t.tensor([0, 1])"),
    *("t.tensor([0, 1]), t.tensor(False)", "t.tensor(True), t.tensor(True)"),
    "t.tensor(1, dtype=t.uint8),",
]


@pytest.mark.parametrize("indices", MASKS)
@pytest.mark.parametrize("values", ["t.tensor(2.0)", "t.tensor([2.0, 3.0, 4.0])"])
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("size", [(3,), (3, 3)], ids=str)
def test_masks_without_dimensions_among_indices(indices, values, accumulate, size):
    def program(t):
        x = t.ones(size)
        given = eval(f"({indices})", {"t": t}), eval(values, {"t": t}), accumulate
        return x.index_put(*given), x.index_put_(*given)

    assert outcome(impl, program) == outcome(torch, program)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_embedding_bags_with_saved_indices_of_another_dtype(mode, which, sparse):
    check(f"""
    x = torch.ones(5, 2, requires_grad=True)
    count = []
    def unpack(v):
        count.append(v)
        return v.float() if len(count) == {which} else v
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v, unpack):
        y = torch.nn.functional.embedding_bag(
            torch.tensor([1, 0, 4]), x, torch.tensor([0]), mode={mode!r},
            sparse={sparse and mode != "max"},
        )
    y.backward(torch.ones_like(y))
    """)
