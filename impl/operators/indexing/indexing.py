"""Indexing with brackets: `x[...]` and `x[...] = value`, parsed as in torch.

Integers, slices, None and Ellipsis make a chain of views (select, slice, unsqueeze). The remaining
items, tensors and lists, are passed to one operator that copies (index) or writes (index_put_).
"""

from __future__ import annotations

import functools
import operator as _python
from collections.abc import Callable
from typing import Any

import numpy as np

from impl.core.dtypes import int64
from impl.core.registry import tensor_ops
from impl.core.warning import warn, warn_once
from impl.dispatch.record import check_write
from impl.factories.creation import array_of
from impl.factories.creation.from_data import UNWRITABLE_ARRAY, lifted
from impl.operators.copies.copies import copy_, fill_
from impl.operators.indexing.index_operators import check_first_mask, from_scalar, index_, put_at
from impl.operators.indexing.index_writes import index_fill_
from impl.operators.indexing.masking import masked_fill_
from impl.operators.views import as_strided
from impl.tensor.batched_tensor import is_index_of_examples
from impl.tensor.overridable import OPERATORS
from impl.tensor.tensor import Tensor, new
from impl.tensor.torch_function import ask, asked_for, asking

_ZERO_DIM = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
    "to convert a 0-dim tensor to a number"
)
_SEQUENCE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed "
    "in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted "
    "as tensor index, x[torch.tensor(seq)], which will result either in an error or a different "
    "result"
)
_END = (1 << 63) - 1  # the end of a slice without one
_LONGEST_SEQUENCE = 32  # lists of at least this length never stand for a tuple


# The indices that are asked for no `__torch_function__`.
_USUAL = {int, slice, type(None), type(...)}


def _asked_for(self, index, *value) -> list | None:
    items = index if isinstance(index, tuple) else (index,)
    return asked_for((self, *items, *value))


def _select(tensor: Tensor, dim: int, index: int, position: int) -> Tensor:
    shape = tensor._raw.shape
    if not shape and index == 0:
        raise IndexError(_ZERO_DIM)
    size = shape[dim] if dim < len(shape) else 0  # beyond them after a second ellipsis
    if not -size <= index < size:
        if not -(2**63) <= index < 2**63:
            raise ValueError("Overflow when unpacking long long")
        raise IndexError(
            f"index {index} is out of bounds for dimension {position} with size {size}"
        )
    return tensor_ops.select(tensor, dim, index)


def _slice(tensor: Tensor, dim: int, index: slice, skip_whole: bool) -> Tensor:
    start, stop, step = (_bound(b) for b in (index.start, index.stop, index.step))
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step is not None and step < 0:
        raise ValueError("step must be greater than zero")
    if not tensor._raw.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    whole = not start and step in (None, 1) and (stop is None or stop >= tensor._raw.shape[dim])
    if skip_whole and whole:
        return tensor
    end = _END if stop is None else stop
    return tensor_ops.slice(tensor, dim, start or 0, end, 1 if step is None else step)


def _bound(value):
    if value is None or type(value) is int:
        return value
    try:
        return _python.index(value)
    except TypeError:
        if isinstance(value, Tensor):
            raise
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None


def _is_sequence(value) -> bool:
    return (
        hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, dict)
    )


def _as_tuple(index) -> tuple:
    """The index as a tuple; a list that holds indices of several dimensions counts as a tuple."""
    if isinstance(index, tuple):
        return tuple(index)
    if isinstance(index, (Tensor, np.ndarray)) or not _is_sequence(index):
        return (index,)
    if len(index) < _LONGEST_SEQUENCE:
        for item in index:
            if (
                item is None
                or item is Ellipsis
                or isinstance(item, (Tensor, slice))
                or _is_sequence(item)
            ):
                warn(_SEQUENCE)
                return tuple(index)
    return (index,)


def _count(items) -> int:
    """The number of dimensions that the items of an index consume."""
    total = 0
    for item in items:
        if isinstance(item, Tensor):
            total += item._raw.ndim if item._raw.dtype in (np.bool_, np.uint8) else 1
        elif item is not None and item is not Ellipsis and not isinstance(item, bool):
            total += 1
    return total


def _truth(value: bool) -> Tensor:
    return new(np.zeros(1 if value else 0, np.int64))


def _sliced(tensor: Tensor, items) -> tuple[Tensor, list]:
    """The view made by the items that are not tensors, and the remaining tensor indices into it.

    An integer that is out of range is said to be so for the dimension that is its position among
    the items, as torch has it.
    """
    taken = _count(items)
    ndim = tensor._raw.ndim
    if taken > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    result, dim = tensor, 0
    indices: dict[int, Tensor] = {}
    for position, item in enumerate(items):
        if item is None:
            result = tensor_ops.unsqueeze(result, dim)
            dim += 1
        elif item is Ellipsis:
            dim += ndim - taken
            position += ndim - taken
        elif isinstance(item, bool):
            result = tensor_ops.unsqueeze(result, dim)
            indices[dim] = _truth(item)
            dim += 1
        elif isinstance(item, slice):
            result = _slice(result, dim, item, True)
            dim += 1
            position += 1
        elif not isinstance(item, Tensor) and (number := _number(item)) is not None:
            result = _select(result, dim, number, position)
            position += 1
        else:
            item = item if isinstance(item, Tensor) else _as_index(item)
            raw = item._raw
            if raw.ndim or is_index_of_examples(item):
                indices[dim] = item
                dim += raw.ndim if raw.dtype in (np.bool_, np.uint8) else 1
            elif raw.dtype in (np.bool_, np.uint8):
                result = tensor_ops.unsqueeze(result, dim)
                indices[dim] = _truth(bool(item.item()))
                dim += 1
            elif raw.dtype.kind in "iu":
                result = _select(result, dim, item.item(), position)
            else:
                indices[dim] = item
                dim += 1
    if not indices:
        return result, []
    return result, _listed(indices)


def _listed(indices: dict) -> list:
    result: list = []
    at = 0
    for dim, index in sorted(indices.items()):
        result += [None] * (dim - at)
        result.append(index)
        at = dim + (index._raw.ndim if index._raw.dtype in (np.bool_, np.uint8) else 1)
    return result


def _number(item) -> int | None:
    """The integer that an item other than a tensor is, or has by `__index__`; None if none."""
    if type(item) is not int:
        if isinstance(item, (np.ndarray, np.bool_)) or not hasattr(type(item), "__index__"):
            return None
        return _python.index(item)
    return item


def _as_index(item) -> Tensor:
    """A sequence or array as a tensor of indices, or a mask: other numbers than bool and uint8 are
    cast to int64."""
    if not isinstance(item, np.ndarray) and (
        isinstance(item, np.generic) or not _is_sequence(item)
    ):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {_type_name(item)})"
        )
    if isinstance(item, np.ndarray) and not item.flags.writeable:
        warn_once(UNWRITABLE_ARRAY)
    raw = array_of(item)
    masks = raw.dtype in (np.bool_, np.uint8)
    return lifted(new(raw if masks else array_of(item, int64)))


@asking
def getitem(self, index):
    """`x[index]`: a view for integers, slices, None and Ellipsis, a copy with tensors and masks.

    Raises IndexError for an index out of range or of a type that cannot index, ValueError for a
    step that is not positive.
    """
    kind = type(index)
    unusual = type(self) is not Tensor or kind not in _USUAL
    if unusual and (asked := _asked_for(self, index)) is not None:
        return ask(Tensor.__getitem__, "torch.Tensor.__getitem__", asked, (self, index), {})
    if kind is int:
        return _select(self, 0, index, 0)
    if kind is slice:
        return _slice(self, 0, index, False)
    if index is None:
        return tensor_ops.unsqueeze(self, 0)
    if index is Ellipsis:
        return as_strided.alias_view(self)
    result, indices = _sliced(self, index if kind is tuple else _as_tuple(index))
    if indices:
        return index_(result, indices)
    return as_strided.alias_view(self) if result is self else result


@asking
@functools.wraps(getitem)
def _getitem_in_mode(self, index):
    if (asked := _asked_for(self, index)) is not None:
        return ask(Tensor.__getitem__, "torch.Tensor.__getitem__", asked, (self, index), {})
    return getitem(self, index)


# -- assignment -------------------------------------------------------------------------------


@asking
def setitem(self, index, value) -> None:
    """`x[index] = value`: written in place through the view or the indices given by `index`.

    A number fills (fill_, masked_fill_, index_fill_), as a 0-dim tensor does; others are broadcast,
    and leading dimensions of size one are dropped. Raises TypeError for a value that is neither
    tensor nor number, and the errors of in-place operations.
    """
    if (asked := _asked_for(self, index, value)) is not None:
        given = (self, index, value)
        ask(Tensor.__setitem__, "torch.Tensor.__setitem__", asked, given, {})
        return
    write: Callable[..., Any] = _write
    write_at: Callable[..., Any] = _write_at
    if not isinstance(value, Tensor):
        _check_number(self, value)
        write, write_at = (fill_, _fill_at)
    if index is False:
        return
    if index is Ellipsis:
        write(self, value)
        return
    if type(index) is int:
        write(_select(self, 0, index, 0), value)
        return
    if type(index) is slice:
        write(_slice(self, 0, index, True), value)
        return
    if index is None or index is True:
        write(tensor_ops.unsqueeze(self, 0), value)
        return
    target, indices = _sliced(self, index if type(index) is tuple else _as_tuple(index))
    if not indices:
        write(target, value)
        return
    write_at(target, indices, value)


def _check_number(target: Tensor, value) -> None:
    if not isinstance(value, (bool, int, float, complex, np.integer)):
        raise TypeError(
            f"can't assign a {_type_name(value)} to a torch.{target.dtype.legacy}Tensor"
        )
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")


def _fill_at(target: Tensor, indices: list, number) -> None:
    """Write a number at indices: by masked_fill_ at one mask, by index_fill_ at one index."""
    dim = len(indices) - 1
    index = indices[dim]
    kind = index._raw.dtype
    one = indices[:-1] == [None] * dim
    check_first_mask(target, indices)
    if one and kind in (np.bool_, np.uint8):
        check_write(target)
        ones = (1,) * (target._raw.ndim - dim - index._raw.ndim)
        masked_fill_(target, tensor_ops.view(index, (*index._raw.shape, *ones)), number)
    elif one and kind == np.int64 and (index._raw.ndim == 1 or index.is_contiguous()):
        check_write(target)
        if not target._raw.size:
            from_scalar(number, target)  # raises where it is out of range
        index_fill_(target, dim, tensor_ops.reshape(index, (-1,)), number)
    else:
        put_at(target, indices, from_scalar(number, target))


def _write_at(target: Tensor, indices: list, value: Tensor) -> None:
    shape = _without_leading_ones(value._raw.shape)
    if shape != value._raw.shape:
        value = tensor_ops.view(value, shape)
    put_at(target, indices, value)


def _type_name(value) -> str:
    """The name of a type as C shows it: with the module for one that is not made by `class`."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _without_leading_ones(shape) -> tuple[int, ...]:
    first = 0
    while first < len(shape) and shape[first] == 1:
        first += 1
    return shape[first:]


def _write(target: Tensor, value: Tensor) -> None:
    shape = value._raw.shape
    if shape == target._raw.shape:
        copy_(target, value)
    elif not shape:
        fill_(target, value)
    else:
        value = tensor_ops.view(value, _without_leading_ones(shape))
        if value._raw.shape != target._raw.shape:
            value = value.expand(target._raw.shape)
        copy_(target, value)


Tensor.__getitem__ = getitem
OPERATORS["__getitem__"] = _getitem_in_mode
_getitem_in_mode.__name__ = "__getitem__"


def _delitem(self, index):
    raise TypeError("Tensor does not support deleting items")


Tensor.__setitem__, Tensor.__delitem__ = setitem, _delitem
