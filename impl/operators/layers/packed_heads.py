"""The heads of query, key and value in a packed projection, with a fused fast path.

`torch.nn.functional.multi_head_attention_forward` composes them of a copy and fourteen views. One
function makes the copy and records the same nodes; and where nothing observes those nodes, another
takes the gradients of all heads back through them at once, to where they lie in the projection.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from impl.core.state import STATE
from impl.core.strides import contiguous_strides
from impl.dispatch import fused
from impl.operators.copies.copies import clone_layout
from impl.operators.views.shape import squeeze_dim, unsqueeze, view_
from impl.operators.views.slicing import select
from impl.operators.views.transposition import transpose
from impl.tensor import function_modes
from impl.tensor.tensor import Tensor, dense_meta, new

_PARTS = 3
_CHAIN = (view_, unsqueeze, transpose, squeeze_dim, clone_layout)  # from the projection on
_NODES_BEFORE = 5  # the nodes of `_CHAIN`
_NODES_OF_A_HEAD = 4  # select, view, transpose, view


class _Layout(NamedTuple):
    """The sizes and strides of the heads, and the saved values and metas of the nodes."""

    memory: tuple[int, ...]  # sizes of the copy: (3, length, batch, width)
    shape: tuple[int, ...]  # sizes of the heads: (batch * heads, length, head)
    strides: tuple[int, ...]
    chain: tuple  # for each node of `_CHAIN` its saved values and its meta
    parts: tuple  # for each part the saved values of its selection
    metas: tuple  # of a part, of that split into heads, and of the heads


@functools.lru_cache(256)
def _layout(length: int, batch: int, packed: int, heads: int, kind) -> _Layout:
    def meta(*shape):
        return fused.tensor_meta(np.empty(shape, kind))

    width, rows = packed // _PARTS, batch * heads
    head = width // heads
    memory = (_PARTS, length, batch, width)
    split, lifted = (length, batch, _PARTS, width), (1, length, batch, _PARTS, width)
    turned = (_PARTS, length, batch, 1, width)
    chain = (
        (((length, batch, packed),), meta(*split)),
        ((0,), meta(*lifted)),
        ((0, -2), meta(*turned)),
        ((-2, turned), meta(*memory)),
        ((), meta(*memory)),
    )
    shape, strides = (rows, length, head), (head, batch * width, 1)
    parts = tuple((0, part, memory) for part in range(_PARTS))
    metas = (meta(length, batch, width), meta(length, rows, head), meta(*shape))
    return _Layout(memory, shape, strides, chain, parts, metas)


@functools.cache
def _plans():
    """The nodes' plans. The assertion checks the order of saved values that `_layout` relies on."""
    plans = {op: op.plan(1, True) for op in (*_CHAIN, select)}
    names = [plans[op].names for op in (view_, transpose, squeeze_dim, select)]
    shape = "self_shape"
    assert names == [[shape], ["dim0", "dim1"], ["dim", shape], ["dim", "index", shape]]
    return plans


def packed_heads(projection: Tensor, heads: int) -> tuple[Tensor, ...] | None:
    """Query, key and value, (batch * heads, length, head) each, of a projection (length, batch,
    3 * heads * head) that packs them; None for one that needs the composition."""
    path = STATE.fast_path
    if path is None or STATE.view_replay or function_modes.are_active():
        return None
    meta = projection._dense_meta or dense_meta(projection)
    if meta is None or projection._view is not None or projection._nr or not projection._node:
        return None
    (length, batch, packed), kind = meta
    if not path or length * batch == 1:  # of which the composition makes no copy
        return None
    layout, plans = _layout(length, batch, packed, heads, kind), _plans()
    raw = np.empty(layout.memory, kind)
    raw[...] = projection._raw.reshape(length, batch, _PARTS, -1).transpose(2, 0, 1, 3)
    copy, node = new(raw), projection._node
    for operator, (saved, node_meta) in zip(_CHAIN, layout.chain, strict=True):
        following = operator.node_class()
        fused.record(copy, following, plans[operator], node, saved, node_meta)
        node = following
    copy._dense_meta = node._meta
    selections = []
    for saved in layout.parts:
        selection = select.node_class()
        fused.record(copy, selection, plans[select], node, saved, layout.metas[0])
        selections.append(selection)
    copy._node = node
    return tuple(_heads(copy, layout, part, node) for part, node in enumerate(selections))


def _heads(copy: Tensor, layout: _Layout, part: int, selection) -> Tensor:
    """One part as a view of the copy, behind the node that selects it."""
    plans, size = _plans(), copy._raw.itemsize
    offset = part * copy._raw.size // _PARTS
    steps = [s * size for s in layout.strides]
    raw = np.ndarray(layout.shape, copy._raw.dtype, copy._raw, offset * size, steps)
    row_major = layout.strides == contiguous_strides(layout.shape)
    view = fused.view_of(copy, copy, raw, None if row_major else layout.strides)
    if offset:
        view._offset = offset
    splitting, turning = view_.node_class(), _Heads()
    of_part, of_split, of_heads = layout.metas
    fused.record(view, splitting, plans[view_], selection, (of_part[0],), of_split)
    fused.record(view, turning, plans[transpose], splitting, (0, 1), of_heads)
    return view


_turn = transpose.node_class
_Heads = type(_turn.__name__, (_turn,), {"__slots__": (), "__module__": _turn.__module__})
"""The node class of the last view that `packed_heads` records of each part."""


def before_heads(nodes, dependencies: dict):
    """The node of the packed projection, if it is there that the gradients of the three heads, and
    no other gradients, go from the views `nodes` of them, and nothing observes the nodes between.
    None if not."""
    copies = []
    for node in nodes:
        if node is None or type(node._next_node) is not _Heads:
            return None
        for _ in range(_NODES_OF_A_HEAD):
            if node._compiled_backward is None or dependencies.get(node, 1) != 1:
                return None
            node = node._next_node
        copies.append(node)
    node = copies[0]
    if any(copy is not node for copy in copies) or dependencies.get(node) != _PARTS:
        return None
    for _ in range(_NODES_BEFORE):
        if node._compiled_backward is None or dependencies.get(node, 1) not in (1, _PARTS):
            return None
        node = node._next_node
    return node if node._compiled_backward is not None else None


def heads_in(whole, batch: int, heads: int, length: int, head: int) -> list:
    """The heads of query, key and value, (batch, heads, length, head), as views of an array of a
    packed projection."""
    packed = whole.reshape(length, batch, _PARTS, heads, head)
    return list(packed.transpose(2, 1, 3, 0, 4))
