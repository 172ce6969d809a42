"""Saved tensors: what a node keeps for its formula, and the check that nobody has written it since.

A saved input is kept as the tensor it is; a saved output without its history, which is the node
itself, so that no reference cycle arises (torch's SavedVariable). Most are never written; for those
the node keeps the bare Tensor, or for an output its bare Storage, and the version they had was 0.
An input that was written before it was saved, as weights are between two steps of a training, is
kept beside its version, `Versioned`. Everything else is a `SavedTensor`, in particular where hooks
decide what is kept: `impl.saved_hooks` switches them on.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from impl import anomaly, forward, inference, messages
from impl.dtypes import BY_NUMPY
from impl.graph import accumulator
from impl.modes import STATE
from impl.pending import Pending
from impl.storage import Storage, strides_of
from impl.tensor import Tensor, blank


class SavedTensor:
    """A tensor a node keeps for its formula, with the version it had, or what hooks made of it."""

    __slots__ = (
        "history",
        "number",
        "owner",
        "packed",
        "raw",
        "storage",
        "strides",
        "tensor",
        "version",
        "view",
    )

    def __init__(self, tensor, is_output: bool) -> None:
        self.owner: Any = None  # a weak reference to the node, once somebody has asked for this
        self.packed: Packed | None = None
        if not is_output:
            inference.check_save(tensor)
        self.storage = storage = tensor._storage
        self.version = storage.version
        self.number = tensor._nr
        self.history = tensor._node is not None
        # Weakly, the history of a view through which the output was written in place.
        self.view: Any = None
        if is_output:
            if tensor._view is not None and tensor._node is not None:
                self.view = weakref.ref(tensor._node)
            self.tensor = None
            self.raw = tensor._raw
            self.strides = (tensor._strides, tensor._offset)
        else:
            self.tensor = tensor
        if STATE.saved_hooks:
            self._pack(tensor, *STATE.saved_hooks[-1])

    def _pack(self, shown, pack, unpack) -> None:
        """Keep what `pack` makes of a tensor that shows the value, and not the tensor."""
        self.packed = Packed(shown, pack, unpack, self.tensor)
        self.tensor = self.raw = None

    def register_hooks(self, pack, unpack) -> None:
        """Keep what `pack` makes of the value, and let `unpack` give it back.

        Raises RuntimeError where there are hooks or no value, and where `pack` writes its argument;
        TypeError for what cannot be called.
        """
        check_callable(
            "register_hooks(): incompatible function arguments. The following argument types are "
            "supported:\n    1. (self: torch._C._autograd.SavedTensor, arg0: "
            "collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\nInvoked with: "
            f"<torch._C._autograd.SavedTensor object at {id(self):#x}>",
            (pack, unpack),
        )
        node = self.owner and self.owner()
        if node is not None and node._kept is None:
            raise RuntimeError(messages.HOOKS_FREED)
        if self.packed is not None:
            raise RuntimeError(messages.HOOKS_SET)
        if self.storage is None:
            raise RuntimeError(messages.HOOKS_NONE)
        shown = self.tensor
        if shown is None:
            shown = self._rebuilt(self._value(), None)
        self._pack(shown.detach(), pack, unpack)

    def array(self, node):
        """The raw value. Raises RuntimeError if it was modified since."""
        if self.packed is not None:
            return _elements(self.packed.value())
        storage = self.storage
        if self.history and self.tensor is not None and self.tensor._node is None:
            raise RuntimeError(messages.DETACHED)
        if storage.version != self.version:
            raw = self.raw if self.tensor is None else self.tensor._raw
            producer = self._history(node) if self.tensor is None else self.tensor.grad_fn
            refuse(raw, producer, self.number, storage.version, self.version)
        return self._value()

    def _value(self):
        if self.tensor is not None:
            return _elements(self.tensor)
        raw, storage = self.raw, self.storage
        # A scalar became an array when somebody shared it; the array is what it is now.
        return raw if raw.ndim or type(raw) is type(storage.buffer) else storage.buffer

    def tensor_for(self, node) -> Tensor:
        """The value as a tensor with its history, which for an output is `node`."""
        if self.packed is not None:
            return self.packed.tensor(node, self.number)
        raw = self.array(node)
        return self.tensor if self.tensor is not None else self._rebuilt(raw, self._history(node))

    def _history(self, node):
        """The history of an output: its node, or the view's if somebody still holds that."""
        return (self.view and self.view()) or node

    def _rebuilt(self, raw, node) -> Tensor:
        """A saved output as a tensor again."""
        output = _output(raw, node, self.number)
        output._storage = self.storage
        output._strides, output._offset = self.strides
        return output


class Packed:
    """What a pack hook made of a saved tensor, and the history that the tensor had."""

    __slots__ = ("accumulator", "kept", "node", "requires_grad", "tangent", "unpack")

    def __init__(self, shown: Tensor, pack, unpack, source: Tensor | None) -> None:
        """`pack` gets `shown`; `source` is the tensor, unless it is an output of the node."""
        version = shown._version
        previous, STATE.enabled = STATE.grad_mode, False
        try:
            self.kept = pack(shown)
        finally:
            STATE.enabled = previous
        if shown._version != version:
            raise RuntimeError(messages.PACK_WRITES)
        self.unpack = unpack
        self.requires_grad = self.node = self.accumulator = self.tangent = None
        if source is not None:
            self.tangent = forward.held(source)
            self.requires_grad, self.node = source.requires_grad, source.grad_fn
            if self.requires_grad and self.node is None:
                self.accumulator = accumulator(source)

    def value(self) -> Tensor:
        """What the unpack hook returns; TypeError if it is no tensor."""
        result = self.unpack(self.kept)
        if not isinstance(result, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(result).__name__}"
            )
        return result

    def tensor(self, node, number: int) -> Tensor:
        """The value with the history of what was saved; an output's is `node`."""
        result = self.value().detach()
        if self.requires_grad is None:
            result._node, result._nr = node, number
        elif self.node is not None:
            result._node, result._nr = self.node, number
        elif self.accumulator is not None:
            result._requires_grad = True
            result._accumulator = weakref.ref(self.accumulator)
        forward.hold(result, self.tangent)
        return result


def check_callable(text: str, functions) -> None:
    """Raise TypeError, with a text that ends in what was given, unless all can be called."""
    if not all(map(callable, functions)):
        start = text + (", " if text[-1] != " " else "")
        raise TypeError(start + ", ".join(map(repr, functions)))


class Versioned:
    """An input with the version that it had when it was saved."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: Tensor, version: int) -> None:
        self.tensor = tensor
        self.version = version


def save(tensor: Tensor):
    """A tensor as a node keeps its input: bare if nobody has written its memory yet."""
    memory = tensor._memory
    if memory is None:
        return tensor
    if tensor._inference or tensor._detached:
        return SavedTensor(tensor, False)
    return Versioned(tensor, memory.version) if memory.version else tensor


def exposed(value, node) -> SavedTensor:
    """An entry of a node's `saved`, or None, as the object that takes hooks."""
    if type(value) is not SavedTensor:
        entry = SavedTensor.__new__(SavedTensor)
        entry.packed = entry.tensor = entry.raw = entry.storage = None
        entry.version = entry.number = 0
        if type(value) is Versioned:
            entry.version, value = value.version, value.tensor
        if isinstance(value, Tensor):
            entry.tensor, entry.storage, entry.number = value, value._storage, value._nr
            entry.history = value._node is not None
        elif isinstance(value, Storage):
            entry.raw, entry.storage, entry.history = _raw_of_output(value, node), value, True
            entry.strides = (strides_of(entry.raw), 0)
        value = entry
    value.owner = weakref.ref(node)
    return value


def raw_of(value, node):
    """The raw value of what a node saved; anything but a saved tensor is returned as it is.

    Raises RuntimeError if the tensor was modified since.
    """
    version = 0
    if type(value) is Versioned:
        value, version = value.tensor, value.version
    if type(value) is Tensor:
        memory = value._memory
        if memory is None or (memory.version == version and not value._detached):
            return value._raw
    if isinstance(value, Tensor):
        return _elements(_checked(value, version))
    if type(value) is SavedTensor:
        return value.array(node)
    if isinstance(value, Storage):
        return _output_raw(value, node)
    return value


def tensor_of(value, node):
    """What a node saved, as a tensor with its history; see `raw_of`."""
    if type(value) is Versioned:
        return _checked(value.tensor, value.version)
    if type(value) is SavedTensor:
        return value.tensor_for(node)
    if isinstance(value, Tensor):
        return _checked(value, 0)
    if isinstance(value, Storage):
        output = _output(_output_raw(value, node), node, 0)
        output._storage = value
        return output
    return value


def _elements(tensor: Tensor):
    """The raw value; what is conjugated lazily knows its origin, as that of a gradient does."""
    return tensor.remembered() if isinstance(tensor, Pending) else tensor._raw


def _checked(tensor: Tensor, version: int) -> Tensor:
    memory = tensor._memory
    if memory is not None:
        if tensor._detached:
            raise RuntimeError(messages.DETACHED)
        if memory.version != version:
            refuse(tensor._raw, tensor.grad_fn, tensor._nr, memory.version, version)
    return tensor


def _output_raw(storage: Storage, node):
    raw = _raw_of_output(storage, node)
    if storage.version:
        refuse(raw, node, 0, storage.version, 0)
    return raw


def _raw_of_output(storage: Storage, node):
    raw = storage.buffer
    shape = node._shape_of(0)
    if raw.shape != shape:  # the memory was grown, and the output is its beginning
        raw = storage.flat[: int(np.prod(shape))].reshape(shape)
    return raw


def _output(raw, node, number: int) -> Tensor:
    output = blank()
    output._raw = raw
    output._strides = strides_of(raw)
    output._node = node
    output._nr = number
    return output


def refuse(raw, producer, number: int, found: int, expected: int) -> None:
    """Raise RuntimeError for a saved tensor that was modified in place since."""
    dtype = BY_NUMPY[raw.dtype]
    watched = anomaly.MODE.enabled
    raise RuntimeError(messages.stale(dtype, raw.shape, producer, number, found, expected, watched))
