"""CopySlices: a write through a view, as the base's history has it."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from impl import messages
from impl.graph import Node, gradient_edge, next_sequence
from impl.operator import TAPED, new
from impl.storage import contiguous_strides, extent, repeats, strided
from impl.tensor import Tensor
from impl.views import Geometry, geometry


class _SlicePlan:
    """What the engine asks of a plan: of a write through a view that alone requires grad."""

    single = 0
    fits = True
    made = 2  # as `CopySlices.versions`


def _run_row_major(node: CopySlices, gradient, keep: bool, wanted):
    """`evaluate` for the only edge, of which the engine needs neither lists nor tensors."""
    inner = node.inner
    if inner is None:
        raise RuntimeError(messages.FREED)
    # Held by the engine's name and ours, and by the call's own: then it need not be copied.
    mine = sys.getrefcount(gradient) == 3 and gradient.base is None
    whole = gradient if mine and gradient.flags.c_contiguous else np.array(gradient, order="C")
    part = node._part(whole)
    part[...] = inner._run(inner, part, True, None)
    if not keep:
        node.inner = None
    return whole


class CopySlices(Node):
    """A write through a view, seen from the base: the slice's node within the base's gradient."""

    __slots__ = (
        "_geometries",
        "_run",
        "branches",
        "inner",
        "kind",
        "meta",
        "offset",
        "only",
        "remake",
        "sequence",
    )

    # The base's gradient is a copy, of which the slice is then written.
    versions: Any = {0: 2}  # noqa: RUF012  never written to
    makes_gradient = True
    plan = _SlicePlan
    kind: Any  # the class of `inner`, which is known when that is freed

    def __init__(self, base: Tensor, target: Tensor, inner: Node) -> None:
        super().__init__()
        self.only = self._run = None
        self._geometries: tuple | None = (geometry(base), geometry(target))
        self.offset = target._offset - base._offset
        assert target._view is not None
        self.remake = target._view.remake  # where it takes more than a geometry to make the slice
        self.inner: Node | None = inner
        self.takes_real_part = inner.takes_real_part
        self.connect((gradient_edge(base), *inner.edges()[1:]))
        self.describe((base,))

    @classmethod
    def row_major(cls, base: Tensor, target: Tensor, inner: Node, meta) -> CopySlices:
        """The node for a base, whose `meta_of` is given, and a view of it that both are row-major.

        `inner` has no edge to the view, and none to a further output of a node.
        """
        self = object.__new__(cls)
        self.sequence = next_sequence()
        self._geometries = self.remake = None
        self.offset = target._offset - base._offset
        self.inner = inner
        self.kind = type(inner)
        self.meta = meta
        if inner._run is not None and inner.only is not None and inner.plan.single == 0:
            self.only = base._node
            self._run = _run_row_major
        else:
            self.only = self._run = None
            self.branches = (base._node, *inner.targets()[1:])
        if base._nr:
            self.numbers = (base._nr,) + (0,) * (len(self.targets()) - 1)
        return self

    def targets(self) -> tuple:
        if self.only is None:
            return self.branches
        return (self.only,) + (None,) * (len(self.kind.operator.edge_of) - 1)

    @property
    def base(self) -> Geometry:
        """Of the base; from its first element if it is row-major."""
        if self._geometries is not None:
            return self._geometries[0]
        shape = self.shape_of(0)
        return Geometry(shape, contiguous_strides(shape), 0)

    @property
    def slice(self) -> Geometry:
        """Of the view, from where that of the base begins."""
        if self._geometries is not None:
            return self._geometries[1]
        assert self.inner is not None
        shape = self.inner.shape_of(0)
        return Geometry(shape, contiguous_strides(shape), self.offset)

    def evaluate(self, grads, interpretation, wanted):
        if self.inner is None:
            raise RuntimeError(messages.FREED)
        gradient = grads[0]
        if gradient is None:
            return [None] * len(self.targets())
        if interpretation.records:
            return self._evaluate_tensors(gradient, interpretation, wanted)
        if self.remake is not None:
            whole, *others = self._evaluate_tensors(new(gradient), interpretation, wanted)
            return [None if whole is None else whole._raw, *others]
        if self._geometries is None:
            whole = np.array(gradient, order="C")
            part = self._part(whole)
        else:
            whole, part = self._copied(gradient)
        inner = self._of_slice(part.copy(), interpretation, wanted)
        if self.inner.authored and (inner[0] is None or self.targets()[0] is None):
            # As torch has it: the rest of the base gets no gradient either.
            return [None, *inner[1:]]
        if inner[0] is None:
            part[...] = 0
        else:
            if self._geometries is not None and repeats(self.slice.shape, self.slice.strides):
                raise RuntimeError(messages.OVERLAP)
            if self.inner.authored:
                _check_part(part, inner[0])
            part[...] = inner[0]
        inner[0] = whole
        return inner

    def _part(self, whole):
        """The slice of the gradient of a row-major base."""
        flat = whole if whole.ndim == 1 else whole.reshape(-1)
        assert self.inner is not None
        meta = self.inner.meta
        shape: tuple[int, ...] = meta[0] if type(meta) is tuple else ()
        if len(shape) == 1:
            return flat[self.offset : self.offset + shape[0]]
        return flat[self.offset : self.offset + math.prod(shape)].reshape(shape)

    def _copied(self, gradient):
        """A copy of the base's gradient with the strides of the base, and the slice of it."""
        base = self.base
        if base.strides == contiguous_strides(base.shape):
            whole = np.array(gradient, order="C")
            flat = whole.reshape(-1)
        else:
            flat = np.zeros(extent(base.shape, base.strides), gradient.dtype)
            whole = strided(flat, base.shape, base.strides, 0)
            whole[...] = gradient
        return whole, strided(flat, self.slice.shape, self.slice.strides, self.offset)

    def _of_slice(self, gradient, interpretation, wanted) -> list:
        inner = self.inner
        assert inner is not None
        if inner._run is None or interpretation.records:
            return inner.evaluate([gradient], interpretation, wanted)
        result = inner._run(inner, gradient, True, wanted)
        if inner.only is None:
            return result
        gradients = [None] * len(self.targets())
        gradients[inner.plan.single] = result
        return gradients

    def _evaluate_tensors(self, gradient: Tensor, interpretation, wanted):
        whole = TAPED.clone_strided(gradient, self.base.shape, self.base.strides)
        if self.remake is not None:
            part = self.remake(whole)
        else:
            part = TAPED.as_strided(whole, self.slice.shape, self.slice.strides, self.offset)
        assert self.inner is not None
        copy = part.clone()
        inner = self.inner.evaluate(
            [copy if interpretation.records else copy._raw], interpretation, wanted
        )
        if self.inner.authored and (inner[0] is None or self.targets()[0] is None):
            return [None, *inner[1:]]
        if inner[0] is None:
            part.zero_()
        else:
            part.copy_(inner[0] if interpretation.records else new(inner[0]))
        return [whole, *inner[1:]]

    def release(self) -> None:
        self.inner = None


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
