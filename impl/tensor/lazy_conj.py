"""The conj and neg bits: tensors that are conjugated or negated when they are read or written.

`conj()` computes nothing: it is a view with the conj bit, and the imaginary part of such a view has
the neg bit (ATen/ConjugateFallback.cpp, ATen/native/NegateFallback.cpp). Such a tensor has the
class `LazyConjTensor`, whose `_raw` is computed at each access. So every reader of `_raw` gets the
resolved values; only code that shares memory (`_array`) or writes it (`impl.tensor.write`) checks
for the class.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from impl.core.meta_arrays import is_meta
from impl.core.state import STATE
from impl.core.storage import Memory, Storage, address, owner_of
from impl.core.strides import element_strides, extent, strided
from impl.core.tensor_impl import TensorBase
from impl.tensor.tensor import Tensor, requires_grad

_MEMORY: Any = TensorBase.__dict__["_raw"]  # the slot, which holds the unresolved memory


class LazyConjTensor(Tensor):
    """A tensor with the conj bit, the neg bit, or both."""

    _conjugated = False
    _negated = False

    def resolve(self, value):
        """Apply the bits to an array: resolves memory to values, and converts values to memory."""
        if self._conjugated:
            value = np.conj(value)
        value = -value if self._negated else value
        return value if is_meta(value) else np.asarray(value)

    @property
    def _raw(self):
        return self.resolve(_MEMORY.__get__(self))

    @_raw.setter
    def _raw(self, memory) -> None:
        _MEMORY.__set__(self, memory)

    def _array(self) -> np.ndarray:
        return _MEMORY.__get__(self)

    def tracked(self) -> np.ndarray:
        """The resolved elements as a raw gradient, tracked for `source_of`."""
        if self._conjugated and self._negated:
            return self._raw
        return conjugated(self._array()) if self._conjugated else negated(self._array())

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The resolved elements if `force`; else RuntimeError, as NumPy has no such bits."""
        if force:
            return self._raw
        if STATE.enabled and requires_grad(self):
            return super().numpy()
        kind, cure = ("conjugate", "conj") if self._conjugated else ("negative", "neg")
        raise RuntimeError(
            f"Can't call numpy() on Tensor that has {kind} bit set. "
            f"Use tensor.resolve_{cure}().numpy() instead."
        )


LazyConjTensor.__name__ = LazyConjTensor.__qualname__ = Tensor.__name__  # torch has only one class
LazyConjTensor.__module__ = Tensor.__module__


def conj_neg_bits(tensor: Tensor) -> tuple[bool, bool]:
    """The conj bit and the neg bit of a tensor."""
    return (
        (tensor._conjugated, tensor._negated)
        if isinstance(tensor, LazyConjTensor)
        else (False, False)
    )


def with_bits(tensor: Tensor, conjugated: bool, negated: bool) -> Tensor:
    """Set the conj and neg bits of a new alias, and return it."""
    tensor._array()  # replaces a scalar by an array
    tensor._dense_meta = None
    tensor.__class__ = LazyConjTensor if conjugated or negated else Tensor
    if isinstance(tensor, LazyConjTensor):
        tensor._conjugated, tensor._negated = conjugated, negated
    return tensor


# -- gradients ----------------------------------------------------------------------------------
#
# In torch the gradient of conj() is a view of the incoming gradient with the conj bit. An array has
# no such bit, so the gradient is a conjugated copy, and SOURCES maps the copy's buffer to the array
# it was made from for as long as the buffer lives.

SOURCES: dict[int, tuple[weakref.ref, int, np.ndarray, bool]] = {}


def conjugated(raw) -> np.ndarray:
    """The conjugate of a raw gradient, tracked for `source_of`; undone if it is one itself."""
    known = source_of(raw)
    return known[0] if known is not None and known[1] else _tracked(np.conj, raw, True)


def negated(raw) -> np.ndarray:
    """The negative of a raw gradient, tracked for `source_of`."""
    return _tracked(np.negative, raw, False)


def lazily_conjugated(tensor: Tensor) -> Tensor:
    """Store the conjugate of a new result in memory and set its conj bit; the values stay equal."""
    tensor._raw = np.asarray(np.conj(tensor._raw))
    tensor._storage = Storage(tensor._raw)
    return with_bits(tensor, True, False)


def _tracked(operation, raw, conjugates: bool) -> np.ndarray:
    # A new buffer with the strides of the source, so that offsets in both correspond.
    source = np.asarray(raw)
    strides = element_strides(source)
    buffer = np.empty(max(extent(source.shape, strides), 1), source.dtype)
    values = strided(buffer, source.shape, strides, 0)
    operation(source, out=values)
    key = id(buffer)
    reference = weakref.ref(buffer, lambda _: SOURCES.pop(key, None))
    SOURCES[key] = (reference, address(buffer), source, conjugates)
    return values


def source_of(raw) -> tuple[np.ndarray, bool] | None:
    """The array of which `raw` is the tracked conjugate (True) or negative (False), or None."""
    known = SOURCES.get(id(owner_of(raw))) if SOURCES and type(raw) is np.ndarray else None
    if known is None or known[2].dtype != raw.dtype:
        return None
    _, start, source, conjugates = known
    place = address(source) + address(raw) - start
    return np.asarray(Memory(source, place, raw.shape, raw.strides)), conjugates
