"""Fused product of two batches of matrices.

torch composes it: each operand is expanded and reshaped, the batches are multiplied, and the result
is reshaped. For two batches of equal size the expansions and reshapes change no values, but they
are recorded in the graph. One function computes the product and records the same views and nodes,
as `impl.operators.products.linear` does for a layer.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from impl.core.state import STATE
from impl.dispatch import fused
from impl.operators.products.matmul import bmm
from impl.operators.views.expansion import expand_
from impl.operators.views.shape import reshape_alias, unsafe_view, view_
from impl.tensor.tensor import Tensor, float_meta, new
from impl.tensor.views import DEFAULT, ViewMeta


@functools.cache
def _plans():
    """The nodes' plans. The assertions check the order of saved values that `product` relies on."""
    shaped = tuple(op.plan(1, True) for op in (expand_, view_, reshape_alias, unsafe_view))
    assert all(plan.names == ["self_shape"] for plan in shaped)
    multiplied = [None, *(bmm.plan(mask, True) for mask in (0b01, 0b10, 0b11))]
    assert [p and p.names for p in multiplied] == [None, ["mat2"], ["self"], ["mat2", "self"]]
    return (*shaped, multiplied)


def _passing(operator):
    """The node class of a view operator for the case that its backward returns the gradient as it
    is."""
    node = operator.node_class
    return type(node.__name__, (node,), {"_is_identity": True, "__slots__": ()})


_Expanded, _Viewed, _Aliased, _Unsafe = map(_passing, (expand_, view_, reshape_alias, unsafe_view))


def _gradients(node, grad, keep: bool, wanted):
    """Backward of bmm for both operands; the gradient is made contiguous once for both products.

    The compiled backward of the plan serves the other cases.
    """
    saved = node._saved
    if type(grad) is not np.ndarray or saved is None or wanted is not None:
        return node._plan.compiled_backward(node, grad, keep, wanted)
    right, left = fused.unpack_array(saved[0], node), fused.unpack_array(saved[1], node)
    if not keep:
        node._saved = None
    if 0 in grad.strides:
        grad = np.ascontiguousarray(grad)
    of_left = np.matmul(grad, right.swapaxes(1, 2))
    of_right = np.matmul(left.swapaxes(1, 2), grad)
    return [np.ascontiguousarray(of_left), np.ascontiguousarray(of_right)]


def product(left: Tensor, right: Tensor) -> Tensor | None:
    """The product (b, n, m) by (b, m, p) of float tensors without strides of zero; None for others,
    which take the slow path."""
    path = STATE.fast_path
    if path is None or STATE.view_replay or left._inference or right._inference:
        return None
    meta, other = float_meta(left), float_meta(right)
    if meta is None or other is None:
        return None
    (a, kind), (b, second) = meta, other
    if len(a) != 3 or len(b) != 3 or kind is not second or a[0] != b[0] or a[2] != b[1]:
        return None
    x, y = left._raw, right._raw
    if not (x.size and y.size) or 0 in x.strides or 0 in y.strides:
        return None
    first, last = _seen(left, path, meta), _seen(right, path, other)
    if first is None or last is None:
        return None
    raw = np.matmul(x, y)
    if not raw.flags.c_contiguous:
        raw = np.ascontiguousarray(raw)
    result = new(raw)
    to_left, to_right = first._node, last._node
    if to_left is None and to_right is None:
        return result
    *_, unsafe, plans = _plans()
    node, following = bmm.node_class(), _Unsafe()
    meta = result._dense_meta = fused.tensor_meta(raw)
    middle = new(raw)
    if to_right is None:
        fused.record(middle, node, plans[0b01], to_left, (fused.save(last),), meta)
    elif to_left is None:
        fused.record(middle, node, plans[0b10], to_right, (fused.save(first),), meta)
    else:
        saved = (fused.save(last), fused.save(first))
        fused.record(middle, node, plans[0b11], (to_left, to_right), saved, meta, _gradients)
    fused.record(result, following, unsafe, node, (raw.shape,), meta)
    return result


def _seen(operand: Tensor, path: int, meta) -> Any:
    """The expanded and reshaped operand: a view of all of it, with its nodes if it requires grad.

    None if the operand needs the slow path: a view that is replayed by a function, or with a
    restricted creation, or one with dimensions of size one, which reshaping may lay out anew.
    `meta` is the operand's meta.
    """
    base, view, strides = operand, operand._view, operand._strides
    if strides is not None and 1 in meta[0]:
        return None
    if view is not None:
        base = view.base
        if type(view) is not ViewMeta or view.view_fn is not None or view.creation != DEFAULT:
            return None
    before, connected = fused.connection(operand) if path else (None, True)
    if not connected:
        return None
    seen = fused.view_of(operand, base, operand._raw, strides, path)
    if strides is None:
        seen._dense_meta = meta
    if before is None:
        return seen
    expanded, viewed, aliased, _, _ = _plans()
    node = _Expanded() if before._meta == meta else expand_.node_class()
    saved = (meta[0],)
    if operand._nr:
        node._input_nrs = (operand._nr,)
    fused.record(seen, node, expanded, before, saved, meta)
    if strides is None:
        fused.record(seen, _Viewed(), viewed, node, saved, meta)
    else:
        fused.record(seen, _Aliased(), aliased, node, saved, meta)
    return seen
