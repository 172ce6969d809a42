"""Fused operators leave the graph, the result and the gradients of the operators they fuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import impl
from impl.core.state import STATE
from impl.nn import multi_head_attention
from impl.operators.losses import cross_entropy
from impl.operators.products import bmm_fused, linear

F = impl.nn.functional


def described(node: Any) -> Any:
    """A graph from a node on: names, input numbers, saved values and order of recording."""
    if node is None:
        return None
    saved = {}
    for name in dir(node):
        if name.startswith("_saved_"):
            value = getattr(node, name)
            if isinstance(value, impl.Tensor):
                view = value._base is not None
                value = value.tolist(), value.stride(), value._version, value.requires_grad, view
            saved[name] = value
    return type(node).__name__, saved, [(described(n), i) for n, i in node.next_functions]


def order(node: Any) -> list[str]:
    """The names of the operators' nodes behind a node, in the order in which they were recorded."""
    found: dict[int, str] = {}
    pending = [node]
    while pending:
        at = pending.pop()
        if at is not None and type(at).__name__ != "AccumulateGrad":
            found[at._sequence_nr()] = type(at).__name__
            pending += [n for n, _ in at.next_functions]
    return [found[number] for number in sorted(found)]


def compare(
    module: Any, name: str, function: Any, leaves: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Assert that a function has the same result, graph and gradients with and without its fused
    path. It runs twice, so that parameters written in between are saved with their version."""
    taken: list[bool] = []
    short = getattr(module, name)

    def watched(*arguments: Any) -> Any:
        result = short(*arguments)
        taken.append(result is not None)
        return result

    seen = []
    for replacement in (watched, lambda *arguments: None):
        monkeypatch.setattr(module, name, replacement)
        for leaf in leaves:
            leaf.grad = None
        result = function()
        graph = described(result.grad_fn), order(result.grad_fn)
        result.sum().backward()
        seen.append((result.tolist(), graph, [x.grad.tolist() for x in leaves]))
        seen[-1] += ([(x.grad._version, x.grad._base is not None) for x in leaves],)
    assert taken == [True]
    assert seen[0] == seen[1]


def leaf(*shape: int, dtype: Any = None) -> Any:
    """Random numbers, the same for every call with as many dimensions."""
    values = np.random.default_rng(len(shape)).standard_normal(shape)
    return impl.tensor(values, dtype=dtype or impl.float32).requires_grad_()


@pytest.mark.parametrize("dtype", [impl.float32, impl.float64])
@pytest.mark.parametrize("begins", ["data", "leaf", "result", "second output"])
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("outer", [(5,), (2, 5), (2, 1, 3)])
def test_a_layer_is_a_transpose_and_a_product(dtype, begins, written, outer, monkeypatch):
    weight, bias, x = leaf(3, 4, dtype=dtype), leaf(3, dtype=dtype), leaf(*outer, 4, dtype=dtype)
    leaves = [weight, bias, x]
    if begins == "data":
        leaves.pop().requires_grad_(False)
    if written:
        with impl.no_grad():
            for tensor in (weight, bias, x):
                tensor.mul_(2)

    def layer():
        given = x
        if begins == "result":
            given = x * 2
        elif begins == "second output":
            given = impl.std_mean(impl.stack([x, x * 2]), 0)[1]
            assert given.output_nr == 1
        return F.linear(given, weight, bias)

    compare(linear, "_layer", layer, leaves, monkeypatch)


@pytest.mark.parametrize("dtype", [impl.float32, impl.float64])
@pytest.mark.parametrize("begins", ["data", "leaf", "result", "second output"])
@pytest.mark.parametrize("shape", [(5, 2, 4), (2, 3, 2, 4)])
def test_a_layer_of_permuted_dimensions_copies_them(dtype, begins, shape, monkeypatch):
    weight, bias, x = leaf(3, 4, dtype=dtype), leaf(3, dtype=dtype), leaf(*shape, dtype=dtype)
    leaves = [weight, bias, x]
    if begins == "data":
        leaves.pop().requires_grad_(False)

    def layer():
        given = x.transpose(0, 1)
        if begins == "result":
            given = (x * 2).transpose(0, 1)
        elif begins == "second output":
            given = impl.stack([x, x * 2]).transpose(1, 2).unbind(0)[1]
            assert given.output_nr == 1 and not given.is_contiguous()
        result = F.linear(given, weight, bias)
        assert result._version == 1
        return result

    compare(linear, "_layer", layer, leaves, monkeypatch)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("begins", ["data", "leaf", "result"])
@pytest.mark.parametrize("sizes", [(3, 2), (1, 2), (3, 1)])
def test_packed_heads_are_a_copy_and_views(
    need_weights, batch_first, bias, begins, sizes, monkeypatch
):
    impl.manual_seed(0)
    layer = impl.nn.MultiheadAttention(4, 2, bias=bias, batch_first=batch_first)
    x = leaf(*sizes, 4)
    leaves = [*layer.parameters(), x]
    if begins == "data":
        leaves.pop().requires_grad_(False)

    def attention():
        given = x * 2 if begins == "result" else x
        return layer(given, given, given, need_weights=need_weights)[0]

    compare(multi_head_attention, "packed_heads", attention, leaves, monkeypatch)


def _self_attention() -> tuple[Any, Any]:
    """A layer, and its result for one batch."""
    impl.manual_seed(0)
    layer = impl.nn.MultiheadAttention(4, 2, batch_first=True)
    x = leaf(3, 2, 4)
    return layer, layer(x, x, x, need_weights=False)[0]


def _behind(node: Any, name: str) -> Any:
    """The first node of a name behind a node, breadth first."""
    pending = [node]
    for at in pending:
        if type(at).__name__ == name:
            return at
        pending += [n for n, _ in at.next_functions if n is not None]
    raise AssertionError(name)


@pytest.mark.parametrize(
    "name", ["SelectBackward0", "CloneBackward0", "UnsqueezeBackward0", "AddBackward0"]
)
def test_a_hook_sees_the_gradients_that_the_heads_hand_on(name):
    """The backward of attention goes past views only where nothing observes them."""
    layer, result = _self_attention()
    result.sum().backward()
    wanted = [p.grad.tolist() for p in layer.parameters()]
    layer, result = _self_attention()
    seen: list[Any] = []
    flash = _behind(result.grad_fn, "ScaledDotProductFlashAttentionForCpuBackward0")
    node = _behind(flash, name)
    node.register_hook(lambda gave, got: seen.append(tuple(got[0].shape)))
    result.sum().backward()
    assert seen == [tuple(node._input_metadata[0].shape)]
    assert [p.grad.tolist() for p in layer.parameters()] == wanted


def test_a_saved_head_that_is_used_again_gets_both_gradients():
    layer, result = _self_attention()
    flash = _behind(result.grad_fn, "ScaledDotProductFlashAttentionForCpuBackward0")
    (result.sum() + flash._saved_key.sum() * 2).backward()
    both = [p.grad for p in layer.parameters()]
    layer, result = _self_attention()
    flash = _behind(result.grad_fn, "ScaledDotProductFlashAttentionForCpuBackward0")
    key = flash._saved_key
    result.sum().backward(retain_graph=True)
    (key.sum() * 2).backward()
    for one, other in zip(both, [p.grad for p in layer.parameters()], strict=True):
        assert np.allclose(one.numpy(), other.numpy())


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("shape", [(3, 4), (80, 10)])
@pytest.mark.parametrize("factor", [1, 100])
def test_cross_entropy_is_a_log_softmax_and_a_loss(reduction, shape, factor, monkeypatch):
    x = leaf(*shape)
    classes = impl.tensor(np.arange(shape[0]) % shape[1])
    compare(
        cross_entropy,
        "_fused",
        lambda: F.cross_entropy(x * factor, classes, reduction=reduction),
        [x],
        monkeypatch,
    )


@pytest.mark.parametrize("dtype", [impl.float32, impl.float64])
@pytest.mark.parametrize("begins", ["data", "leaf", "result", "view", "second output"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("written", [False, True])
def test_a_product_of_batches_is_expanded_and_reshaped(dtype, begins, side, written, monkeypatch):
    operands = [leaf(2, 3, 4, dtype=dtype), leaf(2, 4, 5, dtype=dtype)]
    leaves = list(operands)
    if begins == "data":
        leaves.pop(side).requires_grad_(False)
    elif begins == "view":
        operands[side] = leaves[side] = leaf(*reversed(operands[side].shape), dtype=dtype)
    if written:
        with impl.no_grad():
            for tensor in operands:
                tensor.mul_(2)

    def product():
        given = list(operands)
        if begins == "result":
            given[side] = given[side] * 2
        elif begins == "view":
            given[side] = given[side].transpose(0, 2)
        elif begins == "second output":
            given[side] = impl.std_mean(impl.stack([given[side], given[side] * 2]), 0)[1]
        return given[0] @ given[1]

    compare(bmm_fused, "product", product, leaves, monkeypatch)


def test_a_layer_of_more_dimensions_is_no_view():
    with impl.no_grad():
        results = [F.linear(leaf(*outer, 4), leaf(3, 4), leaf(3)) for outer in [(5,), (2, 5)]]
    assert [r._is_view() for r in results] == [False, False]


def test_a_hook_sees_the_gradient_that_an_expansion_would_hand_on():
    x, y, names = leaf(2, 3, 4), leaf(2, 4, 5), []
    result = x @ y
    viewed = result.grad_fn.next_functions[0][0].next_functions[0][0]
    viewed.register_prehook(lambda grads: names.append(tuple(grads[0].shape)))
    viewed.next_functions[0][0].register_hook(lambda gave, got: names.append(len(gave)))
    result.sum().backward()
    assert names == [(2, 3, 4), 1]


@pytest.mark.parametrize(
    "arguments",
    [
        lambda: (leaf(2, 3, 4), leaf(1, 4, 5)),
        lambda: (leaf(1, 3, 4).expand(2, 3, 4), leaf(2, 4, 5)),
        lambda: (leaf(2, 2, 3, 4), leaf(2, 2, 4, 5)),
        lambda: (leaf(2, 3, 4), leaf(2, 4, 5, dtype=impl.float64)),
        lambda: (leaf(2, 3, 4), leaf(2, 5, 5)),
        lambda: (leaf(2, 0, 4), leaf(2, 4, 5)),
        lambda: (leaf(4, 3, 4).chunk(2)[0], leaf(2, 4, 5)),
    ],
)
def test_a_product_of_other_batches_is_composed(arguments):
    assert bmm_fused.product(*arguments()) is None


@pytest.mark.parametrize(
    "arguments",
    [
        lambda: (leaf(5, 4), leaf(1, 4), leaf(1)),
        lambda: (leaf(5, 4), leaf(4, 3).t(), leaf(3)),
        lambda: (leaf(5, 2, 4)[:, :, ::2], leaf(3, 2), leaf(3)),
        lambda: (leaf(5, 1, 4).transpose(0, 1), leaf(3, 4), leaf(3)),
        lambda: (leaf(4, 5).t(), leaf(3, 4), leaf(3)),
        lambda: (leaf(5, 4), leaf(3, 4).detach(), leaf(3)),
        lambda: (leaf(5, 4), leaf(3, 4), leaf(3).expand(3)),
        lambda: (leaf(5, 4, dtype=impl.float64), leaf(3, 4), leaf(3)),
        lambda: (leaf(5, 4), leaf(3, 5), leaf(3)),
    ],
)
def test_a_layer_of_anything_else_is_composed(arguments):
    assert linear._layer(*arguments()) is None


@pytest.mark.parametrize("classes", [[0, 4], [0, -1], [0, 2]])
def test_a_loss_of_which_not_all_rows_count_is_composed(classes):
    assert cross_entropy._fused(leaf(2, 4), impl.tensor(classes), True, 2) is None


@pytest.mark.parametrize("function", [impl.add, impl.sub, impl.mul])
@pytest.mark.parametrize("shapes", [(2, 3), (3, 1), (1, 2)])
@pytest.mark.parametrize("begins", ["data", "leaf"])
def test_a_sum_with_a_permuted_tensor_lies_as_its_first_operand(function, shapes, begins):
    x, y = leaf(*shapes), leaf(*reversed(shapes))
    y.requires_grad_(begins == "leaf")
    seen = []
    for blocked in (0, 1):
        x.grad = y.grad = None
        STATE.fast_path_blockers += blocked
        try:
            results = [function(x, y.t()), function(y.t(), x)]
            graphs = [described(r.grad_fn) for r in results]
            (results[0] * results[1]).sum().backward()
        finally:
            STATE.fast_path_blockers -= blocked
        strides = [r.stride() for r in results], x.grad.stride()
        seen.append(([r.tolist() for r in results], strides, graphs, x.grad.tolist()))
        if begins == "leaf":
            seen[-1] += (y.grad.stride(), y.grad.tolist())
    assert seen[0] == seen[1]
