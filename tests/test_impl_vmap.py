"""Batched tensors and the rules by which operators take them, seen from inside."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from made_calls import given_to, one_assignment

import impl
from conformance import samples
from impl.core.state import STATE
from impl.func.levels import VmapLevel
from impl.tensor.batched_tensor import batched, explicit, hidden, in_front, physical

# Operators that vmap refuses, by design: random ones, those with shapes that depend on data, and
# those that torch has no rules for.
REFUSED = ("random operation", "dynamic shape", "Batching rule not implemented", "masked_select")
# Values are read before operators are called.
READING = {"_pack_padded_sequence", "_pad_packed_sequence", "segment_reduce"}


SAMPLES = [
    (program, expression)
    for program in samples.programs()
    if program.id.endswith(("/plain/float32", "/dim/float32", "/stepped/float32"))
    and program.id.split("/")[1] not in READING
    and (expression := one_assignment(program))
]


@pytest.mark.parametrize(
    ("program", "expression"), SAMPLES, ids=[program.id for program, _ in SAMPLES]
)
def test_an_operator_maps_as_a_loop_does(program, expression):
    function, values = given_to(impl, program, expression)
    expected = function(*values)
    try:
        mapped = impl.vmap(function)(*[impl.stack([value, value]) for value in values])
    except RuntimeError as error:
        assert any(text in str(error) for text in REFUSED)
        return
    several = isinstance(expected, (tuple, list))
    for one, both in zip(*((expected, mapped) if several else ([expected], [mapped])), strict=True):
        for row in both:
            assert (row.shape, row.dtype) == (one.shape, one.dtype)
            assert impl.allclose(row.double(), one.double(), 1e-4, 1e-5, equal_nan=True)


# Operators whose results come from another composition than torch's, or in another layout.
COMPOSED_OTHERWISE = {"argsort", "clamp", "frobenius_norm"}


@pytest.mark.parametrize(
    ("program", "expression"), SAMPLES, ids=[program.id for program, _ in SAMPLES]
)
def test_the_node_and_layout_of_a_mapped_operator_are_torchs(program, expression):
    torch = pytest.importorskip("torch")
    for dim in (0, 1):
        expected, shown = (_mapped(lib, program, expression, dim) for lib in (torch, impl))
        if program.id.split("/")[1] in COMPOSED_OTHERWISE:
            expected, shown = (
                [result[0] for result in results] if isinstance(results, list) else results
                for results in (expected, shown)
            )
        assert shown == expected


def _mapped(lib: Any, program: Any, expression: str, dim: int) -> Any:
    """Shape, strides and node of each result of an expression mapped over two equal values, along
    this dimension of the values; or the class of an error."""
    function, given = given_to(lib, program, expression)
    values, dims = [], []
    for value in given:
        dims.append(min(dim, value.dim()))
        stacked = lib.stack([value, value], dims[-1])
        values.append(stacked.requires_grad_() if stacked.is_floating_point() else stacked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mapped = lib.func.vmap(function, in_dims=tuple(dims))(*values)
        except Exception as error:
            return type(error).__name__
    several = isinstance(mapped, (tuple, list))
    return [
        (tuple(r.shape), r.stride(), None if r.grad_fn is None else r.grad_fn.name())
        for r in (mapped if several else (mapped,))
    ]


def test_dimensions_are_hidden_and_shown_again_in_any_order():
    value = impl.arange(24).view(2, 3, 4)
    outer, inner = VmapLevel(3, "error"), VmapLevel(2, "error")
    with outer.run(), inner.run():
        tensor = batched(batched(value, 1, outer), 0, inner)
        assert tensor.shape == (4,)
        assert explicit(tensor, tensor) is value
        again = hidden(value, tensor)
        assert again.shape == (4,) and physical(again) is value
        assert physical(in_front(tensor)).shape == (3, 2, 4)


@pytest.mark.parametrize(
    "look",
    [
        lambda t: int(t._raw),
        lambda t: bool(t._raw),
        lambda t: t._raw.max(),
        lambda t: t._raw + 1,
        lambda t: t._raw[0],
        lambda t: list(t._raw),
        lambda t: t._array(),
    ],
)
def test_nothing_reads_the_elements_of_a_batched_tensor(look):
    with pytest.raises(RuntimeError, match="Cannot access data pointer"):
        impl.vmap(lambda t: look(t) and t)(impl.ones(2, 3))


@pytest.mark.parametrize("transform", [impl.func.grad, impl.vmap, impl.func.jacrev])
def test_the_state_is_restored_whatever_the_function_raises(transform):
    def raises(t):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        transform(raises)(impl.ones(2))
    assert (STATE.transforms, STATE.passes, STATE.batched) == ((), (), False)
    assert STATE.fast_path_blockers == 0 and not STATE.drawing


def test_random_numbers_of_nested_levels_are_drawn_at_once():
    x = impl.zeros(2, 3)

    def draws(how):
        impl.manual_seed(0)
        inner = impl.vmap(lambda t: t + impl.rand(()), randomness=how[1])
        return impl.vmap(inner, randomness=how[0])(x)

    impl.manual_seed(0)
    assert impl.equal(draws(("different", "different")), (impl.manual_seed(0), impl.rand(2, 3))[1])
    assert len(draws(("same", "different")).unique(dim=0)) == 1
    assert len(draws(("different", "same")).unique(dim=1)[0]) == 1
    assert draws(("same", "same")).unique().numel() == 1


def test_a_node_stands_for_the_whole_batch():
    x = impl.ones(5, 3, requires_grad=True)
    names = []
    node = impl.vmap(lambda t: (t.sin() * 2).sum())(x).grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    assert names[:3] == ["SumBackward1", "MulBackward0", "SinBackward0"]


def test_an_inner_write_reaches_only_what_the_function_has_made():
    x, other = impl.ones(2), impl.zeros(2)
    view = other.view(2)
    for target in (other, view, other[:1]):
        with pytest.raises(RuntimeError, match="captured Tensor"):
            impl.func.grad(lambda t, target=target: (target.add_(1), t.sum())[1])(x)
    assert other.tolist() == [0, 0]
    impl.func.grad(lambda t: (t.clone()[:1].add_(1), t.sum())[1])(x)
    impl.func.grad(lambda t, given: (given.add_(1), t.sum())[1])(x, other)
    assert other.tolist() == [1, 1]


def test_saved_tensors_of_a_mapped_function_are_batched_where_they_were():
    seen = []

    class Product(impl.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            x, y = ctx.saved_tensors
            seen.append((x.shape, y.shape, gradient.shape))
            return gradient * y, gradient * x

    x, y = impl.ones(4, 2, requires_grad=True), impl.ones(2, requires_grad=True)
    impl.vmap(Product.apply, in_dims=(0, None))(x, y).sum().backward()
    assert seen == [((2,), (2,), (2,))]
    assert x.grad.shape == (4, 2) and y.grad.tolist() == [4, 4]


def test_factors_and_pivots_of_examples_are_checked():
    """As those of a batch: the checks look at all elements, which examples do not show."""
    matrices = impl.arange(18.0).reshape(2, 3, 3)
    factors, pivots = impl.linalg.ldl_factor(matrices)
    mapped = impl.func.vmap(lambda matrix: impl.linalg.ldl_factor(matrix)[0])(matrices)
    assert impl.equal(mapped, factors)
    ones = impl.ones(3, 1)
    solved = impl.func.vmap(lambda LD, pivot: impl.linalg.ldl_solve(LD, pivot, ones))
    assert impl.equal(
        solved(factors, pivots)[0], impl.linalg.ldl_solve(factors[0], pivots[0], ones)
    )
    with pytest.raises(RuntimeError, match="Unknown error code"):
        impl.func.vmap(lambda matrix: impl.linalg.ldl_factor(matrix)[0])(impl.zeros(2, 3, 3))


PER_EXAMPLE = "vmap: called random operation while in randomness error mode"
SHARED = "Vmap does not currently support same randomness with a batched tensor input"


@pytest.mark.parametrize(
    ("draw", "shared"),
    [
        (lambda x: impl.normal(0.0, 1.0, (2,)), ""),
        (lambda x: x.clone().bernoulli_(x), SHARED),
        (impl._standard_gamma, SHARED),
        (lambda x: impl.nn.functional.fractional_max_pool2d(x.view(1, 2, 2), 1, 1), ""),
    ],
)
def test_draws_of_examples_follow_the_randomness(draw, shared):
    x = impl.full((3, 4), 0.5)
    with pytest.raises(RuntimeError, match=PER_EXAMPLE):
        impl.vmap(draw)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(impl.vmap(draw, randomness="different")(x)) == 3
        if shared:
            with pytest.raises(RuntimeError, match=shared):
                impl.vmap(draw, randomness="same")(x)
        else:
            same = impl.vmap(draw, randomness="same")(x)
            assert impl.equal(same[0], same[1])


def test_a_seed_set_within_vmap_is_no_draw():
    assert impl.vmap(lambda x: (impl.manual_seed(0), x)[1])(impl.ones(2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("training", [True, False])
def test_rrelu_has_no_rule(training):
    with pytest.raises(RuntimeError, match="we do not yet support aten::rrelu"):
        impl.vmap(lambda x: impl.nn.functional.rrelu(x, training=training))(impl.ones(2, 2))


def test_tables_that_differ_are_one_table():
    torch = pytest.importorskip("torch")

    def gradient(lib, in_dims):
        weight = lib.arange(24.0).view(2, 4, 3).requires_grad_()
        indices = lib.tensor([[0, 1, 1], [1, 2, 3]])
        rows = lib.func.vmap(
            lambda w, i: lib.nn.functional.embedding(i, w, padding_idx=1), in_dims=in_dims
        )(weight, indices)
        rows.pow(2).sum().backward()
        return weight.grad.tolist(), rows.stride()

    for in_dims in ((0, 0), (0, None)):
        assert gradient(impl, in_dims) == gradient(torch, in_dims)


def test_smoothed_targets_of_examples_are_counted():
    torch = pytest.importorskip("torch")

    def losses(lib):
        scores = lib.arange(12.0).view(2, 3, 2)
        targets = lib.tensor([[0, 1, -100], [1, 1, 0]])
        return lib.func.vmap(
            lambda x, t: lib.nn.functional.cross_entropy(x, t, label_smoothing=0.5)
        )(scores, targets).tolist()

    assert losses(impl) == pytest.approx(losses(torch))


def test_running_statistics_are_not_updated_for_examples():
    module = impl.nn.BatchNorm1d(3)
    with pytest.raises(RuntimeError, match="which will be updated in place, were not batched"):
        impl.vmap(module)(impl.ones(2, 4, 3))
    assert module.running_mean.tolist() == [0.0, 0.0, 0.0]
    assert impl.vmap(module.eval())(impl.ones(2, 4, 3)).shape == (2, 4, 3)


def test_squeezing_no_dimensions_keeps_all():
    assert impl.vmap(lambda x: x.squeeze(()))(impl.ones(2, 1, 3)).shape == (2, 1, 3)


def test_the_weights_of_examples_make_one_convolution():
    weight = impl.ones(5, 4, 2, 3, requires_grad=True)
    result = impl.vmap(lambda w: impl.nn.functional.conv1d(impl.ones(1, 4, 8), w, groups=2))(weight)
    names, node = [], result.grad_fn
    while node is not None and names[-1:] != ["ConvolutionBackward0"]:
        names.append(node.name())
        node = next((n for n, _ in node.next_functions if n is not None), None)
    assert names[-1] == "ConvolutionBackward0"
    assert "StackBackward0" not in names
