"""Storages and layouts: a buffer with one version counter, and the strides over it."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import numpy as np


class Storage:
    """A buffer shared by a tensor, its views and its detached aliases, with one version counter.

    `buffer` identifies the memory: two storages over the same buffer alias each other but count
    their versions apart, as `.data` does. It is a NumPy scalar until somebody needs to share or
    write it, because arithmetic on scalars is many times cheaper than on 0-d arrays.
    """

    version = 0
    _flat: Any = None
    _identity: Any = None

    def __init__(self, buffer) -> None:
        self.buffer = buffer

    def sharing(self) -> Storage:
        """The same memory with a version counter of its own, as `.data` has it."""
        if not isinstance(self.buffer, np.ndarray):
            self.buffer = np.array(self.buffer)
        other = Storage(self.buffer)
        other._identity = self._identity
        return other

    def move(self, flat: np.ndarray) -> None:
        """Be over other memory, and still be known as the same storage."""
        if self._identity is None:
            self._identity = self.buffer
        self.buffer = self._flat = flat
        if type(self) is Storage:
            self.__class__ = Grown

    def resize_(self, size: int) -> Storage:
        """Have room for `size` bytes, at least (torch.UntypedStorage.resize_)."""
        if size > self.nbytes():
            from impl.growth import grow

            grow(self, -(-size // self.flat.itemsize))
        return self

    @property
    def flat(self) -> np.ndarray:
        """The whole memory as one 1-d array, in address order."""
        if self._flat is None:
            buffer = self.buffer
            if not isinstance(buffer, np.ndarray):
                buffer = self.buffer = np.array(buffer)
            flat = buffer.reshape(-1) if buffer.flags.c_contiguous else buffer.ravel("K")
            # An array with gaps shows a part of its owner's memory, which is all the storage's.
            self._flat = owner_of(buffer).reshape(-1) if flat.base is None else flat
        return self._flat

    # torch spells the identity of a storage this way (UntypedStorage._cdata).
    @property
    def _cdata(self) -> int:
        if self._identity is not None:
            return id(self._identity)
        return id(self.buffer if isinstance(self.buffer, np.ndarray) else self.flat)

    def data_ptr(self) -> int:
        """The address of the first element; 0 for no elements."""
        return address(self.flat) if self.flat.size else 0

    def nbytes(self) -> int:
        """The size of the whole memory in bytes."""
        return self.flat.nbytes


class Grown(Storage):
    """A storage whose buffer is no longer the very array of the tensor that made it."""


class Replaced(Storage):
    """What an assignment to `.data` puts in: other memory under the counter of the old storage."""

    def __init__(self, memory: Storage, origin: Storage) -> None:
        self._origin = origin
        version = origin.version
        super().__init__(memory.buffer)
        self._identity = memory._identity
        self.version = version

    @property
    def version(self) -> int:  # type: ignore[override]
        return self._origin.version

    @version.setter
    def version(self, value: int) -> None:
        self._origin.version = value


class Memory:
    """Describes a window of an array's memory to NumPy, and keeps the array alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: np.ndarray, start: int, shape, strides) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (start, False),
            "shape": tuple(shape),
            "strides": tuple(strides),
            "typestr": owner.dtype.str,
            "version": 3,
        }


def address(array: np.ndarray) -> int:
    """Where an array's first element lies."""
    return array.__array_interface__["data"][0]


def owner_of(array: np.ndarray):
    """Whose memory an array shows, through NumPy's views and ours; None if its own."""
    owner: Any = array.base
    while True:
        if isinstance(owner, Memory):
            owner = owner.owner
        elif getattr(owner, "base", None) is not None:  # an array, or what as_strided puts between
            owner = owner.base
        else:
            return owner


def contiguous_strides(shape) -> tuple[int, ...]:
    """Row-major strides in elements, as torch gives them: sizes below one count as one."""
    return _contiguous_strides(tuple(shape))


@lru_cache(8192)
def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size if size > 1 else 1
    strides.reverse()
    return tuple(strides)


def is_contiguous(shape, strides) -> bool:
    """Whether row-major; the strides of dimensions of size one do not matter."""
    if 0 in shape:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def is_dense(shape, strides) -> bool:
    """Whether non-overlapping and dense: some permutation of the dimensions is contiguous."""
    return _is_dense(tuple(shape), tuple(strides))


@lru_cache(8192)
def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if 0 in shape:
        return True
    step = 1
    for stride, size in sorted((st, sz) for sz, st in zip(shape, strides, strict=True) if sz != 1):
        if stride != step:
            return False
        step *= size
    return True


def repeats(shape, strides) -> bool:
    """Whether elements share a place in memory, as those of an expanded tensor do."""
    return 0 not in shape and any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))


def strided(flat: np.ndarray, shape, strides, offset: int) -> np.ndarray:
    """A NumPy view of `flat` (1-d, contiguous) with sizes, strides and offset in elements."""
    size = flat.itemsize
    start = 0 if 0 in shape else offset * size
    return type(flat)(shape, flat.dtype, flat, start, [s * size for s in strides])


def extent(shape, strides) -> int:
    """How many places in memory lie from the first element to the last, both included."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def element_strides(array: np.ndarray) -> tuple[int, ...]:
    """NumPy's strides of an array, in elements."""
    size = array.itemsize
    return tuple([s // size for s in array.strides])


def empty_strided(shape, strides, dtype: np.dtype) -> np.ndarray:
    """An uninitialised dense array whose strides are the given ones."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return strided(np.empty(extent(shape, strides), dtype), shape, strides, 0)


def strides_of(array) -> tuple[int, ...] | None:
    """The strides of an array in elements, or None when they are the row-major ones."""
    if array.ndim == 0 or (array.size == 0 and not any(array.strides)):
        return None  # NumPy gives an array of its own that has no elements no strides either
    if array.ndim == 1 and array.shape[0] == 1:
        return None
    # Only a view of ours has strides of its own where they do not matter (sizes of one).
    if array.base is None and array.flags.c_contiguous:
        return None
    strides = element_strides(array)
    return None if strides == contiguous_strides(array.shape) else strides


def reordered(array: np.ndarray) -> bool:
    """Whether the dimensions lie in memory in another order than row-major; broadcast ones do in
    any."""
    if array.flags.c_contiguous or array.ndim < 2:
        return False
    if array.ndim == 2:
        return 0 < array.strides[0] < array.strides[1]
    strides = [s for s in array.strides if s]
    return any(a < b for a, b in itertools.pairwise(strides))


def elementwise_strides(shape, operands) -> tuple[int, ...] | None:
    """The strides torch gives an element-wise result over `operands` [(shape, strides), ...].

    Operands of equal shape that are all contiguous, or all dense with equal strides, pass their
    layout on. Otherwise the dimensions are ordered by the first operand whose strides tell them
    apart (ATen's TensorIterator); a broadcast dimension, of stride 0, tells nothing. None stands
    for row-major.
    """
    ndim = len(shape)
    if all(s == shape for s, _ in operands):
        if all(is_contiguous(s, st) for s, st in operands):
            return None
        first = operands[0][1]
        if is_dense(shape, first) and all(st == first for _, st in operands):
            return first
    aligned = []
    for op_shape, op_strides in operands:
        pad = ndim - len(op_shape)
        aligned.append(
            [0] * pad
            + [
                0 if n == 1 and shape[pad + i] != 1 else op_strides[i]
                for i, n in enumerate(op_shape)
            ]
        )
    order = list(range(ndim - 1, -1, -1))
    for i in range(1, ndim):
        right = i
        for left in range(i - 1, -1, -1):
            comparison = _compare(order[left], order[right], shape, aligned)
            if comparison > 0:
                order[left], order[right] = order[right], order[left]
                right = left
            elif comparison < 0:
                break
    if order == list(range(ndim - 1, -1, -1)):
        return None
    strides, step = [0] * ndim, 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]  # to 0 too, which row-major strides never are
    result = tuple(strides)
    return None if result == contiguous_strides(shape) else result


def _compare(a: int, b: int, shape, aligned) -> int:
    for strides in aligned:
        if strides[a] == 0 or strides[b] == 0:
            continue
        if strides[a] != strides[b]:
            return -1 if strides[a] < strides[b] else 1
        if shape[a] > shape[b]:
            return 1
    return 0
