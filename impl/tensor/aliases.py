"""Aliases of a tensor, tensors over the same storage without history: `detach()` and `.data`."""

from __future__ import annotations

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dtypes import FLOATING
from impl.core.meta_arrays import is_meta
from impl.core.registry import method_of, tensor_ops
from impl.core.state import STATE
from impl.core.storage import Replaced
from impl.core.strides import contiguous_strides, strided
from impl.tensor.batched_tensor import refuse_data
from impl.tensor.geometry import Geometry, elements, geometry
from impl.tensor.lazy_conj import LazyConjTensor, conj_neg_bits, with_bits
from impl.tensor.tensor import DISPATCHING, Tensor, blank, is_asked, new, requires_grad


def alias(tensor: Tensor, target: Geometry, dtype: np.dtype | None = None) -> Tensor:
    """A tensor over the same storage, with its version counter and without history.

    With `dtype` the memory is reinterpreted, and the geometry is in elements of that dtype.
    """
    shape, strides, offset = target
    raw = tensor._array()
    result = blank()
    result._storage = storage = tensor._storage
    if dtype is not None:
        result._raw = strided(elements(storage, dtype), shape, strides, offset)
    elif shape == raw.shape and offset == tensor._offset and strides == tensor.stride():
        result._raw = raw
    else:
        result._raw = strided(elements(storage, raw.dtype), shape, strides, offset)
    if strides != contiguous_strides(shape) or is_meta(raw):
        result._strides = strides
    result._offset = offset
    if tensor._inference:
        inference_mode.mark(result)
    return (
        with_bits(result, *conj_neg_bits(tensor)) if isinstance(tensor, LazyConjTensor) else result
    )


def on_copied_memory(tensor: Tensor) -> Tensor:
    """A tensor over a copy of the whole memory of another, with its sizes, strides, offset, and
    conj and neg bits, but without history."""
    tensor._array()
    memory = new(elements(tensor._storage, tensor._raw.dtype).copy())
    return with_bits(alias(memory, geometry(tensor)), *conj_neg_bits(tensor))


def writable_alias(tensor: Tensor) -> Tensor:
    """An alias without history, which a transform lets operators write, though the tensor may be
    captured (ATen's `alias`)."""
    result = alias(tensor, geometry(tensor))
    return inference_mode.detached(result) if tensor._inference else result


@method_of(Tensor)
def detach(self) -> Tensor:
    """An alias with the same storage and version counter, without history (torch.Tensor.detach)."""
    if (STATE.dispatch_modes or DISPATCHING) and is_asked(self):
        return tensor_ops.dispatched_detach(self)
    result = writable_alias(self)
    for transform in STATE.transforms:
        transform.note_computed((self,), (result,))
    for transform in STATE.transforms:
        if not (transform.owns(self) or transform.tracks(self)):
            result._detached_in = transform.serial
            break
    return result


def _data(self) -> Tensor:
    """A detached alias with a separate version counter: writes to it escape the version check."""
    result = self.detach()
    result._storage = result._storage.sharing()
    return result


def _set_data(self, value) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if STATE.transforms:
        refuse_data(self, value)
    if value.is_meta != self.is_meta or value.is_sparse != self.is_sparse:
        raise RuntimeError(messages.SET_DATA_DEVICE)
    if requires_grad(self) and value.dtype.category < FLOATING:
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    raw = value._array()
    retyped = raw.dtype != self._raw.dtype
    if retyped:
        self._grad_accumulator = None
    altered = retyped or raw.shape != self._raw.shape
    self._raw = raw
    self._storage = Replaced(value._storage, self._storage, altered)
    self._strides, self._offset = value._strides, value._offset
    self._dense_meta = None
    # The dispatch keys, which an inference tensor lacks, are taken over, the version counter not.
    self._inference = value._inference
    if value._inference or self._uncounted:
        inference_mode.use_slow_path(self)
    if conj_neg_bits(self) != conj_neg_bits(value):
        with_bits(self, *conj_neg_bits(value))


def _delete_data(self) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


Tensor.data = property(_data, _set_data, _delete_data)
