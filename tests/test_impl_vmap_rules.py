"""Batching rules of vmap, seen from outside: the values, memory and warnings of mapped calls."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import pytest
from made_programs import outcome

import impl

# Calls of `a` and `b`, which have the sizes before them.
RULED: list[tuple[tuple[int, ...], tuple[int, ...], str]] = [
    # Images merged into the first dimension.
    ((4, 2, 6), (), "F.pixel_shuffle(a, 2), F.channel_shuffle(a[None], 2)"),
    ((1, 4, 6), (), "F.pixel_unshuffle(a, 2), F.pad(a, (1, 1), 'reflect')"),
    ((2, 4, 6), (), "F.adaptive_avg_pool2d(a, 2), F.adaptive_max_pool2d(a, 2)"),
    ((0, 4, 6), (), "F.adaptive_avg_pool1d(a, 2)"),
    ((1, 2, 4, 6), (), "F.unfold(a, 2), F.interpolate(a, size=3, mode='nearest')"),
    ((1, 2, 4, 6), (1, 3, 5, 2), "F.grid_sample(a, b, align_corners=False)"),
    # The mapped dimension moved to the front, or left in its place.
    ((4, 3), (), "torch.special.bessel_j0(a), torch.special.modified_bessel_k1(a)"),
    ((4, 3), (), "torch.mvlgamma(a + 5, 2)"),
    # Functions that torch applies to each example.
    ((4,), (4,), "torch.special.chebyshev_polynomial_t(a, b), torch.special.airy_ai(a)"),
    ((4, 3), (4, 3), "F.margin_ranking_loss(a, b, b), F.soft_margin_loss(a, b)"),
    ((4, 3), (4, 3), "F.triplet_margin_loss(a, b, b), torch.special.log_ndtr(a)"),
    ((4, 4), (), "torch.linalg.lu(a).L, torch.diagflat(a), torch.fft.ihfft2(a)"),
    ((4,), (), "torch.argwhere(a), torch.nonzero_static(a, size=2)"),
    ((1, 2, 4), (), "F.interpolate(a, size=3, mode='nearest-exact')"),
    # Copies of views.
    ((1, 3), (), "torch.t_copy(a), torch.permute_copy(a, (1, 0)), torch.squeeze_copy(a)"),
    ((3,), (), "torch.expand_copy(a, (2, 3)), torch.as_strided_copy(a, (2, 2), (1, 1))"),
    ((3, 2), (), "torch.select_copy(a, 0, 1), torch.slice_copy(a, 1, 1)"),
    ((), (), "torch.transpose_copy(a, 0, 0), torch.transpose(a, 0, 0)"),
    # Writes at indices.
    ((3, 4), (4,), "torch.select_scatter(a, b, 0, -1)"),
    ((3, 4), (1, 4), "torch.slice_scatter(a, b, 0, 1, 2)"),
    ((3, 4), (1, 4), "torch.index_put(a, (torch.tensor([1]),), b)"),
    ((3, 4), (), "torch.index_fill(a, 1, torch.tensor([0, 2]), 7.0)"),
    ((3, 4), (), "torch.index_fill(a, -1, (b * 0).long(), 7.0)"),
    ((3, 4), (), "torch.index_fill(a, 0, torch.tensor([1]), b)"),
    ((), (), "torch.index_select(a, 0, torch.tensor([0]))"),
    ((3,), (3,), "F.one_hot((a * 7).long(), 7), F.one_hot((b * 7).long(), 7)"),
    ((4,), (), "torch.masked_select(a, torch.ones(3, 4, dtype=torch.bool))"),
    # Linear algebra.
    ((3, 4), (4,), "torch.mv(a, b), a @ b"),
    ((4,), (4,), "torch.vdot(a, b), torch.dot(a, b)"),
    ((2, 2), (2, 3), "torch.linalg.solve(a, b)"),
    ((2, 2), (2,), "torch.linalg.solve(a, b)"),
    ((3, 2), (3, 2), "tuple(torch.linalg.lstsq(a, b))[1:3]"),
    ((2, 2), (), "torch.linalg.matrix_rank(a, atol=torch.tensor(0.1))"),
    ((2, 2), (), "torch.linalg.eigvals(a @ a.mT)"),
    ((2, 3, 3), (), "torch.lu_unpack(*torch.linalg.lu_factor(a))"),
    ((2, 3), (2, 1), "torch.linalg.pinv(a, b[:, 0].abs())"),
]


@pytest.mark.parametrize(("a", "b", "text"), RULED, ids=[text for _, _, text in RULED])
@pytest.mark.parametrize("mapped", [(0, 0), (1, 1), (0, None), (1, None), (None, 0), (None, 1)])
def test_results_lie_in_memory_as_those_of_torchs_rules(a, b, text, mapped):
    torch = pytest.importorskip("torch")
    (facts, values), (expected_facts, expected_values) = (
        _mapped(lib, (a, b), text, mapped) for lib in (impl, torch)
    )
    assert facts == expected_facts
    assert values == pytest.approx(expected_values, rel=1e-4, abs=1e-5)


def _mapped(lib: Any, shapes: tuple, text: str, mapped: tuple) -> tuple[list, list]:
    """The geometry, versions and warnings of calls that are mapped along these dimensions, or the
    last one where there are fewer, and all their values."""
    given, dims = [], []
    for number, (shape, dim) in enumerate(zip(shapes, mapped, strict=True)):
        dims.append(None if dim is None else min(dim, len(shape)))
        sizes = [*shape]
        if dim is not None:
            sizes.insert(dims[-1], 2)
        given.append(_filled(lib, sizes, number))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = lib.func.vmap(_function("a, b", text, lib), in_dims=tuple(dims))(*given)
    flat = results if isinstance(results, (tuple, list)) else (results,)
    facts: list[Any] = [
        (tuple(r.shape), str(r.dtype).split(".")[-1], r.stride(), r._is_view(), r._version)
        for r in flat
    ]
    facts.append(_without_rules(caught))
    parts = [lib.view_as_real(r) if r.is_complex() else r for r in flat]
    return facts, [x for part in parts for x in part.reshape(-1).tolist()]


def _filled(lib: Any, sizes: list[int], number: int) -> Any:
    """Values between 0 and 1 of which matrices are regular."""
    i = lib.arange(math.prod(sizes))
    return ((i * i + (2 + number) * i + 1) % 11).view(sizes) / 11 + 0.05


def _function(arguments: str, text: str, lib: Any) -> Any:
    """A call in Python as a function of its arguments, with torch or impl as `torch`."""
    return eval(f"lambda {arguments}: ({text})", {"torch": lib, "F": lib.nn.functional})


def _without_rules(caught: list) -> list[str]:
    """The operators that warnings say have no batching rule."""
    text = " ".join(str(warning.message) for warning in caught)
    return sorted(set(re.findall(r"batching rule for (\S+)\. ", text)))


NO_EXAMPLES = [
    *("a.min()", "a.argmax()", "a.median()", "a.aminmax()", "a.prod()", "a.std()", "a.var(0)"),
    *("a.roll(1)", "a.roll(1, 0)", "torch.var_mean(a)", "a.sort()", "a.flatten()", "a @ a.mT"),
    *("a.take(torch.tensor([0]))", "torch.histc(a)", "torch.quantile(a, 0.5)", "a.argwhere()"),
    *("a.clone().xlogy_(a)", "a.clone().renorm_(2, 0, 1.0)", "a.clone().set_(a.clone())"),
    *("F.pixel_shuffle(a[None, :1].expand(4, 1, 3), 2)", "F.pad(a[None], (1, 1), 'reflect')"),
    *("F.conv1d(a, torch.ones(2, 2, 2))", "F.interpolate(a[None], 4)", "F.avg_pool1d(a, 2)"),
    *("F.batch_norm(a, None, None, training=True)", "F.instance_norm(a[None])"),
]


@pytest.mark.parametrize("text", NO_EXAMPLES)
def test_a_dimension_without_elements_is_mapped_as_by_torch(text):
    torch = pytest.importorskip("torch")

    def mapped(lib):
        return lib.func.vmap(_function("a", text, lib))(lib.ones(0, 2, 3))

    assert outcome(impl, mapped) == outcome(torch, mapped)


# Functions that torch composes within a transform of differentiation, and else has no rule for.
REFUSED_CALLS = [
    "torch.chain_matmul(a, a)",
    "torch.narrow(a, 0, torch.tensor(1), 1)",
    "torch.tensor_split(a, torch.tensor([1]))",
    "torch.nonzero(a, as_tuple=True)",
    "torch.nonzero(a)",
    "F.one_hot(a.long())",
    "F.one_hot(a, 3)",
    "torch.unique(a, dim=0)",
    "torch.split_copy(a, 1)",
    "torch.as_strided_scatter(a, a, (2, 2), (2, 1))",
]


@pytest.mark.parametrize("text", REFUSED_CALLS)
def test_calls_without_a_rule_are_refused_as_by_torch(text):
    torch = pytest.importorskip("torch")
    shown = []
    for lib in (impl, torch):
        with pytest.raises(RuntimeError) as error:
            lib.func.vmap(_function("a", text, lib))(lib.ones(2, 2, 2))
        shown.append(str(error.value))
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "text",
    ["F.margin_ranking_loss(a, a, a)", "torch.diagflat(a).sum()", "torch.chain_matmul(a, a).sum()"],
)
def test_a_composite_is_composed_where_its_gradient_is_taken_within(text):
    torch = pytest.importorskip("torch")
    for lib in (impl, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lib.func.vmap(lib.func.grad(_function("a", text, lib)))(lib.ones(2, 2, 2))
        assert not _without_rules(caught)


@pytest.mark.parametrize("in_dims", [0, 1, 2])
def test_a_norm_without_a_rule_in_torch_is_applied_to_each_example(in_dims):
    """As torch's fallback does, with its warning and its node."""
    value = impl.arange(24.0).reshape(2, 3, 4).requires_grad_()
    with pytest.warns(UserWarning, match="batching rule for aten::norm_except_dim"):
        norms = impl.func.vmap(lambda t: impl.norm_except_dim(t, 2, -1), in_dims=in_dims)(value)
    assert norms.grad_fn.name() == "ViewBackward0"
    assert norms.tolist() == [row.norm().item() for row in value.detach().unbind(in_dims)]


MATRIX = impl.arange(12.0).reshape(3, 4)
IMAGES = impl.arange(16.0).reshape(1, 4, 4)


@pytest.mark.parametrize(
    ("function", "example", "name"),
    [
        (lambda t: impl.isin(t, t[0]), MATRIX, "isin.Tensor_Tensor"),
        (lambda t: impl.isin(t, 1.0), MATRIX, "isin.Tensor_Scalar"),
        (lambda t: impl.isin(1.0, t), MATRIX, "isin.Scalar_Tensor"),
        (lambda t: impl.histc(t, 4), MATRIX, "histc"),
        (lambda t: impl.histogram(t, 4).hist, MATRIX, "histogram.bin_ct"),
        (lambda t: impl.quantile(t, 0.3, dim=0), MATRIX, "quantile.scalar"),
        (lambda t: impl.quantile(t, impl.tensor([0.3])), MATRIX, "quantile"),
        (lambda t: impl.put(t, impl.tensor([0]), impl.zeros(1)), MATRIX, "put"),
        (lambda t: (t * 1).renorm_(2, 0, 1.0), MATRIX, "renorm_"),
        (lambda t: impl.renorm(t, 2, 0, 1.0), MATRIX, "renorm"),
        (lambda t: impl.pdist(t), MATRIX, "pdist"),
        (lambda t: impl.nn.functional.pdist(t), MATRIX, "pdist"),
        (lambda t: impl.nn.functional.kl_div(t, t, reduction="sum"), MATRIX, "kl_div"),
        (lambda t: impl._weight_norm(t, impl.ones(3, 1), 0), MATRIX, "_weight_norm"),
        (
            lambda t: impl.nn.functional.bilinear(t, t, impl.ones(2, 4, 4)),
            MATRIX,
            "bilinear",
        ),
        (
            lambda t: impl.nn.functional.scaled_dot_product_attention(t, t, t),
            IMAGES[None],
            "_scaled_dot_product_flash_attention_for_cpu",
        ),
        (
            lambda t: impl.nn.functional.max_unpool2d(t, impl.zeros(1, 2, 2, dtype=impl.int64), 2),
            IMAGES[:, :2, :2],
            "max_unpool2d",
        ),
    ],
)
def test_functions_without_a_rule_in_torch_warn_by_their_names_in_aten(function, example, name):
    with pytest.warns(UserWarning, match=rf"batching rule for aten::{re.escape(name)}\. Please"):
        mapped = impl.func.vmap(function)(impl.stack([example, example]))
    assert mapped.shape == (2, *function(example).shape)
    assert impl.equal(mapped[1], function(example))
