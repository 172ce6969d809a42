"""The product of two batches of matrices, in one go, as `impl.operators.linear` has a layer.

torch composes it: each operand is expanded and reshaped, the batches are multiplied, and the result
is reshaped. Where both are batches of as many matrices that changes nothing but the graph, which is
recorded here by one function: the same views and the same nodes.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from impl.graph import edge_node, meta_of, next_sequence
from impl.modes import STATE
from impl.operator import new
from impl.operators.expansion import expand_
from impl.operators.matmul import bmm
from impl.operators.shape import reshape_alias, unsafe_view, view_
from impl.saved import raw_of, save
from impl.tensor import Tensor, floating, requires_grad
from impl.views import DEFAULT, NO_GRAD, View


@functools.cache
def _plans():
    """What the nodes save, and run, of which `product` knows the order."""
    shaped = tuple(op.plan(1, True) for op in (expand_, view_, reshape_alias, unsafe_view))
    assert all(plan.names == ["self_shape"] for plan in shaped)
    multiplied = [None, *(bmm.plan(mask, True) for mask in (0b01, 0b10, 0b11))]
    assert [p and p.names for p in multiplied] == [None, ["mat2"], ["self"], ["mat2", "self"]]
    return (*shaped, multiplied)


def _passing(operator):
    """The class of an operator's nodes where it changes nothing."""
    node = operator.node_class
    return type(node.__name__, (node,), {"_passes": True, "__slots__": ()})


_Expanded, _Viewed, _Aliased, _Unsafe = map(_passing, (expand_, view_, reshape_alias, unsafe_view))


def _gradients(node, grad, keep: bool, wanted):
    """What bmm's formulas make of a gradient for both operands, which is spread in memory once."""
    saved = node._kept
    if type(grad) is not np.ndarray or saved is None or wanted is not None:
        return node._plan.straight(node, grad, keep, wanted)
    right, left = raw_of(saved[0], node), raw_of(saved[1], node)
    if not keep:
        node._kept = None
    if 0 in grad.strides:
        grad = np.ascontiguousarray(grad)
    of_left = np.matmul(grad, right.swapaxes(1, 2))
    of_right = np.matmul(left.swapaxes(1, 2), grad)
    return [np.ascontiguousarray(of_left), np.ascontiguousarray(of_right)]


def product(left: Tensor, right: Tensor) -> Tensor | None:
    """(b, n, m) by (b, m, p); None for anything but plain floats of that, whose elements are not
    repeated."""
    path = STATE.path
    if path is None or STATE.view_replay or left._inference or right._inference:
        return None
    look, other = floating(left), floating(right)
    if look is None or other is None:
        return None
    (a, kind), (b, second) = look, other
    if len(a) != 3 or len(b) != 3 or kind is not second or a[0] != b[0] or a[2] != b[1]:
        return None
    x, y = left._raw, right._raw
    if not (x.size and y.size) or 0 in x.strides or 0 in y.strides:
        return None
    first, last = _seen(left, path, look), _seen(right, path, other)
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
    node = bmm.node_class()
    if to_right is None:
        node._plan, node._only, node._kept = plans[0b01], to_left, (save(last),)
    elif to_left is None:
        node._plan, node._only, node._kept = plans[0b10], to_right, (save(first),)
    else:
        node._plan, node._only, node._kept = plans[0b11], None, (save(last), save(first))
        node._branches = (to_left, to_right)
    node._run = node._plan.straight if node._only is not None else _gradients
    node._sequence = next_sequence()
    node._meta = meta_of(raw)
    result._node = following = _Unsafe()
    following._plan, following._run, following._only = unsafe, unsafe.straight, node
    following._kept = (raw.shape,)
    following._sequence = next_sequence()
    following._meta = result._common = node._meta
    return result


def _seen(operand: Tensor, path: int, look) -> Any:
    """The operand expanded and reshaped to what it is: a view, with its nodes if it requires grad.

    None if it is itself a view of an unusual kind.
    """
    base, view = operand, operand._view
    if view is not None:
        base = view.base
        if type(view) is not View or view.remake is not None or view.creation != DEFAULT:
            return None
    before = edge_node(operand) if path else None
    if before is None and path and requires_grad(operand):
        return None
    seen = new(operand._raw, operand._strides)
    if operand._offset:
        seen._offset = operand._offset
    seen._memory = memory = operand._memory or operand._storage
    seen._view = View(base, DEFAULT if path else NO_GRAD, memory.version)
    if operand._strides is None:
        seen._common = look
    if before is None:
        return seen
    expanded, viewed, aliased, _, _ = _plans()
    node = _Expanded() if before._meta == look else expand_.node_class()
    node._plan, node._run, node._only = expanded, expanded.straight, before
    node._kept = kept = (look[0],)
    if operand._nr:
        node._numbers = (operand._nr,)
    node._sequence = next_sequence()
    node._meta = look
    if operand._strides is None:
        plan, seen._node = viewed, _Viewed()
    else:
        plan, seen._node = aliased, _Aliased()
    following = seen._node
    following._plan, following._run, following._only = plan, plan.straight, node
    following._kept = kept
    following._sequence = next_sequence()
    following._meta = look
    return seen
