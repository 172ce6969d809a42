"""The linear layer: what torch composes of a transpose and a product, also in one go.

After a product of large matrices the caches hold matrices, and what the next operation costs is
how much code it runs through. So a layer of plain float matrices is computed and recorded by one
function, which leaves the same view and the same two nodes as the operators it stands for.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from impl import inplace
from impl.autocast import lowers
from impl.graph import edge_node, meta_of, next_sequence
from impl.modes import STATE
from impl.operator import TAPED, new
from impl.operators.added_products import addmm
from impl.operators.matmul import matrices
from impl.operators.products import matmul_of, require_tensor
from impl.operators.transposition import t
from impl.saved import raw_of, save
from impl.sweeps import MODERATE, sum_of_rows
from impl.tensor import Tensor, common, requires_grad
from impl.views import DEFAULT, View


def linear(input, weight, bias=None, *, out=None):
    """`input @ weight.t() + bias`: (..., n) by (m, n), and (m,) (torch.nn.functional.linear).

    Raises RuntimeError as the products it is made of do.
    """
    require_tensor("linear", "input", 1, input)
    require_tensor("linear", "weight", 2, weight)
    result = _layer(input, weight, bias) if isinstance(bias, Tensor) else None
    if result is None:
        result = _composed(input, weight, bias)
    return result if out is None else inplace.store("linear", out, result)


@lowers
def _composed(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The layer as ATen composes it (Linear.cpp)."""
    ranks = (input._raw.ndim, weight._raw.ndim)
    if 0 in ranks:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are "
            f"{ranks[0]}D and {ranks[1]}D"
        )
    turned = TAPED.t(weight)
    if bias is None:
        return matmul_of(input, turned)
    if ranks[0] == 2:
        return addmm(bias, input, turned, 1, 1)
    shape = input._raw.shape
    if bias._raw.ndim == 1 and ranks[1] == 2 and input.is_contiguous():
        rows = TAPED.view(input, (math.prod(shape[:-1]), shape[-1]))
        result = addmm(bias, rows, turned, 1, 1)
        return TAPED.view(result, (*shape[:-1], result._raw.shape[1]))
    return matmul_of(input, turned).add_(bias)


_ALL, _PARAMETERS = 0b111, 0b101  # the bits of addmm's operands that require grad: bias, input, t


@functools.cache
def _plan(mask: int):
    """What addmm's node saves, of which `_layer` and `_gradients` know the order."""
    plan = addmm.plan(mask, True)
    names = ["mat1", "mat1_layout", "mat2"] if mask == _ALL else ["mat1"]
    assert plan.names == ["alpha", "beta", *names, "mat2_layout"]
    return plan


def _gradients(node, grad, keep: bool, wanted):
    """What addmm's formulas make of a gradient, and the bias's already summed to its shape."""
    saved = node._kept
    rowwise = type(grad) is np.ndarray and grad.flags.c_contiguous and len(grad) <= MODERATE
    if not rowwise or saved is None or wanted is not None:
        return node._plan.straight(node, grad, keep, wanted)
    of_bias, before, _ = node._branches
    left = raw_of(saved[2], node)
    right = None if before is None else raw_of(saved[4], node)
    if not keep:
        node._kept = None
    meta = of_bias._meta
    summed = type(meta) is tuple and meta[0] == grad.shape[1:]
    return [
        sum_of_rows(grad) if summed else grad,
        None if right is None else matrices(grad, right.T),
        matrices(grad.T, left).T,
    ]


@functools.lru_cache(1024)
def _looks(rows: int, shape: tuple[int, int], kind):
    """The strides of a row-major matrix's transpose, its layout and look, its node's plan, and the
    look of what comes of so many rows."""
    steps, turned = (1, shape[1]), shape[::-1]
    result = meta_of(np.empty((rows, shape[0]), kind))
    return steps, (turned, steps, 0), meta_of(np.empty(turned, kind)), t.plan(1, True), result


def _layer(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
    """The layer of row-major matrices of one float dtype, of which both parameters require grad, or
    nothing is recorded; None for anything else."""
    path = STATE.path
    if path is None:
        return None
    look, pattern = input._common or common(input), weight._common or common(weight)
    shift = bias._common or common(bias)
    if look is None or pattern is None or shift is None:
        return None
    rows, matrix, added = input._raw, weight._raw, bias._raw
    if not (rows.ndim == matrix.ndim == 2 and added.ndim == 1):
        return None
    shape, kind = pattern
    outputs, inputs = shape
    if outputs < 2 or inputs < 2 or look[0][1] != inputs or shift[0][0] != outputs:
        return None
    if look[1] is not kind or shift[1] is not kind:
        return None
    if path:
        if weight._view is not None or bias._view is not None or weight._nr or bias._nr:
            return None
        before, of_weight, of_bias = edge_node(input), edge_node(weight), edge_node(bias)
        if of_weight is None or of_bias is None or (before is None and requires_grad(input)):
            return None
    transposed = matrix.T
    raw = matrices(rows, transposed)
    raw += added
    result = new(raw)
    if not path:
        return result
    steps, layout, turned_look, plan, look_of_result = _looks(len(rows), shape, kind)
    turning = t.node_class()
    turning._plan, turning._run, turning._only, turning._kept = plan, plan.straight, of_weight, ()
    turning._sequence = next_sequence()
    turning._meta = turned_look
    result._node = node = addmm.node_class()
    kept = input if input._memory is None else save(input)
    if before is None:
        node._plan = _plan(_PARAMETERS)
        node._kept = (1, 1, kept, layout)
    else:
        node._plan = _plan(_ALL)
        turned = new(transposed, steps)
        turned._memory = memory = weight._memory or weight._storage
        turned._view = View(weight, DEFAULT, memory.version)
        turned._node = turning
        node._kept = (1, 1, kept, (rows.shape, (inputs, 1), input._offset), save(turned), layout)
        if input._nr:
            node._numbers = (0, input._nr, 0)
    node._run, node._only = _gradients, None
    node._branches = (of_bias, before, turning)
    node._sequence = next_sequence()
    node._meta = result._common = look_of_result
    return result
