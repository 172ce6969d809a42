"""Input buffers: the gradients that have arrived at a node (csrc/autograd/input_buffer.h)."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from numpy import empty_like, ndarray

from impl.core.ownership import NAME_AND_HOLDER
from impl.core.sparse_array import SparseArray
from impl.core.state import STATE
from impl.core.strides import Buffer, element_strides, is_dense


class InputBuffer:
    """The sum of the gradients that have arrived for one output, and its version.

    `missing` is how many gradients the node still waits for. `value` is the first one and `version`
    its version, if it is there already.
    """

    __slots__ = ("missing", "value", "version")

    def __init__(self, missing: int, value: Any = None, version: int = 0) -> None:
        self.missing = missing
        self.value = value
        self.version = version

    def add(self, number: int, gradient, version: int, form) -> None:
        """Add a gradient of a version; in place if nothing else holds the sum.

        None counts as arrived, and adds nothing.
        """
        self.missing -= 1
        if gradient is None:
            return
        held = self.value
        if held is None:
            self.value, self.version = gradient, version
            if version and form.records:  # a tensor, which nodes may pass on as it is
                gradient._storage.version = version
        elif (
            not form.records
            and getrefcount(held) == NAME_AND_HOLDER
            and (held.base is None or _fills_buffer(held))
        ):
            if type(held) is not ndarray and type(gradient) is ndarray and not gradient.ndim:
                gradient = gradient[()]  # two NumPy scalars are added in a tenth of the time
            elif held.base is not None and type(gradient) is ndarray:
                gradient = _in_order_of(held, gradient)
            held += gradient
            if type(gradient) is SparseArray or type(self.value) is SparseArray:  # in new memory
                self.version = 0
            else:
                self.version += STATE.before_write is None  # a dispatch mode counts no write
            self.value = held
        else:
            held = None
            self.value, self.version = form.add(self.value, gradient), 0

    def complete(self, slot, versions: dict):
        """The gradient, which is no longer held here; `versions` gets its version."""
        if self.version:
            versions[slot] = self.version
        value, self.value = self.value, None
        return value


def _fills_buffer(array) -> bool:
    """Whether an array is dense in memory of its own, and nothing else refers to that."""
    memory = array.base
    return (
        type(memory) is Buffer
        and getrefcount(memory) == NAME_AND_HOLDER
        and is_dense(array.shape, element_strides(array))
    )


def _in_order_of(held, gradient):
    """A gradient in row-major order, copied to the order of the sum that it is added to: NumPy
    copies and adds in half the time that it takes to add elements in another order."""
    if not gradient.flags.c_contiguous or gradient.ndim < 2:
        return gradient
    copy = empty_like(held)
    copy[...] = gradient
    return copy


class InputBuffers:
    """The input buffers of a node with several outputs."""

    __slots__ = ("buffers", "missing")

    def __init__(self, outputs: int, missing: int) -> None:
        self.missing = missing
        self.buffers = [InputBuffer(0) for _ in range(outputs)]

    def add(self, number: int, gradient, version: int, form) -> None:
        """Add a gradient for output `number`; see `InputBuffer.add`."""
        self.missing -= 1
        self.buffers[number].add(number, gradient, version, form)

    def complete(self, node, versions: dict) -> list:
        """The gradients by output, of which `versions` gets the versions."""
        return [buffer.complete((node, i), versions) for i, buffer in enumerate(self.buffers)]
