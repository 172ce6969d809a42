"""CopySlices: a write through a view, as the base's history has it."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from impl import messages
from impl.geometries import Geometry, geometry
from impl.graph import Node, gradient_edge, next_sequence
from impl.operator import TAPED, new
from impl.storage import contiguous_strides, extent, repeats, strided
from impl.tensor import Tensor


class _SlicePlan:
    """What the engine asks of a plan: of a write through a view that alone requires grad."""

    single = 0
    fits = True
    made = 2  # as `CopySlices.versions`


def _run_row_major(node: CopySlices, gradient, keep: bool, wanted):
    """`_evaluate` for the only edge, of which the engine needs neither lists nor tensors."""
    inner = node._inner
    if inner is None:
        raise RuntimeError(messages.FREED)
    # Held by the engine's name and ours, and by the call's own: then it need not be copied.
    mine = sys.getrefcount(gradient) == 3 and gradient.base is None
    whole = gradient if mine and gradient.flags.c_contiguous else np.array(gradient, order="C")
    part = node._part(whole)
    part[...] = inner._run(inner, part, True, None)
    if not keep:
        node._inner = None
    return whole


class CopySlices(Node):
    """A write through a view, seen from the base: the slice's node within the base's gradient."""

    __slots__ = (
        "_branches",
        "_geometries",
        "_inner",
        "_kind",
        "_meta",
        "_offset",
        "_only",
        "_remake",
        "_run",
        "_sequence",
    )

    # The base's gradient is a copy, of which the slice is then written.
    _versions: Any = {0: 2}  # noqa: RUF012  never written to
    _makes_gradient = True
    _plan = _SlicePlan
    _kind: Any  # the class of `_inner`, which is known when that is freed

    def __init__(self, base: Tensor, target: Tensor, inner: Node) -> None:
        super().__init__()
        self._only = self._run = None
        self._geometries: tuple | None = (geometry(base), geometry(target))
        self._offset = target._offset - base._offset
        assert target._view is not None
        self._remake = target._view.remake  # where it takes more than a geometry to make the slice
        self._inner: Node | None = inner
        self._takes_real_part = inner._takes_real_part
        self._connect((gradient_edge(base), *inner._edges()[1:]))
        self._describe((base,))

    @classmethod
    def _row_major(cls, base: Tensor, target: Tensor, inner: Node, meta) -> CopySlices:
        """The node for a base, whose `meta_of` is given, and a view of it that both are row-major.

        `inner` has no edge to the view, and none to a further output of a node.
        """
        self = object.__new__(cls)
        self._sequence = next_sequence()
        self._geometries = self._remake = None
        self._offset = target._offset - base._offset
        self._inner = inner
        self._kind = type(inner)
        self._meta = meta
        if inner._run is not None and inner._only is not None and inner._plan.single == 0:
            self._only = base._node
            self._run = _run_row_major
        else:
            self._only = self._run = None
            self._branches = (base._node, *inner._targets()[1:])
        if base._nr:
            self._numbers = (base._nr,) + (0,) * (len(self._targets()) - 1)
        return self

    def _targets(self) -> tuple:
        if self._only is None:
            return self._branches
        return (self._only,) + (None,) * (len(self._kind._operator.edge_of) - 1)

    @property
    def _operator(self):
        """That of the slice's node: as it is of dimensions in another order, so is this."""
        return self._kind._operator

    @property
    def _base(self) -> Geometry:
        """Of the base; from its first element if it is row-major."""
        if self._geometries is not None:
            return self._geometries[0]
        shape = self._shape_of(0)
        return Geometry(shape, contiguous_strides(shape), 0)

    @property
    def _slice(self) -> Geometry:
        """Of the view, from where that of the base begins."""
        if self._geometries is not None:
            return self._geometries[1]
        assert self._inner is not None
        shape = self._inner._shape_of(0)
        return Geometry(shape, contiguous_strides(shape), self._offset)

    def _evaluate(self, grads, interpretation, wanted):
        if self._inner is None:
            raise RuntimeError(messages.FREED)
        gradient = grads[0]
        if gradient is None:
            return [None] * len(self._targets())
        if interpretation.records:
            return self._evaluate_tensors(gradient, interpretation, wanted)
        if self._remake is not None:
            whole, *others = self._evaluate_tensors(new(gradient), interpretation, wanted)
            return [None if whole is None else whole._raw, *others]
        if self._geometries is None:
            whole = np.array(gradient, order="C")
            part = self._part(whole)
        else:
            whole, part = self._copied(gradient)
        inner = self._of_slice(part.copy(), interpretation, wanted)
        if self._inner._authored and (inner[0] is None or self._targets()[0] is None):
            # As torch has it: the rest of the base gets no gradient either.
            return [None, *inner[1:]]
        if inner[0] is None:
            part[...] = 0
        else:
            if self._geometries is not None and repeats(self._slice.shape, self._slice.strides):
                raise RuntimeError(messages.OVERLAP)
            if self._inner._authored:
                _check_part(part, inner[0])
            part[...] = inner[0]
        inner[0] = whole
        return inner

    def _part(self, whole):
        """The slice of the gradient of a row-major base."""
        flat = whole if whole.ndim == 1 else whole.reshape(-1)
        assert self._inner is not None
        meta = self._inner._meta
        shape: tuple[int, ...] = meta[0] if type(meta) is tuple else ()
        if len(shape) == 1:
            return flat[self._offset : self._offset + shape[0]]
        return flat[self._offset : self._offset + math.prod(shape)].reshape(shape)

    def _copied(self, gradient):
        """A copy of the base's gradient with the strides of the base, and the slice of it."""
        base = self._base
        if base.strides == contiguous_strides(base.shape):
            whole = np.array(gradient, order="C")
            flat = whole.reshape(-1)
        else:
            flat = np.zeros(extent(base.shape, base.strides), gradient.dtype)
            whole = strided(flat, base.shape, base.strides, 0)
            whole[...] = gradient
        return whole, strided(flat, self._slice.shape, self._slice.strides, self._offset)

    def _of_slice(self, gradient, interpretation, wanted) -> list:
        inner = self._inner
        assert inner is not None
        if inner._run is None or interpretation.records:
            return inner._evaluate([gradient], interpretation, wanted)
        result = inner._run(inner, gradient, True, wanted)
        if inner._only is None:
            return result
        gradients = [None] * len(self._targets())
        gradients[inner._plan.single] = result
        return gradients

    def _evaluate_tensors(self, gradient: Tensor, interpretation, wanted):
        whole = TAPED.clone_strided(gradient, self._base.shape, self._base.strides)
        if self._remake is not None:
            part = self._remake(whole)
        else:
            part = TAPED.as_strided(whole, self._slice.shape, self._slice.strides, self._offset)
        assert self._inner is not None
        copy = part.clone()
        inner = self._inner._evaluate(
            [copy if interpretation.records else copy._raw], interpretation, wanted
        )
        if self._inner._authored and (inner[0] is None or self._targets()[0] is None):
            return [None, *inner[1:]]
        if inner[0] is None:
            part.zero_()
        else:
            part.copy_(inner[0] if interpretation.records else new(inner[0]))
        return [whole, *inner[1:]]

    def _release(self) -> None:
        self._inner = None


def _check_part(part: np.ndarray, gradient) -> None:
    """Whether what the author of a Function returned can be written as the slice's gradient."""
    shape = part.shape
    try:
        whole = np.broadcast_shapes(shape, gradient.shape)
    except ValueError:
        raise RuntimeError(messages.broadcast([shape, gradient.shape])) from None
    if whole != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(whole)}"
        )
