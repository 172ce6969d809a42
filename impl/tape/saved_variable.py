"""Saved variables: tensors that a node saves for backward, with their saved versions.

Unpacking a saved variable checks that its version counter still has the saved version: *Save* and
*Unpack* of the specification's algorithms (reference/spec/00-algorithms.md). A saved
input is kept as the tensor itself; a saved output without its grad_fn, which is the node, so that
there is no reference cycle (csrc/autograd/saved_variable.h). There are four representations:

- a Tensor: an input with saved version 0, the most common case;
- a Storage: an output with saved version 0;
- a `Versioned`: an input that was written before it was saved, such as a weight after an optimizer
  step;
- a `SavedVariable`: every other case, in particular with saved-tensor hooks
  (`impl.tape.saved_tensor_hooks`).
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.checks import check_callable
from impl.core.dtypes import BY_NUMPY, DIFFERENTIABLE
from impl.core.meta_arrays import is_meta
from impl.core.sparse_array import SparseArray
from impl.core.state import STATE
from impl.core.storage import Storage
from impl.core.strides import strides_of
from impl.graph import anomaly_mode
from impl.graph.accumulate_grad import grad_accumulator
from impl.tensor import forward_grad, resize_storage
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.sparse_tensor import sparse_tensor
from impl.tensor.tensor import DISPATCHING, Tensor, blank, is_asked, requires_grad

NOTHING = object()
"""The value of a packed tensor whose pack hook raised."""


class SavedVariable:
    """A saved tensor with its saved version, or its packed form (torch's SavedTensor)."""

    __slots__ = (
        "alias",
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
        self.owner: Any = None  # weak reference to the node; None until exposed to Python
        self.packed: Packed | None = None
        self.alias: Tensor | None = None  # of an output whose class operators ask
        if not is_output:
            inference_mode.check_save(tensor)
        self.storage = storage = tensor._storage
        self.version = storage.version
        self.number = tensor._nr
        self.history = tensor._node is not None
        # Weak reference to the grad_fn of a view through which the output was written in place.
        self.view: Any = None
        if is_output:
            if tensor._view is not None and tensor._node is not None:
                self.view = weakref.ref(tensor._node)
            self.tensor = None
            self.raw = tensor._raw
            asked = (STATE.dispatch_modes or DISPATCHING) and is_asked(tensor)
            if asked and not STATE.saved_hooks:
                self.alias = tensor.detach()
            self.strides = (tensor._strides, tensor._offset)
        else:
            self.tensor = tensor
        if STATE.saved_hooks:
            self._pack(tensor, *STATE.saved_hooks[-1])

    def _pack(self, shown, pack, unpack) -> None:
        """Replace the tensor by the result of the hook `pack`, called with `shown`.

        The hooks stay when `pack` raises, or is refused for writing its argument.
        """
        self.packed = Packed(unpack, self.tensor)
        self.tensor = self.raw = None
        self.packed.keep(shown, pack)

    def register_hooks(self, pack, unpack) -> None:
        """Replace the value by the result of `pack`; `unpack` restores it (SavedTensor's method).

        Raises RuntimeError if there are hooks already, if there is no value, and if `pack` writes
        its argument; TypeError if a hook is not callable.
        """
        check_callable(
            "register_hooks(): incompatible function arguments. The following argument types are "
            "supported:\n    1. (self: torch._C._autograd.SavedTensor, arg0: "
            "collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\nInvoked with: "
            f"<torch._C._autograd.SavedTensor object at {id(self):#x}>",
            (pack, unpack),
        )
        node = self.owner and self.owner()
        if node is not None and node._saved is None:
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
        """The raw value. Raises RuntimeError if it was modified since it was saved."""
        if self.packed is not None:
            return _elements(self.packed.value())
        if self.history and self.tensor is not None and self.tensor._node is None:
            raise RuntimeError(messages.DETACHED)
        return self._unmodified(node)

    def _unmodified(self, node):
        storage = self.storage
        if storage.version != self.version:
            raw = self.raw if self.tensor is None else self.tensor._raw
            producer = self._history(node) if self.tensor is None else self.tensor._grad_fn
            raise_version_mismatch(raw, producer, self.number, storage.version, self.version)
        return self._value()

    def _value(self):
        if self.tensor is not None:
            return _elements(self.tensor)
        raw, storage = self.raw, self.storage
        # A scalar that was shared after it was saved is now an array in the storage.
        return raw if raw.ndim or type(raw) is type(storage.buffer) else storage.buffer

    def tensor_for(self, node, is_read: bool = False) -> Tensor:
        """The value as a tensor with its grad_fn, which for an output is `node`.

        A program that reads it (`is_read`) may have detached it in place; a formula may not.
        """
        if self.packed is not None:
            return self.packed.tensor(node, self.number)
        raw = self._unmodified(node) if is_read else self.array(node)
        return self.tensor if self.tensor is not None else self._rebuilt(raw, self._history(node))

    def _history(self, node):
        """The grad_fn of an output: that of the written view while it is alive, else `node`."""
        return (self.view and self.view()) or node

    def _follow(self, moved: set[int]) -> None:
        """Refer to the new memory of an output if its storage is among those `moved` (by `id`)."""
        if id(self.storage) in moved and self.tensor is None and self.packed is None:
            self.raw = resize_storage.window(self.storage, self.raw, *self.strides)

    def _rebuilt(self, raw, node) -> Tensor:
        """The tensor of a saved output, with the saved strides and storage."""
        if self.alias is not None:
            output = self.alias.detach()
            output._node, output._nr = node, self.number
            return output
        output = _output(raw, node, self.number)
        output._storage = self.storage
        output._strides, output._offset = self.strides
        return output


resize_storage.HOLDERS.append(SavedVariable)


class Packed:
    """The result of a pack hook, with the autograd metadata of the saved tensor."""

    __slots__ = ("accumulator", "kept", "node", "requires_grad", "tangent", "unpack")

    def __init__(self, unpack, source: Tensor | None) -> None:
        """`source` is the saved tensor, None for an output of the node."""
        self.kept: Any = NOTHING
        self.unpack = unpack
        self.requires_grad = self.node = self.accumulator = self.tangent = None
        if source is not None:
            self.tangent = forward_grad.snapshot(source)
            self.requires_grad, self.node = requires_grad(source), source._grad_fn
            if self.requires_grad and self.node is None:
                self.accumulator = grad_accumulator(source)

    def keep(self, shown: Tensor, pack) -> None:
        """Keep the result of `pack(shown)`; RuntimeError if it wrote its argument."""
        version = shown._version
        previous, STATE.enabled = STATE.grad_mode, False
        try:
            self.kept = pack(shown)
        finally:
            STATE.enabled = previous
        if shown._version != version:
            raise RuntimeError(messages.PACK_WRITES)

    def value(self) -> Tensor:
        """The result of the unpack hook; TypeError if it is no tensor, RuntimeError if the pack
        hook left nothing to unpack, or for integers in place of a leaf."""
        if self.kept is NOTHING:
            raise RuntimeError(messages.PACK_RAISED)
        result = self.unpack(self.kept)
        if not isinstance(result, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(result).__name__}"
            )
        if self.accumulator is not None and result.dtype.numpy not in DIFFERENTIABLE:
            raise RuntimeError(messages.ONLY_FLOATING)
        return result

    def tensor(self, node, number: int) -> Tensor:
        """The unpacked tensor with the grad_fn of the saved tensor; for an output, `node`."""
        result = self.value().detach()
        if self.requires_grad is None:
            result._node, result._nr = node, number
        elif self.node is not None:
            result._node, result._nr = self.node, number
        elif self.accumulator is not None:
            result._requires_grad = True
            result._grad_accumulator = weakref.ref(self.accumulator)
        forward_grad.restore_snapshot(result, self.tangent)
        return result


class Versioned:
    """A saved input with its saved version, if that is not 0."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: Tensor, version: int) -> None:
        self.tensor = tensor
        self.version = version


def save(tensor: Tensor):
    """The representation of a saved input: the tensor itself if its version is 0."""
    memory = tensor._memory
    if memory is None:
        return tensor
    if tensor._inference or tensor._detached:
        return SavedVariable(tensor, False)
    return Versioned(tensor, memory.version) if memory.version else tensor


def as_saved_variable(value, node) -> SavedVariable:
    """An entry of a node's `_saved`, or None, as a SavedVariable, which can register hooks."""
    if type(value) is not SavedVariable:
        entry = SavedVariable.__new__(SavedVariable)
        entry.alias = entry.packed = entry.tensor = entry.raw = entry.storage = entry.view = None
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


def unpack_array(value, node):
    """The raw value of a saved variable; any other value is returned unchanged.

    Raises RuntimeError if the tensor was modified since it was saved.
    """
    version = 0
    if type(value) is Versioned:
        value, version = value.tensor, value.version
    if isinstance(value, Tensor):
        memory = value._memory
        if memory is not None and memory.altered:
            _refit(node)
        elif type(value) is Tensor and (
            memory is None or (memory.version == version and not value._detached)
        ):
            return value._raw
        return _elements(_checked(value, version))
    if type(value) is SavedVariable:
        return value.array(node)
    if isinstance(value, Storage):
        return _output_raw(value, node)
    return value


def unpack_tensor(value, node):
    """A saved variable as a tensor with its grad_fn; otherwise as `unpack_array`."""
    version = 0
    if type(value) is Versioned:
        value, version = value.tensor, value.version
    if isinstance(value, Tensor):
        if value._memory is not None and value._memory.altered:
            _refit(node)
        return _checked(value, version)
    if type(value) is SavedVariable:
        return value.tensor_for(node)
    if isinstance(value, Storage):
        output = _output(_output_raw(value, node), node, 0)
        output._memory = value
        return output
    return value


def is_output(value, tensor: Tensor, node) -> bool:
    """Whether a saved value, unpacked as `tensor`, is an output of the node that saved it; one that
    was written through a view has the grad_fn of the view."""
    written = type(value) is SavedVariable and value.view is not None
    return tensor._node is node or written


def saves_subclass(node) -> bool:
    """Whether a node has saved, or its unpack hooks may return, a tensor of a class that operators
    ask below autograd; of a write through a view, the node of that write."""
    inner = getattr(node, "_fn", None)
    if inner is not None:
        return saves_subclass(inner)
    return any(
        any(map(_is_subclass, value)) if type(value) is list else _is_subclass(value)
        for value in getattr(node, "_saved", None) or ()
    )


def _is_subclass(value) -> bool:
    if type(value) is SavedVariable:
        return value.packed is not None or value.alias is not None or _is_subclass(value.tensor)
    return type(value.tensor if type(value) is Versioned else value) in DISPATCHING


def read_tensor(value, node):
    """The value of `_saved_self` or `ctx.saved_tensors`: as `unpack_tensor`, but for a tensor that
    was detached in place, which only a formula refuses."""
    version = 0
    if type(value) is Versioned:
        value, version = value.tensor, value.version
    if isinstance(value, Tensor):
        return _unmodified(value, version)
    if type(value) is SavedVariable:
        return value.tensor_for(node, is_read=True)
    return unpack_tensor(value, node)


def _refit(node) -> None:
    """Have the engine look at the node's gradients: a saved value has another dtype or shape than
    when it was saved."""
    if node._plan is not None:
        node._plan = node._plan.refitting()


def _elements(tensor: Tensor):
    """The raw value; that of a tensor with the conj or neg bit is tracked for `source_of`."""
    return tensor.tracked() if isinstance(tensor, LazyConjTensor) else tensor._raw


def _checked(tensor: Tensor, version: int) -> Tensor:
    if tensor._memory is not None and tensor._detached:
        raise RuntimeError(messages.DETACHED)
    return _unmodified(tensor, version)


def _unmodified(tensor: Tensor, version: int) -> Tensor:
    memory = tensor._memory
    # Unpack 3
    if memory is not None and memory.version != version:
        raise_version_mismatch(tensor._raw, tensor._grad_fn, tensor._nr, memory.version, version)
    return tensor


def _output_raw(storage: Storage, node):
    raw = _raw_of_output(storage, node)
    if storage.version:
        raise_version_mismatch(raw, node, 0, storage.version, 0)
    return raw


def _raw_of_output(storage: Storage, node):
    raw, meta = storage.buffer, node._meta
    shape = meta[0] if type(meta) is tuple else node._shape_of(0)
    if raw.shape != shape:  # the storage was enlarged, and the output is its beginning
        raw = storage.flat[: int(np.prod(shape))].reshape(shape)
    return raw


def _output(raw, node, number: int) -> Tensor:
    if type(raw) is SparseArray:
        output = sparse_tensor(raw)
    else:
        output = blank()
        output._raw = raw
        output._strides = strides_of(raw)
    output._node = node
    output._nr = number
    return output


def raise_version_mismatch(raw, producer, number: int, found: int, expected: int) -> None:
    """Raise the RuntimeError for a saved tensor whose version is `found`, not `expected`."""
    kind = messages.tensor_type(BY_NUMPY[raw.dtype], is_meta(raw), type(raw) is SparseArray)
    watched = anomaly_mode.MODE.enabled
    raise RuntimeError(messages.stale(kind, raw.shape, producer, number, found, expected, watched))
