"""CopySlices: the grad_fn of a base after a write through a view (autograd/functions/tensor.h)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impl.core import messages
from impl.core.memory_formats import contiguous_format
from impl.core.ownership import is_unshared
from impl.core.registry import tensor_ops
from impl.core.strides import (
    contiguous_strides,
    empty_strided,
    has_zero_strides,
    strided,
)
from impl.graph.edge import gradient_edge
from impl.graph.input_metadata import shape_and_dtype
from impl.graph.node import Node, next_sequence
from impl.tensor.geometry import Geometry, check_offset, check_room, geometry
from impl.tensor.tensor import Tensor, new


class _SlicePlan:
    """The attributes of GradientPlan that the engine reads, for a node with one edge, the base."""

    single = 0
    fits = True
    version = 2  # as `CopySlices._versions`


def _compiled_row_major(node: CopySlices, gradient, keep: bool, wanted):
    """The compiled backward of a row-major CopySlices with one edge: `_evaluate` on arrays."""
    inner = node._fn
    if inner is None:
        raise RuntimeError(messages.FREED)
    # One frame: the engine passes its local name. An unshared gradient needs no copy, if it is an
    # array: a 0-dim one may be a NumPy scalar, of which every view is a copy.
    mine = type(gradient) is np.ndarray and is_unshared(gradient, frames=1)
    mine = mine and gradient.base is None and gradient.flags.c_contiguous
    whole = gradient if mine else np.array(gradient, order="C")
    part = node._part(whole)
    part[...] = inner._compiled_backward(inner, part, True, None)
    if not keep:
        node._fn = None
    return whole


class CopySlices(Node):
    """The grad_fn of a base after a write through a view (torch's CopySlices).

    `_fn` is the node of the write. Backward copies the gradient of the base, applies `_fn` to its
    slice, and writes the result to the slice of the copy.
    """

    __module__ = "builtins"  # as of a C++ class

    __slots__ = (
        "_compiled_backward",
        "_fn",
        "_geometries",
        "_kind",
        "_meta",
        "_next_node",
        "_next_nodes",
        "_offset",
        "_sequence",
        "_view_fn",
    )

    # The outgoing gradient of the base is a copy that was written twice (copy and slice); to these
    # come the gradients of other operands that the formula of the write makes in place.
    _versions: Any = {0: 2}  # noqa: RUF012  never written to
    _makes_gradient = True
    _plan = _SlicePlan
    _kind: Any  # the class of `_fn`, kept after that is released

    def __init__(self, base: Tensor, target: Tensor, inner: Node) -> None:
        super().__init__()
        self._next_node = self._compiled_backward = None
        self._geometries: tuple | None = (geometry(base), geometry(target))
        self._offset = target._offset - base._offset
        assert target._view is not None
        self._view_fn = target._view.view_fn  # None: as_strided makes the slice of the gradient
        self._fn: Node | None = inner
        self._takes_real_part = inner._takes_real_part
        if inner._versions is not None:
            self._versions = {**inner._versions, **CopySlices._versions}
        self._set_next_edges((gradient_edge(base), *inner._edges()[1:]))
        self._set_input_metadata((base,))

    @classmethod
    def _row_major(cls, base: Tensor, target: Tensor, inner: Node, meta) -> CopySlices:
        """The node for a row-major base with `tensor_meta` `meta`, and a row-major view of it.

        `inner` has no edge to the view, and all its edges have output number 0.
        """
        self = object.__new__(cls)
        self._sequence = next_sequence()
        self._geometries = self._view_fn = None
        self._offset = target._offset - base._offset
        self._fn = inner
        self._kind = type(inner)
        self._meta = meta
        if inner._versions is not None:
            self._versions = {**inner._versions, **CopySlices._versions}
        if (
            inner._compiled_backward is not None
            and inner._next_node is not None
            and inner._plan.single == 0
        ):
            self._next_node = base._node
            self._compiled_backward = _compiled_row_major
        else:
            self._next_node = self._compiled_backward = None
            self._next_nodes = (base._node, *inner._edge_nodes()[1:])
        if base._nr:
            self._input_nrs = (base._nr,) + (0,) * (len(self._edge_nodes()) - 1)
        return self

    def _edge_nodes(self) -> tuple:
        if self._next_node is None:
            return self._next_nodes
        return (self._next_node,) + (None,) * (len(self._kind._operator.edge_of) - 1)

    @property
    def _operator(self):
        """The operator of the write, which determines `layout_sensitive` for this node too."""
        return self._kind._operator

    @property
    def _base(self) -> Geometry:
        """The geometry of the base; with offset 0 if both are row-major."""
        if self._geometries is not None:
            return self._geometries[0]
        shape = self._shape_of(0)
        return Geometry(shape, contiguous_strides(shape), 0)

    @property
    def _slice(self) -> Geometry:
        """The geometry of the view; with the offset relative to the base if both are row-major."""
        if self._geometries is not None:
            return self._geometries[1]
        assert self._fn is not None
        shape = self._fn._shape_of(0)
        return Geometry(shape, contiguous_strides(shape), self._offset)

    def _evaluate(self, grads, form, wanted):
        if self._fn is None:
            raise RuntimeError(messages.FREED)
        gradient = grads[0]
        if gradient is None:
            return [None] * len(self._edge_nodes())
        if form.records:
            return self._evaluate_tensors(gradient, form, wanted)
        if self._view_fn is not None:
            whole, *others = self._evaluate_tensors(new(gradient), form, wanted)
            return [None if whole is None else whole._raw, *others]
        if self._geometries is None:
            whole = np.array(gradient, order="C")
            part = self._part(whole)
        else:
            whole, part = self._copied(gradient)
        inner = self._of_slice(part.copy(), form, wanted)
        if self._fn._is_custom_function and (inner[0] is None or self._edge_nodes()[0] is None):
            # As in torch, the base then gets no gradient at all.
            return [None, *inner[1:]]
        if inner[0] is None:
            part[...] = 0
        else:
            if self._geometries is not None and has_zero_strides(
                self._slice.shape, self._slice.strides
            ):
                raise RuntimeError(messages.OVERLAP)
            if self._fn._is_custom_function:
                _check_part(part, inner[0])
            part[...] = inner[0]
        inner[0] = None if self._edge_nodes()[0] is None else whole
        return inner

    def _part(self, whole):
        """The slice of the gradient of a row-major base."""
        if self._offset < 0:  # as_strided may reach before the base
            check_offset(self._offset)
        flat = whole if whole.ndim == 1 else whole.reshape(-1)
        assert self._fn is not None
        meta = self._fn._meta
        shape: tuple[int, ...] = shape_and_dtype(meta)[0]
        if len(shape) == 1:
            return flat[self._offset : self._offset + shape[0]]
        return flat[self._offset : self._offset + math.prod(shape)].reshape(shape)

    def _copied(self, gradient):
        """A copy of the base's gradient with the strides of the base, and the slice of it."""
        base = self._base
        check_offset(self._offset)
        if base.strides == contiguous_strides(base.shape):
            whole = np.array(gradient, order="C")
            flat = whole.reshape(-1)
        else:
            if has_zero_strides(base.shape, base.strides):  # the gradient cannot be copied into it
                raise RuntimeError(messages.OVERLAP)
            whole = empty_strided(base.shape, base.strides, gradient.dtype)
            whole[...] = gradient
            flat = whole if whole.base is None else np.asarray(whole.base)
        target = self._slice._replace(offset=self._offset)
        check_room(target, flat.itemsize, flat.nbytes)  # for a view that got other memory by set_
        return whole, strided(flat, *target)

    def _of_slice(self, gradient, form, wanted) -> list:
        inner = self._fn
        assert inner is not None
        if inner._compiled_backward is None or form.records:
            return inner._evaluate([gradient], form, wanted)
        result = inner._compiled_backward(inner, gradient, True, wanted)
        if inner._next_node is None:
            return result
        gradients = [None] * len(self._edge_nodes())
        gradients[inner._plan.single] = result
        return gradients

    def _evaluate_tensors(self, gradient: Tensor, form, wanted):
        whole = tensor_ops.clone_strided(gradient, self._base.shape, self._base.strides)
        if self._view_fn is not None:
            part = self._view_fn(whole)
        else:
            part = tensor_ops.as_strided(
                whole, self._slice.shape, self._slice.strides, self._offset
            )
        assert self._fn is not None
        copy = part.clone(memory_format=contiguous_format)
        inner = self._fn._evaluate([copy if form.records else copy._raw], form, wanted)
        if self._fn._is_custom_function and (inner[0] is None or self._edge_nodes()[0] is None):
            return [None, *inner[1:]]
        if inner[0] is None:
            part.zero_()
        else:
            part.copy_(inner[0] if form.records else new(inner[0]))
        return [None if self._edge_nodes()[0] is None else whole, *inner[1:]]

    def _release(self) -> None:
        self._fn = None


def _check_part(part: np.ndarray, gradient) -> None:
    """Raise RuntimeError if a custom backward's gradient does not broadcast to the slice."""
    shape = part.shape
    try:
        whole = np.broadcast_shapes(shape, gradient.shape)
    except ValueError:
        raise RuntimeError(messages.broadcast([shape, gradient.shape])) from None
    if whole != shape:
        raise RuntimeError(messages.OUTPUT_SHAPE.format([*shape], [*whole]))
