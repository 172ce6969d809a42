"""Writing in place: what is forbidden, what is counted, and how history is rewritten."""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

import numpy as np

from impl import forward, hooks, inference, messages
from impl.dtypes import BY_NUMPY
from impl.graph import Node, gradient_edge, meta_of, next_sequence
from impl.modes import STATE
from impl.operator import TAPED, new
from impl.pending import Pending
from impl.storage import contiguous_strides, extent, is_dense, strided
from impl.tensor import Tensor, requires_grad
from impl.views import DEFAULT, Geometry, View, check_creation, elements, geometry


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
    return target._strides is not None and _repeats(target._raw.shape, target._strides)


def _repeats(shape, strides) -> bool:
    return 0 not in shape and any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))


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
    part[...] = inner.run(inner, part, True, None)
    if not keep:
        node.inner = None
    return whole


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
    if type(target._raw) is np.ndarray:
        target._raw[...] = raw
    elif type(memory.buffer) is np.ndarray:
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
    base._node = CopySlices.row_major(base, target, node, base._common or meta_of(base._raw))
    base._nr = 0


class CopySlices(Node):
    """A write through a view, seen from the base: the slice's node within the base's gradient."""

    __slots__ = (
        "_geometries",
        "inner",
        "kind",
        "meta",
        "next",
        "offset",
        "only",
        "remake",
        "run",
        "sequence",
    )

    # The base's gradient is a copy, of which the slice is then written.
    versions: Any = {0: 2}  # noqa: RUF012  never written to
    makes_gradient = True
    plan = _SlicePlan

    def __init__(self, base: Tensor, target: Tensor, inner: Node) -> None:
        super().__init__()
        self.only = self.run = None
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
        if inner.run is not None and inner.only is not None and inner.plan.single == 0:
            self.only = base._node
            self.run = _run_row_major
        else:
            self.only = self.run = None
            self.next = (base._node, *inner.next[1:])
        if base._nr:
            self.numbers = (base._nr,) + (0,) * (len(self.next) - 1)
        return self

    def __getattr__(self, name: str):
        if name == "next":
            self.next = (self.only,) + (None,) * (len(self.kind.operator.edge_of) - 1)
            return self.next
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

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
            return [None] * len(self.next)
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
        if self.inner.authored and (inner[0] is None or self.next[0] is None):
            # As torch has it: the rest of the base gets no gradient either.
            return [None, *inner[1:]]
        if inner[0] is None:
            part[...] = 0
        else:
            if self._geometries is not None and _repeats(self.slice.shape, self.slice.strides):
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
        shape = meta[0] if type(meta) is tuple else ()
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
        if inner.run is None or interpretation.records:
            return inner.evaluate([gradient], interpretation, wanted)
        result = inner.run(inner, gradient, True, wanted)
        if inner.only is None:
            return result
        gradients = [None] * len(self.next)
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
        if self.inner.authored and (inner[0] is None or self.next[0] is None):
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


# -- out= -------------------------------------------------------------------------------------


def check_out(name: str, out: Tensor, differentiable: bool) -> None:
    """Raise RuntimeError when grad mode is on and an argument or `out` requires grad."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if differentiable or (STATE.enabled and requires_grad(out)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )


def same_dtype_out(out, value, *rest) -> None:
    """Raise RuntimeError when `out=` has another dtype than the first operand.

    An operator takes this as its `validate_out` where torch casts no result.
    """
    if out != value.dtype:
        raise RuntimeError(
            f"Found dtype {BY_NUMPY[out].legacy} but expected {BY_NUMPY[value.dtype].legacy}"
        )


def write_out(out: Tensor, value) -> None:
    """Store a result in `out`, which is resized to its shape (with a warning unless empty)."""
    shape = np.shape(value)
    check_cast(value.dtype, out._raw.dtype)
    if out._raw.shape != shape:
        if out._raw.size:
            warnings.warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(out._raw.shape)}, which does not match the required output shape "
                f"{list(shape)}. This behavior is deprecated, and in a future PyTorch release "
                "outputs will not be resized unless they have zero elements. You can explicitly "
                "reuse an out tensor t by resizing it, inplace, to zero elements with "
                "t.resize_(0).",
                UserWarning,
                stacklevel=4,
            )
        resize(out, shape)
    check_overlap(out)
    write(out, value)


def store(name: str, out, result):
    """Store what a composite computed, a tensor or a tuple of them, in its `out=`; returns `out`.

    Raises RuntimeError as `check_out` does, and TypeError when `out` has another number of tensors.
    """
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of {len(result)} Tensors")
        return type(result)(*(store(name, o, r) for o, r in zip(out, result, strict=True)))
    check_out(name, out, requires_grad(result))
    write_out(out, result._raw)
    forward.refuse_out(name, (out, result))
    return out


def resize(tensor: Tensor, shape) -> None:
    """Give a tensor another shape, row-major, over memory that keeps what fits."""
    size = int(np.prod(shape))
    tensor._array()
    if size + tensor._offset > tensor._storage.flat.size:
        tensor._storage.grow(size + tensor._offset)
    flat = elements(tensor._storage, tensor._raw.dtype)
    tensor._raw = strided(flat, shape, contiguous_strides(shape), tensor._offset)
    tensor._strides = tensor._common = None
    if tensor._inference:
        inference.keep_long_way(tensor)
