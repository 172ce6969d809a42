"""Zeros without memory: gradients that are known to vanish, which torch never makes (ZeroTensor).

They read as zeros. A product with them is of the same kind, whatever the other factor, infinite or
not; a sum with them is the other term; everything else takes them for ordinary zeros. They cannot
be written. Here they are arrays of a class of their own, so that formulas need not know of them.
"""

from __future__ import annotations

import numpy as np

from impl import messages

_PRODUCTS = (np.multiply, np.divide)  # that are zero if their first operand is


class Zeros(np.ndarray):
    """An array of zeros that knows it, and cannot be written."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **settings):
        if out is not None:
            _refuse_writes(out)
            settings["out"] = out
        operands = [_plain(value) for value in inputs]
        if method == "__call__" and out is None and self._vanishes(ufunc, inputs):
            shape = np.broadcast_shapes(*map(np.shape, operands))
            return vanishing(shape, np.result_type(*operands))
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
        """As arrays have it; zeros in another dtype are ordinary ones."""
        return self if dtype == self.dtype else _plain(self).astype(dtype, *args, **settings)

    def copy(self, order="C"):
        """Ordinary zeros."""
        return _plain(self).copy(order)


def vanishing(shape, dtype) -> Zeros:
    """Zeros of a shape and a NumPy dtype."""
    memory = np.zeros(shape, dtype)
    memory.flags.writeable = False
    return memory.view(Zeros)  # a view, to which the engine adds nothing in place


def refuse_copy(target) -> None:
    """Raise RuntimeError if what is to be copied to is of this kind."""
    if is_zeros(target):
        raise RuntimeError(messages.ZEROS_COPIED)


def is_zeros(value) -> bool:
    """Whether a raw value is of this kind."""
    return type(value) is Zeros


def _plain(value):
    return value.view(np.ndarray) if is_zeros(value) else value


def _refuse_writes(targets) -> None:
    if any(map(is_zeros, targets)):
        raise RuntimeError(messages.ZEROS_WRITTEN)
