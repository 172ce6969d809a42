"""Accumulation: how a gradient that reaches a leaf becomes, or joins, its `.grad`.

*AccumulateLeaf* of the specification's algorithms (reference/spec/00-algorithms.md).
"""

from __future__ import annotations

import itertools
import threading

import numpy as np
from numpy import ndarray

from impl.core import messages
from impl.core.ownership import is_unshared
from impl.core.registry import tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.core.sparse_array import SparseArray
from impl.core.state import STATE
from impl.core.strides import (
    contiguous_strides,
    element_strides,
    empty_strided,
    is_contiguous,
    is_dense,
)
from impl.core.warning import warn_after_pass
from impl.engine import sparse_accumulation
from impl.tensor import memory_overlap, write
from impl.tensor.lazy_conj import SOURCES, source_of
from impl.tensor.tensor import Tensor, is_asked, new

# Several threads may accumulate into one leaf; a hook on a saved tensor may start a backward in
# here.
_ONE_AT_A_TIME = threading.RLock()


def accumulate(form, leaf: Tensor, gradient, version: int) -> None:
    """Add `gradient`, an array or a recorded tensor of the leaf's shape, to `leaf.grad`.

    In place over arrays; out of place, and recorded, over tensors (`create_graph`). `version` is
    the gradient's. A first gradient that only a local name of the caller holds becomes the `.grad`
    itself; any other is copied. Raises RuntimeError for a leaf that has got a history since.
    """
    if gradient is None:
        return
    if leaf._node is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    if not leaf._requires_grad:
        return
    with _ONE_AT_A_TIME:
        if form.records:
            if STATE.enabled:
                _accumulate_recorded(leaf, gradient)
            else:
                _accumulate_dual(leaf, gradient)
            return
        held = leaf._own_grad
        # AccumulateLeaf 2, or else AccumulateLeaf 3
        if held is None:
            leaf._own_grad = _first(form, leaf, gradient, version)
        elif held.is_sparse:
            sparse_accumulation.accumulate_into(leaf, held, gradient)
        else:
            value = held._raw + gradient
            memory_overlap.check_memory(held, ())
            memory_overlap.check_fits(held, value)
            write.write(held, value)
            _warn_of_layout(leaf)


def _first(form, leaf: Tensor, gradient, version: int) -> Tensor:
    """The first gradient: taken over if nothing else holds it, else copied in the leaf's layout.

    The layout is the leaf's where the leaf is dense, row-major otherwise
    (torch/csrc/autograd/functions/accumulate_grad.h, "Gradient Layout Contract"). A sparse leaf
    takes no dense gradient over.
    """
    if type(leaf._raw) is SparseArray and type(gradient) is ndarray and STATE.layout_policy:
        return new(np.array(gradient, order="C"))
    # After `data` has been set, which resets the meta, the leaf may have another shape.
    altered = leaf._dense_meta is None and gradient.shape != leaf._raw.shape
    row_major = leaf._strides is None and type(gradient) is ndarray and not altered
    if row_major and 1 in gradient.shape:  # strides stay as the backward pass made them
        row_major = _strides(gradient) == contiguous_strides(gradient.shape)
    if row_major and gradient.flags.c_contiguous:
        owner = gradient.base
        whole = owner is None or (
            type(owner) is ndarray
            and owner.base is None
            and owner.size == gradient.size
            and 0 not in gradient.strides  # which mark an expanded gradient
            and id(owner) not in form.bases
            and is_unshared(owner, holders=1)  # the view
            and (not SOURCES or source_of(gradient) is None)
        )
        if whole and is_unshared(gradient, frames=2) and id(gradient) not in form.given:
            result = new(gradient)  # the common case of what follows
            if gradient.dtype is leaf._raw.dtype:
                result._dense_meta = leaf._dense_meta
            if version:
                result._storage.version = version
            return result
        del owner
    elif row_major and gradient.size and STATE.layout_policy:
        return _copied(np.array(gradient, order="C"), None)
    elif type(gradient) is SparseArray:
        unshared = is_unshared(gradient, frames=2)
        return sparse_accumulation.first(gradient, unshared)
    shape, strides = leaf._raw.shape, leaf.stride()
    if is_unshared(gradient, frames=2) and (
        _obeys(gradient.shape, _strides(gradient), shape, strides) or not STATE.layout_policy
    ):
        result = form.to_tensor(gradient).detach()
        result._storage.version = max(result._storage.version, version)
        return result
    if altered:
        memory_overlap.check_shape(shape, broadcast_shapes(shape, gradient.shape))
    if not is_dense(shape, strides):
        return new(np.array(gradient, order="C"))
    copy = empty_strided(shape, strides, gradient.dtype)
    copy[...] = gradient
    return _copied(copy, leaf._strides)


def _copied(copy, strides) -> Tensor:
    """A tensor made by copying into new memory, which counts as a write."""
    result = new(copy, strides)
    result._storage.version = 1
    return result


def _accumulate_recorded(leaf: Tensor, gradient: Tensor) -> None:
    held = leaf._own_grad
    if held is not None and held.is_sparse and not gradient.is_sparse:
        leaf._own_grad = gradient + held
    elif held is not None:
        leaf._own_grad = held + gradient
        _warn_of_layout(leaf)
    elif gradient.is_sparse:
        leaf._own_grad = gradient.clone()
    else:
        leaf._own_grad = tensor_ops.clone_for_leaf(gradient, leaf)


def _accumulate_dual(leaf: Tensor, gradient: Tensor) -> None:
    """Accumulate tensors that are not recorded.

    Tangents survive an addition but not the first assignment, which detaches.
    """
    held = leaf._own_grad
    if held is not None:
        if held.is_sparse and not gradient.is_sparse:
            leaf._own_grad = gradient + held
        else:
            held.add_(gradient)
            _warn_of_layout(leaf)
        return
    unshared = is_unshared(gradient, frames=2)
    if gradient.is_sparse:
        leaf._own_grad = sparse_accumulation.first(gradient._raw, unshared)
    elif unshared and _obeys(
        gradient._raw.shape, gradient.stride(), leaf._raw.shape, leaf.stride()
    ):
        leaf._own_grad = gradient.detach()
    else:
        asks = is_asked(gradient)  # a mode, or its class, which copies it as it is
        source = gradient if asks else gradient.detach()
        leaf._own_grad = tensor_ops.clone_for_leaf(source, leaf)


def _strides(gradient) -> tuple[int, ...]:
    """An array's strides; of an empty one that is no view, as an expanded one is, NumPy knows
    none."""
    known = gradient.size or gradient.base is not None
    return element_strides(gradient) if known else contiguous_strides(gradient.shape)


def _obeys(own_shape, own, shape, strides) -> bool:
    """Whether a gradient's strides are those of a leaf, or row-major where that is not dense."""
    if is_dense(shape, strides):
        # A stride of zero marks an expanded gradient, which is a view, whatever its size.
        # Beyond the leaf's dimensions, as it had more before `data` was set, sizes are one.
        return all(
            a == b if n != 1 else a != 0
            for a, b, n in itertools.zip_longest(own, strides[: len(own)], own_shape)
        )
    return is_contiguous(own_shape, own)


def _warn_of_layout(leaf: Tensor) -> None:
    """Warn when a `.grad` the user gave has another layout than the leaf asks for."""
    shape, strides = leaf._raw.shape, leaf.stride()
    if leaf._strides is None and leaf._own_grad._strides is None:
        return
    if leaf.is_sparse or leaf._own_grad.is_sparse:
        return
    own = leaf._own_grad.stride()
    if STATE.layout_policy and not _obeys(shape, own, shape, strides):
        warn_after_pass(messages.layout_contract(shape, own, strides), once="layout contract")
