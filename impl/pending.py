"""Tensors whose memory is conjugated or negated when it is read or written, and not before.

`conj()` computes nothing: it is a view with torch's conj bit, and the imaginary part of such a view
carries the neg bit. Here such a tensor is of a class of its own, `Pending`, whose `_raw` is made
anew whenever somebody asks for it. So whatever reads `_raw` reads the right values; only where
memory is shared (`_array`) or written (`inplace.write`) must the class be known.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from impl.modes import STATE
from impl.storage import Memory, Storage, address, element_strides, extent, owner_of, strided
from impl.tensor import Tensor
from impl.tensor_base import TensorBase

_MEMORY: Any = TensorBase.__dict__["_raw"]  # the slot, which holds the memory as it is


class Pending(Tensor):
    """A tensor with the conj bit, the neg bit, or both."""

    _conjugated = False
    _negated = False

    def through(self, value):
        """The other side of the bits: from memory to what it stands for, and back."""
        if self._conjugated:
            value = np.conj(value)
        return np.asarray(-value if self._negated else value)

    @property
    def _raw(self):
        return self.through(_MEMORY.__get__(self))

    @_raw.setter
    def _raw(self, memory) -> None:
        _MEMORY.__set__(self, memory)

    def _array(self) -> np.ndarray:
        return _MEMORY.__get__(self)

    def remembered(self) -> np.ndarray:
        """The elements as a raw gradient, of which `source_of` knows the origin."""
        if self._conjugated and self._negated:
            return self._raw
        return conjugated(self._array()) if self._conjugated else negated(self._array())

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The elements as an array, if `force`; else RuntimeError: NumPy knows no such bits."""
        if force:
            return self._raw
        if STATE.enabled and self.requires_grad:
            return super().numpy()
        kind, cure = ("conjugate", "conj") if self._conjugated else ("negative", "neg")
        raise RuntimeError(
            f"Can't call numpy() on Tensor that has {kind} bit set. "
            f"Use tensor.resolve_{cure}().numpy() instead."
        )


Pending.__name__ = Pending.__qualname__ = Tensor.__name__  # torch knows one class
Pending.__module__ = Tensor.__module__


def bits(tensor: Tensor) -> tuple[bool, bool]:
    """Whether a tensor is conjugated, and whether it is negated, when it is read."""
    return (tensor._conjugated, tensor._negated) if isinstance(tensor, Pending) else (False, False)


def marked(tensor: Tensor, conjugated: bool, negated: bool) -> Tensor:
    """Set the bits of an alias that nobody else has seen yet, and return it."""
    tensor._array()  # from now on the memory is an array
    tensor._common = None
    tensor.__class__ = Pending if conjugated or negated else Tensor
    if isinstance(tensor, Pending):
        tensor._conjugated, tensor._negated = conjugated, negated
    return tensor


# -- gradients ----------------------------------------------------------------------------------
#
# The gradient of conj() is a conjugated view of the incoming one, which may be the caller's. An
# array cannot be that, so a conjugated copy is taken, and from which array is remembered for as
# long as somebody holds the copy or a view of it.

SOURCES: dict[int, tuple[weakref.ref, int, np.ndarray, bool]] = {}


def conjugated(raw) -> np.ndarray:
    """The conjugate of a raw gradient, of which `source_of` knows the origin."""
    known = source_of(raw)
    return known[0] if known is not None and known[1] else _remembered(np.conj, raw, True)


def negated(raw) -> np.ndarray:
    """The negative of a raw gradient, of which `source_of` knows the origin."""
    return _remembered(np.negative, raw, False)


def deferred(tensor: Tensor) -> Tensor:
    """Hold a result that nobody else has seen as the conjugate of what its memory contains."""
    tensor._raw = np.asarray(np.conj(tensor._raw))
    tensor._storage = Storage(tensor._raw)
    return marked(tensor, True, False)


def _remembered(operation, raw, conjugates: bool) -> np.ndarray:
    # Over a buffer of its own, with the source's strides, so that the same places correspond.
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
    """What `raw` is the conjugate (True) or the negative (False) of, if that was remembered."""
    known = SOURCES.get(id(owner_of(raw))) if SOURCES and type(raw) is np.ndarray else None
    if known is None or known[2].dtype != raw.dtype:
        return None
    _, start, source, conjugates = known
    place = address(source) + address(raw) - start
    return np.asarray(Memory(source, place, raw.shape, raw.strides)), conjugates
