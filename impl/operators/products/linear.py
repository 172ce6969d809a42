"""The linear layer: ATen's composition of a transpose and a product, and a fused fast path.

After the product of large matrices the caches hold matrix data, and the cost of the next operation
depends on the amount of Python code it executes. A layer of float matrices is therefore computed
and recorded by one function, which leaves the same view and the same two nodes as the operators it
replaces.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.dispatch import fused
from impl.dispatch.autocast import lower_precision_fp
from impl.dispatch.out import counted_once, named_out
from impl.kernels.sum_to import sum_to
from impl.kernels.vectorized import MODERATE, sum_of_rows
from impl.operators.copies.copies import clone_layout
from impl.operators.pointwise.arithmetic import add
from impl.operators.products.addmm import addmm
from impl.operators.products.matmul import matrices, mm
from impl.operators.products.products import (
    matmul,
    matmul_of,
    require_dimensions,
    require_tensor,
)
from impl.operators.views.shape import needs_copy, unsafe_view, view_
from impl.operators.views.transposition import t
from impl.tensor import forward_grad
from impl.tensor.tensor import Tensor, dense_meta, float_meta, new
from impl.tensor.views import DEFAULT, ViewMeta


@named_out("linear")
def linear(input, weight, bias=None, *, out=None):
    """`input @ weight.t() + bias`: (..., n) by (m, n), and (m,) (torch.nn.functional.linear).

    Raises the RuntimeErrors of the products it is composed of.
    """
    require_tensor("linear", "input", 1, input)
    require_tensor("linear", "weight", 2, weight)
    if out is not None:
        return _linear_out(out, input, weight, bias)
    result = _layer(input, weight, bias) if isinstance(bias, Tensor) else None
    if result is None:
        result = _composed(input, weight, bias)
    return result


def _linear_out(out: Tensor, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The layer written to `out=`: by addmm, or by matmul and then an addition."""
    turned = tensor_ops.t(weight)
    with counted_once(out):
        if bias is not None and input._raw.ndim == 2:
            return addmm.call_out(out, (bias, input, turned, 1, 1))
        matmul(input, turned, out=out)
        return out if bias is None else out.add_(bias)


@lower_precision_fp
def _composed(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The layer as ATen composes it (Linear.cpp)."""
    ranks = (input._raw.ndim, weight._raw.ndim)
    require_dimensions(ranks, "matmul" if STATE.transforms else "linear")
    turned = tensor_ops.t(weight)
    if bias is None:
        return matmul_of(input, turned)
    if ranks[0] == 2:
        return addmm(bias, input, turned, 1, 1)
    shape = input._raw.shape
    # In transforms torch composes it by another function (ATen/functorch/PyTorchOperatorHacks.cpp).
    as_rows = ranks[0] == 3 if STATE.transforms else bias._raw.ndim == 1 and bias.is_contiguous()
    if as_rows and input.is_contiguous():
        rows = tensor_ops.view(input, (math.prod(shape[:-1]), shape[-1]))
        result = addmm(bias, rows, turned, 1, 1)
        return unsafe_view(result, (*shape[:-1], result._raw.shape[1]))
    product = matmul_of(input, turned)
    if STATE.batched or forward_grad.has_tangent(bias):
        return product.add(bias)
    return product.add_(bias)


_ALL, _PARAMETERS = 0b111, 0b101  # the bits of addmm's operands that require grad: bias, input, t
_BOTH, _RIGHT = 0b11, 0b10  # of mm's: input, t


@functools.cache
def _plan(mask: int):
    """The plan of addmm's node. The assertion checks the order of saved values that `_layer` and
    `_gradients` rely on."""
    plan = addmm.plan(mask, True)
    names = ["mat1", "mat1_layout", "mat2"] if mask == _ALL else ["mat1"]
    assert plan.names == ["alpha", "beta", *names, "mat2_layout"]
    return plan


def _gradients(node, grad, keep: bool, wanted):
    """Backward of addmm, with the bias's gradient already summed to its shape.

    The compiled backward of the plan serves the other cases.
    """
    saved = node._saved
    rowwise = type(grad) is np.ndarray and grad.flags.c_contiguous and len(grad) <= MODERATE
    if not rowwise or saved is None or wanted is not None:
        return node._plan.compiled_backward(node, grad, keep, wanted)
    of_bias, before, _ = node._next_nodes
    left = fused.unpack_array(saved[2], node)
    right = None if before is None else fused.unpack_array(saved[4], node)
    if not keep:
        node._saved = None
    meta = of_bias._meta
    summed = type(meta) is tuple and meta[0] == grad.shape[1:]
    return [
        sum_of_rows(grad) if summed else grad,
        None if right is None else matrices(grad, right.T),
        matrices(grad.T, left).T,
    ]


@functools.lru_cache(1024)
def _metas(rows: int, shape: tuple[int, int], kind):
    """The strides of the weight's transpose, its layout, its meta, the plan of its node, and the
    meta of a result with `rows` rows."""
    steps, turned = (1, shape[1]), shape[::-1]
    result = fused.tensor_meta(np.empty((rows, shape[0]), kind))
    return (
        steps,
        (turned, steps, 0),
        fused.tensor_meta(np.empty(turned, kind)),
        t.plan(1, True),
        result,
    )


def _weights_fit(path: int, meta, weight: Tensor, bias: Tensor) -> bool:
    """Whether weight and bias are row-major, of the input's dtype and of sizes that fit (`meta` is
    that of the input), and with recording on leaves or results that require grad."""
    pattern, shift = weight._dense_meta or dense_meta(weight), bias._dense_meta or dense_meta(bias)
    if any(type(one) is not tuple for one in (meta, pattern, shift)):
        return False  # or without dimensions
    (sizes, kind), matrix, added = meta, weight._raw, bias._raw
    if not (len(sizes) >= matrix.ndim == 2 and added.ndim == 1):
        return False
    outputs, inputs = matrix.shape
    if outputs < 2 or inputs < 2 or sizes[-1] != inputs or added.shape[0] != outputs:
        return False
    if pattern[1] is not kind or shift[1] is not kind:
        return False
    views = weight._view is not None or bias._view is not None or weight._nr or bias._nr
    return not (path and views)


def _layer(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """The fused layer, for operands of one float dtype of which both parameters require grad, or
    with recording off; None for others, which take the slow path."""
    path = STATE.fast_path
    if path is None:
        return None
    meta = input._dense_meta or dense_meta(input)
    if meta is None:
        return _layer_of_permuted(input, weight, bias) if path else None
    if not _weights_fit(path, meta, weight, bias):
        return None
    if path:
        before, connected = fused.connection(input)
        of_weight, of_bias = fused.connection(weight)[0], fused.connection(bias)[0]
        if of_weight is None or of_bias is None or not connected:
            return None
    rows, transposed = input._raw, weight._raw.T
    inputs, outputs = transposed.shape
    outer = rows.shape[:-1]
    rows = rows.reshape(-1, inputs)
    raw = matrices(rows, transposed)
    raw += bias._raw
    result = new(raw) if len(outer) == 1 else new(raw.reshape(*outer, outputs))
    if not path:
        return result
    steps, layout, turned_meta, plan, result_meta = _metas(len(rows), weight._raw.shape, raw.dtype)
    turned = fused.view_of(weight, weight, transposed, steps)
    turning, node = t.node_class(), addmm.node_class()
    fused.record(turned, turning, plan, of_weight, (), turned_meta)
    if len(outer) > 1:
        input = _in_rows(input, rows, before)
        before = input._node
    kept = input if input._memory is None else fused.save(input)
    saved: tuple
    if before is None:
        plan, saved = _plan(_PARAMETERS), (1, 1, kept, layout)
    else:
        rows_layout = (rows.shape, (inputs, 1), input._offset)
        plan, saved = _plan(_ALL), (1, 1, kept, rows_layout, fused.save(turned), layout)
        if input._nr:
            node._input_nrs = (0, input._nr, 0)
    edges = (of_bias, before, turning)
    result._dense_meta = result_meta
    fused.record(result, node, plan, edges, saved, result_meta, _gradients)
    if len(outer) > 1:
        folding, shape = unsafe_view.node_class(), (len(rows), outputs)
        result._dense_meta = fused.tensor_meta(result._raw)
        fused.record(result, folding, _plans_of_views()[1], node, (shape,), result._dense_meta)
    return result


@functools.cache
def _plans_of_views():
    """The plans of the nodes around the product of an input of more dimensions."""
    return view_.plan(1, True), unsafe_view.plan(1, True)


def _in_rows(input: Tensor, rows, before) -> Tensor:
    """The view of a row-major input as the matrix `rows`; `before` is the input's node, if any."""
    base, view = input, input._view
    if view is not None:
        base = view.base
        replayed = type(view) is not ViewMeta or view.view_fn is not None
        if replayed or view.creation != DEFAULT:
            return tensor_ops.view(input, rows.shape)
    if STATE.view_replay or input._inference:
        return tensor_ops.view(input, rows.shape)
    seen = fused.view_of(input, base, rows, None)
    meta = seen._dense_meta = fused.tensor_meta(rows)
    if before is not None:
        node = view_.node_class()
        if input._nr:
            node._input_nrs = (input._nr,)
        fused.record(seen, node, _plans_of_views()[0], before, (input._raw.shape,), meta)
    return seen


@functools.cache
def _plans_of_product(mask: int):
    """The plans of the nodes behind a copied input: of a view of rows, a product, and a sum. The
    assertion checks the order of saved values that `_layer_of_permuted` relies on."""
    plan = mm.plan(mask, True)
    names = ["mat2", "mat2_layout", "self", "self_layout"]
    assert plan.names == (names if mask == _BOTH else names[1:3])
    return unsafe_view.plan(1, True), plan, add.plan(_BOTH, True)


def _gradients_of_sum(node, grad, keep: bool, wanted):
    """Backward of the addition of a bias, with the bias's gradient already summed to its shape."""
    of_bias = node._next_nodes[1]._meta
    if type(grad) is not np.ndarray or type(of_bias) is not tuple or wanted is not None:
        return node._plan.compiled_backward(node, grad, keep, wanted)
    return [grad, sum_to(grad, of_bias[0])]


def _layer_of_permuted(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """`_layer` for an input whose dimensions lie in such an order that torch copies it: a clone in
    rows, a product, and the addition of the bias in place. Batch-first attention has such one."""
    meta = float_meta(input)
    if meta is None or len(meta[0]) < 3 or not _weights_fit(1, meta, weight, bias):
        return None
    of_weight, of_bias = fused.connection(weight)[0], fused.connection(bias)[0]
    before, connected = fused.connection(input)
    shape, steps = input._raw.shape, input._strides
    outputs, inputs = weight._raw.shape
    inner = (math.prod(shape[:-1]), inputs)
    if of_weight is None or of_bias is None or not connected or not needs_copy(shape, steps, inner):
        return None
    copied = np.array(input._raw, order="C")
    rows, transposed = copied.reshape(inner), weight._raw.T
    raw = matrices(rows, transposed)
    raw += bias._raw
    result = new(raw.reshape(*shape[:-1], outputs))
    steps, layout, turned_meta, plan, product_meta = _metas(inner[0], (outputs, inputs), meta[1])
    turned, kept = fused.view_of(weight, weight, transposed, steps), new(rows)
    turning, multiplying = t.node_class(), mm.node_class()
    fused.record(turned, turning, plan, of_weight, (), turned_meta)
    shaping, multiplied, adding = _plans_of_product(_BOTH if before is not None else _RIGHT)
    saved: tuple
    if before is None:
        edges, saved = turning, (layout, kept)
    else:
        cloning, following = clone_layout.node_class(), unsafe_view.node_class()
        if input._nr:
            cloning._input_nrs = (input._nr,)
        fused.record(kept, cloning, clone_layout.plan(1, True), before, (), meta)
        fused.record(kept, following, shaping, cloning, (shape,), fused.tensor_meta(rows))
        edges, saved = (
            (following, turning),
            (fused.save(turned), layout, kept, (inner, (inputs, 1), 0)),
        )
    fused.record(result, multiplying, multiplied, edges, saved, product_meta)
    unfolding, node = unsafe_view.node_class(), add.node_class()
    whole = result._dense_meta = fused.tensor_meta(result._raw)
    fused.record(result, unfolding, shaping, multiplying, ((inner[0], outputs),), whole)
    fused.record(result, node, adding, (unfolding, of_bias), (1,), whole, _gradients_of_sum)
    result._storage.version = 1  # of the addition in place
    return result
