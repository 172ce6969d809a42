"""Batched tensors: tensors that hide the dimension along which torch.func.vmap maps a function
(ATen/functorch/BatchedTensorImpl.h).

A batched tensor has a value with one dimension more than it shows, and the level of the `vmap` that
maps that dimension. An operator on batched tensors is applied to their values, by its batching rule
(`impl.dispatch.batching_rules`); so the values have the history, and batched tensors have none of
their own. Where a transform of differentiation runs within the `vmap`, they show that of their
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from textwrap import indent
from typing import Any

import numpy as np

from impl.core import messages
from impl.core.grad_mode import without_tangents
from impl.core.meta_arrays import MetaArray, is_meta, meta_strided
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.state import STATE
from impl.core.strides import contiguous_strides, strided
from impl.tensor.legacy_batched_tensor import Batched
from impl.tensor.nested import tensors_of
from impl.tensor.tensor import Tensor, blank, new, requires_grad
from impl.tensor.wrappers import is_wrapped

_ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user "
    "error (see https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal "
    "functorch error in `gen_vmap_plumbing` Please file an issue if it looks like the latter"
)
_STORAGE = "Cannot access storage of BatchedTensorImpl"
_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
_ITEM_OR_CONTROL_FLOW = (
    "vmap: It looks like you're either (1) calling .item() on a Tensor or (2) attempting to use a "
    "Tensor in some data-dependent control flow or (3) encountering this error in PyTorch "
    "internals. For (1): we don't support vmap over calling .item() on a Tensor, please try to "
    "rewrite what you're doing with other operations. For (2): we don't support data-dependent "
    "control flow in vmap yet, please file an issue at https://github.com/pytorch/pytorch/issues . "
    "For (3): please file an issue."
)
_CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


def _refuse(*args, **named):
    raise RuntimeError(messages.NO_POINTER)


def _refuse_operation(*args, **named):
    raise RuntimeError(messages.NO_POINTER if STATE.batched else _ESCAPED)


class _NoElements(np.ndarray):
    """The array of a batched tensor: it has shape and dtype, and raises on access to elements."""

    __array_ufunc__ = __array_function__ = _refuse_operation
    __getitem__ = __setitem__ = __iter__ = _refuse
    __int__ = __index__ = __float__ = __complex__ = __bool__ = _refuse
    astype = copy = item = reshape = tolist = tobytes = _refuse


class BatchedTensor(Tensor):
    """A tensor without the mapped dimension of its value (ATen's BatchedTensorImpl)."""

    _value: Tensor
    _dim: int  # the mapped dimension of the value
    _level: Any  # the transform that maps it, an `impl.func.levels.VmapLevel`
    _shape_only: Any

    @property
    def _raw(self):
        return self._shape_only

    @_raw.setter
    def _raw(self, value) -> None:
        _refuse()

    _array = tolist = _refuse

    def _show(self, value: Tensor, dim: int) -> None:
        """Take a value, and show its geometry without the mapped dimension."""
        self._value, self._dim = value, dim
        shape, strides = [*value._raw.shape], [*value.stride()]
        del shape[dim], strides[dim]
        if is_meta(value._raw):
            self._shape_only = MetaArray(shape, value._raw.dtype)
        else:
            blank_array = np.broadcast_to(np.zeros((), value._raw.dtype), shape)
            self._shape_only = blank_array.view(_NoElements)
        row_major = tuple(strides) == contiguous_strides(tuple(shape))
        self._strides = None if row_major else tuple(strides)
        self._offset = value._offset
        # Composites look at it, and choose among operators by it.
        self._requires_grad = requires_grad(value)

    # The results of an operator with this tensor among its arguments, and the target of one in
    # place (set by `impl.dispatch.vmap_rules`).
    _applied: Any
    _written: Any
    detach_: Any

    # -- history ------------------------------------------------------------------------------

    def _shown(self) -> Tensor | None:
        """The value whose history shows: one that a transform within the `vmap` has recorded."""
        value = physical(self)
        return value if any(transform.tracks(value) for transform in within(self)) else None

    @property
    def requires_grad(self) -> bool:
        return self._shown() is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        # Without a transform of differentiation within the `vmap` it is a flag of the wrapper,
        # which is of no use there.
        if any(transform.wraps for transform in within(self)) or not isinstance(value, bool):
            physical(self).requires_grad = value

    @property
    def grad_fn(self) -> Any:
        value = self._shown()
        return None if value is None else value.grad_fn

    @property
    def is_leaf(self) -> bool:
        value = self._shown()
        return value is None or value.is_leaf

    def register_hook(self, hook):
        """A hook on the value, which gets and returns gradients without the mapped dimension.

        Raises RuntimeError if the tensor does not require grad at its level.
        """
        value = self._shown()
        if value is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")

        def mapped(gradient):
            changed = hook(hidden(gradient, self))
            return None if changed is None else explicit(changed, self)

        return value.register_hook(mapped)

    def detach(self) -> Tensor:
        """The batched tensor of the detached value."""
        return self._over(self._value.detach())

    @property
    def data(self) -> Any:
        if not self._is_wrapped():
            raise RuntimeError("accessing `data` under vmap transform is not allowed")
        return self._over(self._value.data)

    @data.setter
    def data(self, value) -> None:
        refuse_data(self, value)

    def _is_wrapped(self) -> bool:
        """Whether a transform of differentiation within the `vmap` wraps it."""
        return any(transform.holds(self) for transform in within(self))

    def _over(self, value: Tensor) -> Tensor:
        """A batched tensor like this one over another value."""
        return batched(value, self._dim, self._level)

    # -- to Python ----------------------------------------------------------------------------

    def item(self):
        """Raises RuntimeError: the examples have different values."""
        if not self._is_wrapped():
            raise RuntimeError(_ITEM)
        if self._raw.size == 1:
            raise RuntimeError(_ITEM_OR_CONTROL_FLOW)
        return super().item()

    def __bool__(self) -> bool:
        if not self._is_wrapped():
            raise RuntimeError(_CONTROL_FLOW)
        return bool(self.item()) if self._raw.size == 1 else super().__bool__()

    def data_ptr(self) -> int:
        """Raises RuntimeError: the memory is that of all examples."""
        return _refuse()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Raises RuntimeError, as `data_ptr`."""
        if self.requires_grad and not force:
            raise RuntimeError(messages.NUMPY_REQUIRES_GRAD)
        return _refuse()

    def untyped_storage(self):
        """Raises NotImplementedError."""
        raise NotImplementedError(messages.WRAPPER_STORAGE if self._is_wrapped() else _STORAGE)

    def __deepcopy__(self, memo):
        return self.untyped_storage()

    def __format__(self, spec: str) -> str:
        return self.item() if not self._raw.ndim else object.__format__(self, spec)


def refuse_data(*tensors: Tensor) -> None:
    """Raise RuntimeError if `.data` is set to or of a tensor that torch wraps."""
    for one in tensors:
        batched_here = isinstance(one, BatchedTensor) and not one._is_wrapped()
        if batched_here or is_wrapped(one):
            where = "under vmap" if batched_here else "inside functorch"
            raise RuntimeError(f"mutating directly with `.data` {where} transform is not allowed.")


BatchedTensor.__name__ = BatchedTensor.__qualname__ = Tensor.__name__  # torch has only one class
BatchedTensor.__module__ = Tensor.__module__


def batched(value: Tensor, dim: int, level) -> Tensor:
    """The batched tensor of a value at a level, of which `dim` is the mapped dimension."""
    result: Any = blank(BatchedTensor)
    result._level = level
    result._show(value, dim)
    return result


def within(tensor: BatchedTensor) -> tuple:
    """The transforms that run, or of which a pass runs, within the `vmap` of a batched tensor."""
    every = (*STATE.transforms, *STATE.passes)
    return tuple(t for t in every if t.serial > tensor._level.serial)


def is_index_of_examples(index: Tensor) -> bool:
    """Whether an index without dimensions is one for each example of a `vmap`. One in the wrapper
    of a transform within the `vmap` is none: torch reads it as a number."""
    return isinstance(index, BatchedTensor) and not index._is_wrapped()


def physical(tensor: Tensor) -> Tensor:
    """The tensor in the batched tensors, one in another, of several levels."""
    while type(tensor) is BatchedTensor:
        tensor = tensor._value
    return tensor


def levels_of(tensor: Tensor) -> list:
    """The levels at which a tensor is batched, from the outermost to the innermost."""
    levels: list = []
    while type(tensor) is BatchedTensor:
        levels.insert(0, tensor._level)
        tensor = tensor._value
    return levels


def innermost(values) -> Any:
    """The batched tensor of the innermost level among values, and in lists among them; None if
    there is none. Gradients of a pass with is_grads_batched go before others."""
    found: Any = None
    for value in tensors_of(values):
        if type(value) is Batched:
            return value
        if type(value) is not BatchedTensor:
            continue
        if found is None or value._level.number > found._level.number:
            found = value
    return found


def shown(tensor: Tensor, text: Callable[[Tensor], str], below: float = math.inf) -> str:
    """The text of a tensor with those of the wrappers that torch puts around it, of transforms
    whose numbers are less than `below`."""
    batch = tensor if type(tensor) is BatchedTensor else None
    numbers = [t.number for t in STATE.transforms if t.number < below and t.holds(tensor)]
    number = max(numbers, default=0)
    if batch is not None and batch._level.number > number:
        head = f"BatchedTensor(lvl={batch._level.number}, bdim={batch._dim}, value="
        inner = shown(batch._value, text, batch._level.number)
    elif numbers:
        inner = shown(tensor, text, number)
        if any(t.functional and t.number == number for t in STATE.transforms):
            return f"FunctionalTensor(lvl={number}, value=\\\n{inner})"
        head = f"GradTrackingTensor(lvl={number}, value="
    else:
        return text(tensor) if not STATE.transforms else _of_caller(tensor, text)
    return f"{head}\n{indent(inner, '    ')}\n)"


def _of_caller(tensor: Tensor, text: Callable[[Tensor], str]) -> str:
    """The text of a tensor as it is outside all transforms: the one in torch's wrappers."""
    before = STATE.transforms
    for transform in reversed(before):
        if transform.holds(tensor):
            tensor = transform.held(tensor)
    STATE.transforms = ()
    try:
        with without_tangents():
            return text(tensor)
    finally:
        STATE.transforms = before


# -- levels of values ---------------------------------------------------------------------------


def with_dim(tensor: Tensor, level, dim: int) -> Tensor:
    """A tensor in which the dimension that a level maps is an ordinary one, at `dim`; where the
    tensor is not batched at that level it is expanded."""
    if type(tensor) is not BatchedTensor:
        return tensor_ops.unsqueeze(tensor, dim).expand(
            *tensor._raw.shape[:dim], level.size, *tensor._raw.shape[dim:]
        )
    if tensor._level is level:
        return moved(tensor._value, tensor._dim, dim)
    inner = with_dim(tensor._value, level, 0)
    return moved(batched(inner, tensor._dim + 1, tensor._level), 0, dim)


def without_dim(tensor: Tensor, level, dim: int) -> Tensor:
    """A tensor that hides its dimension `dim`, as one that a level maps. Levels within it stay."""
    if type(tensor) is not BatchedTensor or tensor._level.number < level.number:
        return batched(tensor, dim, level)
    place = dim if dim < tensor._dim else dim + 1
    inner = without_dim(tensor._value, level, place)
    return batched(inner, tensor._dim - (place < tensor._dim), tensor._level)


def explicit(tensor: Tensor, like: Tensor) -> Tensor:
    """A tensor with the dimensions that another one hides, where its physical tensor has them."""
    while type(like) is BatchedTensor:
        tensor = with_dim(tensor, like._level, like._dim)
        like = like._value
    return tensor


def hidden(tensor: Tensor, like: Tensor) -> Tensor:
    """The inverse of `explicit`: a tensor that hides the dimensions that another one does."""
    chain = []
    while type(like) is BatchedTensor:
        chain.append(like)
        like = like._value
    for one in reversed(chain):
        tensor = without_dim(tensor, one._level, one._dim)
    return tensor


def moved(tensor: Tensor, source: int, destination: int) -> Tensor:
    """A view of a tensor with a dimension in another place; the tensor itself if it is there."""
    if source == destination:
        return tensor
    order = [d for d in range(tensor._raw.ndim) if d != source]
    order.insert(destination, source)
    return FUNCTIONS["permute"](tensor, tuple(order))


def batched_at(value: Tensor, levels: tuple) -> Tensor:
    """A tensor that is batched at all of the levels, from the outermost to the innermost: expanded
    at those at which it is not."""
    for level in levels:
        if not is_within(value, level):
            value = without_dim(tensor_ops.expand(value, (level.size, *value._raw.shape)), level, 0)
    return value


def in_front(value: Tensor) -> Tensor:
    """A tensor whose hidden dimensions are the first, that of the outermost level before others."""
    if type(value) is not BatchedTensor:
        return value
    return batched(in_front(moved(value._value, value._dim, 0)), 0, value._level)


def repeated(
    memory: np.ndarray, shape, strides, offset: int, levels: list, meta: bool = False
) -> Tensor:
    """A tensor over new memory with these sizes, strides and offset, of which each example of the
    levels has one; on the meta device without memory."""
    sizes, rooms = [level.size for level in levels], [memory.size]
    for size in reversed(sizes):
        rooms.insert(0, rooms[0] * size)
    steps = (*rooms[1:], *strides)
    if meta:
        result = new(meta_strided((*sizes, *shape), memory.dtype, steps), steps)
    else:
        result = new(np.tile(memory, math.prod(sizes)))
        result._raw = strided(result._storage.flat, (*sizes, *shape), steps, offset)
        result._strides, result._offset = steps, offset
    for level in levels:
        result = batched(result, 0, level)
    return result


def writable(value: Tensor, *operands: Any) -> Tensor:
    """A new value into which the operands are to be written: copied for each example of a level at
    which an operand is batched and it is not (ATen's areAnyTensorSubclassLike)."""
    if not STATE.batched:
        return value
    levels = {one.number: one for t in operands if isinstance(t, Tensor) for one in levels_of(t)}
    missing = tuple(levels[n] for n in sorted(levels) if not is_within(value, levels[n]))
    return batched_at(value, missing).clone() if missing else value


def is_at(value: Any, level) -> bool:
    """Whether a value is a tensor that is batched at a level (not one in it)."""
    return type(value) is BatchedTensor and value._level is level


def is_within(value: Tensor, level) -> bool:
    """Whether a tensor, or one in it, is batched at a level."""
    while type(value) is BatchedTensor:
        if value._level is level:
            return True
        value = value._value
    return False
