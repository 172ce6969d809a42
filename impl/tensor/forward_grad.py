"""Forward AD: the dual level, and the tangents of tensors (csrc/autograd/forward_grad.h).

A dual tensor is a tensor with a tangent, its forward gradient. The tangent has the memory layout of
its primal: the tangent of a view is a view of the tangent of the base, and an in-place operation
writes the tangent in place. The forward rules of operators are in `impl.dispatch.forward_rules`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dtypes import DIFFERENTIABLE
from impl.core.registry import tensor_ops
from impl.core.state import STATE, block_fast_path_everywhere
from impl.tensor.batched_tensor import levels_of, physical, repeated
from impl.tensor.lazy_conj import conj_neg_bits, with_bits
from impl.tensor.nested import tensors_of
from impl.tensor.tensor import Tensor
from impl.tensor.zero_tensors import _is_zerotensor

_levels: list[Level] = []  # from the outermost to the innermost; process-wide


class Level:
    """A dual level: weak references to all holders of its tangents, which are dropped at its exit.

    There is one at a time but for `torch.func.jvp`, which enters one for each nested call.
    """

    def __init__(self, records: bool = False) -> None:
        """`records`: whether tangents are recorded in any grad mode."""
        self.holders: list[weakref.ref] = []
        self.records = records


def is_entered() -> bool:
    """Whether a dual level is active."""
    return bool(_levels)


def is_seen() -> bool:
    """Whether forward AD is on in this thread."""
    return STATE.forward and not STATE.inference


def current() -> Level | None:
    """The innermost level that is seen: the one whose tangents operators meet."""
    return _innermost() if is_seen() else None


def _innermost() -> Level | None:
    """The current level, also where forward AD is off, as in inference mode."""
    count = len(_levels) - STATE.hidden_levels
    return _levels[count - 1] if count > 0 else None


def seen() -> int:
    """How many levels are seen."""
    return max(len(_levels) - STATE.hidden_levels, 0) if is_seen() else 0


class hidden_levels:
    """A block in which the innermost levels, one or more than those that already are, are out of
    sight: the tangents of a level are computed with the tangents of those outside."""

    def __init__(self, count: int = 1) -> None:
        self.count = count

    def __enter__(self) -> None:
        STATE.hidden_levels += self.count

    def __exit__(self, *exc) -> None:
        STATE.hidden_levels -= self.count


class computing:
    """A block in which the tangents of the current level are computed, which is out of sight; they
    are recorded if the level says so."""

    def __enter__(self) -> bool:
        """Returns whether they are recorded for that reason."""
        level = current()
        records = level is not None and level.records
        self._before, STATE.enabled = STATE.enabled, STATE.enabled or records
        STATE.hidden_levels += 1
        return records

    def __exit__(self, *exc) -> None:
        STATE.hidden_levels -= 1
        STATE.enabled = self._before


def at_each_level(function: Callable, *args) -> list:
    """The results of a function with each of the levels that are seen as the current one, from the
    outermost."""
    results = []
    for count in range(seen() - 1, -1, -1):
        with hidden_levels(count):
            results.append(function(*args))
    return results


_NESTED = "Nested forward mode AD is not supported at the moment"


def refuse_nested() -> None:
    """Raise RuntimeError if a dual level is active, unless `jvp` has entered it."""
    if _levels and not any(one.forward and not one.records for one in STATE.transforms):
        raise RuntimeError(_NESTED)


def refuse_level() -> None:
    """Raise RuntimeError if a dual level is active, of a transform or not."""
    if _levels or any(transform.forward for transform in STATE.transforms):
        raise RuntimeError(_NESTED)


def enter() -> int:
    """Enter a dual level, and return its number. Raises RuntimeError if one is active."""
    refuse_level()
    return enter_nested()


def enter_nested(records: bool = False) -> int:
    """Enter a dual level, within those that are active, and return its number."""
    _levels.append(Level(records))
    block_fast_path_everywhere(1)
    return 0


def leave() -> None:
    """Leave the innermost dual level and drop its tangents. Raises RuntimeError if none is
    active."""
    if not _levels:
        raise RuntimeError("Dual level must be a positive number.")
    level = _levels.pop()
    for reference in level.holders:
        holder = reference()
        if holder is not None and holder._tangents is not None:
            holder._tangents.pop(level, None)
    block_fast_path_everywhere(-1)


# -- tangents ---------------------------------------------------------------------------------


def fw_grad(tensor: Tensor) -> Tensor | None:
    """The tangent of a tensor at the current level, or None; that of a view may come from the
    tangent of its base."""
    level = current()
    if level is None:
        return None
    tangent = None if tensor._tangents is None else tensor._tangents.get(level)
    if tangent is None and tensor._view is not None:
        base = tensor._view.forward_base
        whole = None if base is None else fw_grad(base)
        if whole is not None:
            tangent = _part(whole, tensor)
            _attach(tensor, tangent, level)
    return tangent


def has_tangent(tensor: Tensor) -> bool:
    """Whether a tensor, or the value of a batched one, has a tangent at a level that is seen."""
    return bool(_levels) and bool(tangents(physical(tensor)))


def tangents(tensor: Tensor) -> dict[Level, Tensor]:
    """The tangents of a tensor at all levels that are seen."""
    pairs = at_each_level(lambda: (current(), fw_grad(tensor)))
    return {level: tangent for level, tangent in pairs if tangent is not None}


def check_size(tensor: Tensor, tangent: Tensor) -> None:
    """Raise RuntimeError for a tangent of another shape."""
    if tensor._raw.shape != tangent._raw.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor._raw.shape)} while the "
            f"given forward gradient is of size {list(tangent._raw.shape)}."
        )


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
    check_size(tensor, tangent)
    base = tensor._view.forward_base if written and tensor._view is not None else None
    if base is not None and fw_grad(base) is None:
        if _alike(tangent, base) and _alike(tangent, tensor):
            whole = tangent
        else:
            whole = _zeros(base, tangent)
            tangent = _part(whole, tensor).copy_(tangent)
        _attach(base, whole, _innermost())
    if not _alike(tangent, tensor):
        tangent = _zeros(tensor, tangent).copy_(tangent)
    _attach(tensor, tangent, _innermost())


def _attach(holder: Any, tangent: Any, level: Level | None) -> None:
    """Give a tensor its tangent at a level, or a node those of its outputs."""
    assert level is not None
    if holder._tangents is None:
        holder._tangents = {}
    holder._tangents[level] = tangent
    level.holders.append(weakref.ref(holder))
    if isinstance(holder, Tensor):
        inference_mode.use_slow_path(holder)  # also in threads that are running already


def pass_on(source: Tensor, to: Tensor, change: Callable[[Tensor], Tensor] | None = None) -> None:
    """Give a tensor that has no tangents those of a tensor of the same shape, `change`d if that is
    given."""
    for level, tangent in tangents(source).items():
        if to._tangents is None or level not in to._tangents:
            _attach(to, tangent if change is None else change(tangent), level)


def note_on_node(output: Tensor, node=None) -> None:
    """Store the tangent of an output in its node, for when the output is unpacked as saved; or in
    the `node` that wrote it in place, which is not that of a view."""
    node, level = output._node if node is None else node, current()
    if node is None or level is None or output._tangents is None or level not in output._tangents:
        return
    if node._tangents is None or level not in node._tangents:
        _attach(node, {}, level)
    node._tangents[level][output._nr] = output._tangents[level]


def restore_from_node(output: Tensor, node) -> None:
    """Set the tangents of an unpacked output of a node to those stored by `note_on_node`."""
    for level, stored in (node._tangents or {}).items():
        if output._nr in stored:
            _attach(output, stored[output._nr], level)


def snapshot(tensor: Tensor) -> dict[Level, Tensor] | None:
    """The tangents of a tensor with their levels, for `restore_snapshot`; None if it has none."""
    return tangents(tensor) or None


def restore_snapshot(tensor: Tensor, kept: dict[Level, Tensor] | None) -> None:
    """Set the tangents of a tensor from a `snapshot`, but those of levels that were left."""
    for level, tangent in (kept or {}).items():
        if level in _levels:
            _attach(tensor, tangent, level)


def is_used() -> bool:
    """Whether any tensor has a tangent and forward AD is on in this thread."""
    return is_seen() and any(level.holders for level in _levels)


def _part(whole: Tensor, view: Tensor) -> Tensor:
    view_fn = view._view.forward_view_fn
    if view_fn is not None:
        return view_fn(whole)
    return tensor_ops.as_strided(whole, view._raw.shape, view.stride(), view._offset)


def _alike(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have equal storage size, offset, sizes, strides and conj and neg bits; of
    a batched tensor the storage has the room for all examples, and is not compared."""
    alone = not levels_of(a)
    if _is_zerotensor(a) and not (alone and (_room(b) == 1 or _is_zerotensor(b))):
        return False  # the memory of a ZeroTensor is that of one element
    if (alone and _room(a) != _room(b)) or a._offset != b._offset:
        return False
    if conj_neg_bits(physical(a)) != conj_neg_bits(b):
        return False
    shape = a._raw.shape
    if shape != b._raw.shape:
        return False
    strides = zip(shape, a.stride(), b.stride(), strict=True)
    return 0 in shape or all(n == 1 or mine == other for n, mine, other in strides)


def _room(tensor: Tensor) -> int:
    """The size of a tensor's storage in elements of the tensor's dtype."""
    return tensor._storage.flat.nbytes // tensor._raw.dtype.itemsize


def _zeros(like: Tensor, value: Tensor) -> Tensor:
    """Zeros with the strides, offset and bits of a tensor, in a storage of the same size; where the
    value to be written is batched such zeros for each example."""
    memory = np.zeros(_room(like), like._raw.dtype)
    laid_out = like._raw.shape, like.stride(), like._offset
    result = repeated(memory, *laid_out, levels_of(value), like.is_meta)
    with_bits(physical(result), *conj_neg_bits(like))
    return result


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
    if _levels and any(map(tangents, tensors_of(values))):
        raise NotImplementedError(text)
