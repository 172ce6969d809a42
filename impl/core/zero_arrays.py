"""ZeroArray: the array of a ZeroTensor, zeros without memory (ATen/ZeroTensorFallback.cpp).

Gradients that are known to vanish are ZeroTensors. A product with one is a ZeroTensor, even if the
other factor is infinite; a sum with one is the other term; every other operation reads ordinary
zeros. ZeroTensors are immutable. Here they are a subclass of ndarray, so that formulas need no
special case.
"""

from __future__ import annotations

import numpy as np

from impl.core import messages

_PRODUCTS = (np.multiply, np.divide)  # zero if their first operand is


class ZeroArray(np.ndarray):
    """An immutable array of zeros that is known to be zero."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **settings):
        if out is not None:
            _refuse_writes(out)
            settings["out"] = out
        operands = [_plain(value) for value in inputs]
        if method == "__call__" and out is None and self._vanishes(ufunc, inputs):
            shape = np.broadcast_shapes(*map(np.shape, operands))
            return zero_array(shape, np.result_type(*operands))
        return getattr(ufunc, method)(*operands, **settings)

    @staticmethod
    def _vanishes(ufunc, inputs) -> bool:
        if ufunc in _PRODUCTS:
            return is_zeros(inputs[0]) or (ufunc is np.multiply and is_zeros(inputs[1]))
        return ufunc in (np.add, np.subtract) and all(map(is_zeros, inputs))

    def __array_function__(self, function, types, args, kwargs):
        result = super().__array_function__(function, types, args, kwargs)
        return result if function is np.broadcast_to or not is_zeros(result) else _plain(result)

    def __setitem__(self, key, value) -> None:
        raise RuntimeError(messages.ZEROS_WRITTEN)

    def astype(self, dtype, *args, **settings):
        """As of ndarray; the result in another dtype is an ordinary array."""
        return self if dtype == self.dtype else _plain(self).astype(dtype, *args, **settings)

    def copy(self, order="C"):
        """An ordinary array of zeros."""
        return _plain(self).copy(order)


def zero_array(shape, dtype) -> ZeroArray:
    """A ZeroArray of a shape and a NumPy dtype."""
    memory = np.zeros(shape, dtype)
    memory.flags.writeable = False
    return memory.view(ZeroArray)  # a view, into which the engine never accumulates


def promoted(value, dtype):
    """An operand, or the result, of an operator in the dtype that it promotes to: a ZeroArray stays
    one, unlike in a cast."""
    return zero_array(value.shape, dtype) if is_zeros(value) else value.astype(dtype)


def refuse_copy(target) -> None:
    """Raise RuntimeError if the target of a copy is a ZeroArray."""
    if is_zeros(target):
        raise RuntimeError(messages.ZEROS_COPIED)


def is_zeros(value) -> bool:
    """Whether a raw value is a ZeroArray."""
    return type(value) is ZeroArray


def _plain(value):
    return value.view(np.ndarray) if is_zeros(value) else value


def _refuse_writes(targets) -> None:
    if any(map(is_zeros, targets)):
        raise RuntimeError(messages.ZEROS_WRITTEN)
