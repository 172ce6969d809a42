"""Saved tensors: what a node keeps for its formula, and the check that nobody has written it since.

A saved input is kept as the tensor it is; a saved output without its history, which is the node
itself, so that no reference cycle arises (torch's SavedVariable). Most are never shared and never
written; for those the node keeps the bare Tensor, or for an output its bare Storage, and the
version they had was 0. Everything else is a `SavedTensor`.
"""

from __future__ import annotations

import numpy as np

from impl import messages
from impl.dtypes import BY_NUMPY
from impl.storage import Storage, strides_of
from impl.tensor import Tensor


class SavedTensor:
    """A tensor a node keeps for its formula, with the version it had."""

    __slots__ = ("history", "number", "raw", "storage", "strides", "tensor", "version")

    def __init__(self, tensor, is_output: bool) -> None:
        self.storage = storage = tensor._storage
        self.version = storage.version
        self.number = tensor._nr
        self.history = tensor._node is not None
        if is_output:
            self.tensor = None
            self.raw = tensor._raw
            self.strides = (tensor._strides, tensor._offset)
        else:
            self.tensor = tensor

    def array(self, node):
        """The raw value. Raises RuntimeError if it was modified since."""
        storage = self.storage
        if self.history and self.tensor is not None and self.tensor._node is None:
            raise RuntimeError(messages.DETACHED)
        if storage.version != self.version:
            raw = self.raw if self.tensor is None else self.tensor._raw
            producer = node if self.tensor is None else self.tensor.grad_fn
            refuse(raw, producer, self.number, storage.version, self.version)
        if self.tensor is not None:
            return self.tensor._raw
        raw = self.raw
        # A scalar became an array when somebody shared it; the array is what it is now.
        return raw if raw.ndim or type(raw) is type(storage.buffer) else storage.buffer

    def rebuilt(self, node) -> Tensor:
        """A saved output as a tensor again, whose history is `node`."""
        output = _output(self.array(node), node, self.number)
        output._storage = self.storage
        output._strides, output._offset = self.strides
        return output


def save(tensor: Tensor):
    """A tensor as a node keeps its input: bare if nobody else has seen its memory yet."""
    return tensor if tensor._memory is None else SavedTensor(tensor, False)


def is_saved_tensor(value) -> bool:
    """Whether an entry of a node's `saved` stands for a tensor."""
    return isinstance(value, (SavedTensor, Tensor, Storage))


def raw_of(value, node):
    """The raw value of what a node saved; anything but a saved tensor is returned as it is.

    Raises RuntimeError if the tensor was modified since.
    """
    if type(value) is SavedTensor:
        return value.array(node)
    if isinstance(value, Tensor):
        _check_input(value)
        return value._raw
    if isinstance(value, Storage):
        return _output_raw(value, node)
    return value


def tensor_of(value, node):
    """What a node saved, as a tensor with its history; see `raw_of`."""
    if type(value) is SavedTensor:
        if value.tensor is None:
            return value.rebuilt(node)
        value.array(node)  # for its checks
        return value.tensor
    if isinstance(value, Tensor):
        _check_input(value)
        return value
    if isinstance(value, Storage):
        output = _output(_output_raw(value, node), node, 0)
        output._storage = value
        return output
    return value


def _check_input(tensor: Tensor) -> None:
    memory = tensor._memory
    if memory is None:
        return
    if tensor._detached:
        raise RuntimeError(messages.DETACHED)
    if memory.version:
        refuse(tensor._raw, tensor.grad_fn, tensor._nr, memory.version, 0)


def _output_raw(storage: Storage, node):
    raw = storage.buffer
    shape = node.shape_of(0)
    if raw.shape != shape:  # the memory was grown, and the output is its beginning
        raw = storage.flat[: int(np.prod(shape))].reshape(shape)
    if storage.version:
        refuse(raw, node, 0, storage.version, 0)
    return raw


def _output(raw, node, number: int) -> Tensor:
    output = Tensor.__new__(Tensor)
    output._raw = raw
    output._strides = strides_of(raw)
    output._node = node
    output._nr = number
    return output


def refuse(raw, producer, number: int, found: int, expected: int) -> None:
    """Raise RuntimeError for a saved tensor that was modified in place since."""
    dtype = BY_NUMPY[raw.dtype]
    raise RuntimeError(messages.stale(dtype, raw.shape, producer, number, found, expected))
