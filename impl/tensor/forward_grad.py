"""Forward AD: the dual level, and the tangents of tensors (csrc/autograd/forward_grad.h).

A dual tensor is a tensor with a tangent, its forward gradient. The tangent has the memory layout of
its primal: the tangent of a view is a view of the tangent of the base, and an in-place operation
writes the tangent in place. The forward rules of operators are in `impl.dispatch.forward_rules`.
"""

from __future__ import annotations

import weakref

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dtypes import DIFFERENTIABLE
from impl.core.registry import tensor_ops
from impl.core.state import STATE, block_fast_path_everywhere
from impl.core.strides import strided
from impl.tensor.lazy_conj import conj_neg_bits, with_bits
from impl.tensor.tensor import Tensor, new

_level: Level | None = None  # the only level, as nesting is not supported; process-wide


class Level:
    """A dual level: weak references to all holders of tangents, which are cleared at its exit."""

    number = 0

    def __init__(self) -> None:
        self.holders: list[weakref.ref] = []


def is_entered() -> bool:
    """Whether a dual level is active."""
    return _level is not None


def is_seen() -> bool:
    """Whether forward AD is on in this thread."""
    return STATE.forward and not STATE.inference


_NESTED = "Nested forward mode AD is not supported at the moment"


def refuse_nested() -> None:
    """Raise RuntimeError if a dual level is active, unless a transform has entered it."""
    if _level is not None and not any(transform.forward for transform in STATE.transforms):
        raise RuntimeError(_NESTED)


def enter() -> int:
    """Enter the dual level and return its number. Raises RuntimeError if one is active."""
    global _level
    if _level is not None or any(transform.forward for transform in STATE.transforms):
        raise RuntimeError(_NESTED)
    _level = Level()
    block_fast_path_everywhere(1)
    return _level.number


def leave() -> None:
    """Leave the dual level and clear all tangents. Raises RuntimeError if none is active."""
    global _level
    if _level is None:
        raise RuntimeError("Dual level must be a positive number.")
    for reference in _level.holders:
        holder = reference()
        if holder is not None:
            holder._tangent = None
    _level = None
    block_fast_path_everywhere(-1)


# -- tangents ---------------------------------------------------------------------------------


def fw_grad(tensor: Tensor) -> Tensor | None:
    """The tangent of a tensor, or None; that of a view may come from the tangent of its base."""
    if _level is None or not is_seen():
        return None
    tangent = tensor._tangent
    if tangent is None and tensor._view is not None:
        base = tensor._view.forward_base
        whole = None if base is None else fw_grad(base)
        if whole is not None:
            tangent = _part(whole, tensor)
            _attach(tensor, tangent)
    return tangent


def set_fw_grad(tensor: Tensor, tangent: Tensor, written: bool = False) -> None:
    """Set the tangent of a tensor that has none; copied if its memory layout differs.

    `written` says that the tensor was written in place: if it is a view, its base then gets a
    tangent too, zero outside the view. Raises RuntimeError if the tangent has a tangent itself, or
    another shape.
    """
    if fw_grad(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported."
        )
    if tensor._raw.shape != tangent._raw.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor._raw.shape)} while the "
            f"given forward gradient is of size {list(tangent._raw.shape)}."
        )
    base = tensor._view.forward_base if written and tensor._view is not None else None
    if base is not None and fw_grad(base) is None:
        if _alike(tangent, base) and _alike(tangent, tensor):
            whole = tangent
        else:
            whole = _zeros(base)
            tangent = _part(whole, tensor).copy_(tangent)
        _attach(base, whole)
    if not _alike(tangent, tensor):
        tangent = _zeros(tensor).copy_(tangent)
    _attach(tensor, tangent)


def _attach(tensor: Tensor, tangent: Tensor) -> None:
    assert _level is not None
    tensor._tangent = tangent
    _level.holders.append(weakref.ref(tensor))
    inference_mode.use_slow_path(tensor)  # also in threads that are running already


def pass_on(tangent: Tensor | None, to: Tensor) -> None:
    """Give a tensor that has no tangent the one of a tensor of the same shape, if that has one."""
    if tangent is not None and fw_grad(to) is None:
        _attach(to, tangent)


def note_on_node(output: Tensor) -> None:
    """Store the tangent of an output in its node, for when the output is unpacked as saved."""
    node = output._node
    if node is not None and output._tangent is not None:
        assert _level is not None
        if node._tangent is None:
            node._tangent = {}
            _level.holders.append(weakref.ref(node))
        node._tangent[output._nr] = output._tangent


def restore_from_node(output: Tensor, node) -> None:
    """Set the tangent of an unpacked output to the one stored by `note_on_node`."""
    if node._tangent is not None and output._nr in node._tangent:
        _attach(output, node._tangent[output._nr])


def snapshot(tensor: Tensor) -> tuple[Level, Tensor] | None:
    """The tangent of a tensor with its level, for `restore_snapshot`; None if there is none."""
    tangent = fw_grad(tensor)
    return None if tangent is None or _level is None else (_level, tangent)


def restore_snapshot(tensor: Tensor, kept: tuple[Level, Tensor] | None) -> None:
    """Set the tangent of a tensor from a `snapshot`, unless that level was left."""
    if kept is not None and kept[0] is _level:
        _attach(tensor, kept[1])


def is_used() -> bool:
    """Whether any tensor has a tangent and forward AD is on in this thread."""
    return _level is not None and bool(_level.holders) and is_seen()


def _part(whole: Tensor, view: Tensor) -> Tensor:
    view_fn = view._view.forward_view_fn
    if view_fn is not None:
        return view_fn(whole)
    return tensor_ops.as_strided(whole, view._raw.shape, view.stride(), view._offset)


def _alike(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have equal storage size, offset, sizes, strides and conj and neg bits."""
    if _room(a) != _room(b) or a._offset != b._offset or conj_neg_bits(a) != conj_neg_bits(b):
        return False
    shape = a._raw.shape
    if shape != b._raw.shape:
        return False
    strides = zip(shape, a.stride(), b.stride(), strict=True)
    return 0 in shape or all(n == 1 or mine == other for n, mine, other in strides)


def _room(tensor: Tensor) -> int:
    """The size of a tensor's storage in elements of the tensor's dtype."""
    return tensor._storage.flat.nbytes // tensor._raw.dtype.itemsize


def _zeros(like: Tensor) -> Tensor:
    """Zeros with the strides, offset and bits of a tensor, in a storage of the same size."""
    size = _room(like)
    result = new(np.zeros(size, like._raw.dtype))
    strides = like.stride()
    result._raw = strided(result._storage.flat, like._raw.shape, strides, like._offset)
    result._strides, result._offset = strides, like._offset
    return with_bits(result, *conj_neg_bits(like))


def can_have(tensor: Tensor) -> bool:
    """Whether the dtype of a tensor is differentiable, so that it can have a tangent."""
    return tensor._raw.dtype in DIFFERENTIABLE


def refuse_out(name: str, values) -> None:
    """Raise NotImplementedError if an argument or a result of a call with out= has a tangent."""
    _refuse(messages.FORWARD_OUT.format(name), values)


def refuse(name: str, *values) -> None:
    """Raise NotImplementedError if an argument of a kernel without a tangent has one."""
    _refuse(messages.FORWARD_UNKNOWN.format(name), values)


def _refuse(text: str, values) -> None:
    for value in values if _level is not None else ():
        if isinstance(value, (list, tuple)):
            _refuse(text, value)
        elif isinstance(value, Tensor) and fw_grad(value) is not None:
            raise NotImplementedError(text)
