"""Writing in place: what is forbidden, what is counted, and how history is rewritten."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from impl import forward, hooks, inference, messages
from impl.dtypes import BY_NUMPY
from impl.geometries import elements
from impl.graph import Node, meta_of
from impl.modes import STATE
from impl.pending import Pending
from impl.slices import CopySlices
from impl.storage import contiguous_strides, extent, is_dense, repeats, strided
from impl.tensor import Tensor, requires_grad
from impl.views import DEFAULT, View, check_creation


def check(target: Tensor, differentiable: bool) -> None:
    """Whether a write to `target` may be recorded.

    `differentiable` says that the target or an operand requires grad. Raises RuntimeError for a
    view that must not be written, a leaf that requires grad, and a view of one.
    """
    if not (differentiable and STATE.enabled):
        return
    if target._view is not None:
        check_view(target)
    if target.requires_grad and target.grad_fn is None:
        raise RuntimeError(messages.LEAF_INPLACE)


def check_view(target: Tensor) -> None:
    """Raise RuntimeError for a view to which a write must not be recorded, or that of a leaf."""
    check_creation(target, base_changed=False)
    if target.requires_grad and target._view.base.grad_fn is None:
        raise RuntimeError(messages.VIEW_LEAF_INPLACE)


def check_memory(
    target: Tensor, operands, overlaps=False, disjoint: bool | str = False, resolves: bool = True
) -> None:
    """Whether `target` can be written element by element while the operands are read.

    Raises RuntimeError when its elements share memory (unless it `overlaps` without harm, or with
    a warning, whose name and example it then holds), and when an operand shares part of it, or all
    of it where it must be `disjoint`. What has the conj or the neg bit shares nothing if the
    operator `resolves` it: then torch reads and writes a copy.
    """
    resolved = resolves and isinstance(target, Pending)
    if resolved or not overlaps:
        check_overlap(target)
    elif overlaps is not True and _is_expanded(target):
        _warn_expanded(*overlaps)
    for operand in () if resolved else operands:
        if not isinstance(operand, Tensor) or (resolves and isinstance(operand, Pending)):
            continue
        if operand._storage.buffer is target._storage.buffer:
            if disjoint:
                check_disjoint(target, operand)
            else:
                _check_partial_overlap(target, operand)


def check_fits(target: Tensor, value) -> None:
    """Whether an array can be written to `target`: shape and dtype.

    Raises RuntimeError when the shape would change, and when the dtype cannot be cast.
    """
    shape = target._raw.shape
    if np.shape(value) != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape "
            f"{list(np.shape(value))}"
        )
    check_cast(value.dtype, target._raw.dtype)


def check_overlap(target: Tensor) -> None:
    """Raise RuntimeError when elements of `target` share memory (an expanded tensor)."""
    if _is_expanded(target):
        raise RuntimeError(messages.OVERLAP)


def _warn_expanded(name: str, example: str) -> None:
    warnings.warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
        f"performing this operation. This also applies to advanced indexing e.g. {example}",
        UserWarning,
        stacklevel=5,
    )


def check_cast(source, target) -> None:
    """Raise RuntimeError when a result of one NumPy dtype must not be written to another."""
    a, b = BY_NUMPY[source], BY_NUMPY[target]
    if a.category > b.category:
        raise RuntimeError(
            f"result type {a.legacy} can't be cast to the desired output type {b.legacy}"
        )


def _check_partial_overlap(target: Tensor, operand: Tensor) -> None:
    if operand is not target and _overlap(target, operand) == "partial":
        raise RuntimeError(messages.PARTIAL_OVERLAP)


def _overlap(a: Tensor, b: Tensor) -> str | None:
    """How two tensors share memory: "full", "partial", or None.

    Only dense tensors are looked at, by the ranges they cover; for others it would be too hard to
    say (ATen's MemoryOverlap).
    """
    if a._storage.buffer is not b._storage.buffer or not (a._raw.size and b._raw.size):
        return None
    if not (is_dense(a._raw.shape, a.stride()) and is_dense(b._raw.shape, b.stride())):
        return None
    (start, end), (first, last) = _range(a), _range(b)
    if start == first and end == last:
        same = a.stride() == b.stride() and a.element_size() == b.element_size()
        return "full" if same else "partial"
    return "partial" if start < last and first < end else None


def _range(tensor: Tensor) -> tuple[int, int]:
    """The bytes of its storage that a dense tensor covers: first, and one after the last."""
    size = tensor.element_size()
    return size * tensor._offset, size * (tensor._offset + tensor._raw.size)


def check_disjoint(target: Tensor, operand: Tensor) -> None:
    """Raise RuntimeError when an operand shares elements with the tensor to be written."""
    if operand is target or _overlap(target, operand) is not None:
        raise RuntimeError(messages.PARTIAL_OVERLAP)


def write(target: Tensor, value) -> None:
    """Store a value of the target's shape, and count it."""
    if STATE.before_write is not None:
        STATE.before_write(target)
    array = target._array()
    if isinstance(target, Pending):
        value = target.through(value)
    if _is_expanded(target):
        # Only what changes is written: other elements in the same place are no newer values.
        changed = array != value
        array[changed] = value[changed]
    else:
        array[...] = value
    inference.count(target)


def _is_expanded(target: Tensor) -> bool:
    return target._strides is not None and repeats(target._raw.shape, target._strides)


def rebase(target: Tensor, node: Node, number: int = 0) -> None:
    """Make output `number` of `node` the history of `target` after a write.

    Through a view the whole base is rewritten: its gradient is what `node` makes of the slice, and
    itself elsewhere (torch's CopySlices). The view then reads its history from the base.
    """
    view = target._view
    if view is None:
        set_history(target, node, number)
        return
    set_history(view.base, CopySlices(view.base, target, node))
    target.grad_fn  # noqa: B018  the view's own history is made anew at once
    if target._retains_grad:
        hooks.move_to(target._node, target)
    target._hooks = None


def set_history(tensor: Tensor, node: Node, number: int = 0) -> None:
    """Make output `number` of `node` the tensor; hooks on the old value stay with the old value."""
    hooks.move_to(node, tensor, number)
    tensor._node = node
    tensor._nr = number
    if tensor._view is not None:
        tensor._view.version = tensor._storage.version


UNUSUAL: Any = object()  # the history of what must be written the general way


def plain_history(target: Tensor):
    """The node that a write to a row-major tensor comes after: its own, or that of its base.

    None if it has none and needs none; UNUSUAL if there is something to refuse, or to move.
    """
    view, owner = target._view, target
    if view is not None:
        owner = view.base
        if view.creation != DEFAULT or view.remake is not None or type(view) is not View:
            return UNUSUAL
        if owner._strides is not None or target._retains_grad or target._hooks is not None:
            return UNUSUAL
        if owner._node is None and (target._node is not None or target._requires_grad):
            return UNUSUAL
    if owner._requires_grad or owner._retains_grad or owner._hooks is not None:
        return UNUSUAL
    return owner._node


def overwrite(target: Tensor, raw) -> None:
    """`write`, not counted, of a raw value that fits, to a row-major tensor that needs no care."""
    memory = target._storage
    if isinstance(target._raw, np.ndarray):
        target._raw[...] = raw
    elif isinstance(memory.buffer, np.ndarray):
        target._array()[...] = raw
    else:
        target._raw = memory.buffer = raw


def rewrite(target: Tensor, node: Node) -> None:
    """`rebase`, after an `overwrite` of a tensor with a plain history."""
    view = target._view
    if view is None:
        target._node = node
        target._nr = 0
        return
    base = view.base
    base._node = CopySlices._row_major(base, target, node, base._common or meta_of(base._raw))
    base._nr = 0


# -- out= -------------------------------------------------------------------------------------


def check_out(name: str, out: Tensor, differentiable: bool) -> None:
    """Raise RuntimeError when grad mode is on and an argument or `out` requires grad."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if STATE.enabled and (differentiable or requires_grad(out)):
        raise RuntimeError(messages.OUT_GRADIENT.format(name))


def same_dtype_out(out, value, *rest) -> None:
    """Raise RuntimeError when `out=` has another dtype than the first operand.

    An operator takes this as its `validate_out` where torch casts no result.
    """
    if out != value.dtype:
        raise RuntimeError(
            f"Found dtype {BY_NUMPY[out].legacy} but expected {BY_NUMPY[value.dtype].legacy}"
        )


def write_out(out: Tensor, value, strides=None) -> None:
    """Store a result in `out`, which is resized to its shape (with a warning unless empty).

    What is resized takes its `strides`, too, unless they would let elements share memory.
    """
    check_cast(value.dtype, out._raw.dtype)
    _fit(out, np.shape(value), strides)
    check_overlap(out)
    write(out, value)


def copy_out(name: str, out, result: Tensor, counts_resize: bool = False):
    """Store what a composite computed as ATen does that copies it: recorded, like any write.

    `counts_resize` as in `store`. Raises TypeError for what is no tensor, RuntimeError for a dtype
    that it cannot be cast to.
    """
    if not (STATE.enabled and isinstance(out, Tensor) and requires_grad(result)):
        return store(name, out, result.detach(), counts_resize=counts_resize)
    check_cast(result._raw.dtype, out._raw.dtype)
    if counts_resize and out._raw.shape != result._raw.shape:
        inference.count(out)
    _fit(out, result._raw.shape)
    return out.copy_(result)


def _fit(out: Tensor, shape, strides=None) -> None:
    if out._raw.shape == shape:
        return
    if out._raw.size:
        warnings.warn(
            "An output with one or more elements was resized since it had shape "
            f"{list(out._raw.shape)}, which does not match the required output shape "
            f"{list(shape)}. This behavior is deprecated, and in a future PyTorch release "
            "outputs will not be resized unless they have zero elements. You can explicitly "
            "reuse an out tensor t by resizing it, inplace, to zero elements with "
            "t.resize_(0).",
            UserWarning,
            stacklevel=5,
        )
    resize(out, shape, None if strides is None or repeats(shape, strides) else strides)


def store(name: str, out, result, writes: int = 1, counts_resize: bool = False):
    """Store what a composite computed, a tensor or a tuple of them, in its `out=`; returns `out`.

    That counts as so many `writes`, and as one more where `out` is resized and that counts. Raises
    RuntimeError as `check_out` does, and TypeError when `out` has another number of tensors.
    """
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of {len(result)} Tensors")
        pairs = zip(out, result, strict=True)
        return like_tuple(result, [store(name, o, r, writes, counts_resize) for o, r in pairs])
    check_out(name, out, requires_grad(result))
    writes += counts_resize and out._raw.shape != result._raw.shape
    write_out(out, result._raw, result._strides)
    if not out._uncounted:
        out._storage.version += writes - 1  # besides the one that has been counted
    forward.refuse_out(name, (out, result))
    return out


def like_tuple(result: tuple, values: list) -> tuple:
    """The values as a tuple of the class of `result`, which may have named fields."""
    return type(result)(*values) if hasattr(result, "_fields") else tuple(values)


def resize(tensor: Tensor, shape, strides=None) -> None:
    """Give a tensor another shape, over memory that keeps what fits; `strides` None: row-major."""
    from impl import growth

    row_major = contiguous_strides(shape)
    steps = row_major if strides is None else strides
    size = extent(shape, steps)
    tensor._array()
    if size + tensor._offset > tensor._storage.flat.size:
        growth.grow(tensor._storage, size + tensor._offset)
    flat = elements(tensor._storage, tensor._raw.dtype)
    tensor._raw = strided(flat, shape, steps, tensor._offset)
    tensor._strides = None if steps == row_major else steps
    tensor._common = None
    if tensor._inference:
        inference.keep_long_way(tensor)
