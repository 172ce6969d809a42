"""Operations on a tensor's storage: resize_, set_, share_memory_, pin_memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.memory_formats import preserve_format, suggested
from impl.core.meta_arrays import MetaArray
from impl.core.sizes import check_resized, sizes_given
from impl.core.state import STATE
from impl.core.storage import Replaced, Storage
from impl.core.strides import contiguous_strides, strided
from impl.core.tensor_impl import TensorBase
from impl.dispatch.aten import shown
from impl.dispatch.definition import function
from impl.dispatch.dispatch_modes import called_aten
from impl.dispatch.out import all_inference
from impl.dispatch.record import check_write, edges_of, record_undifferentiable
from impl.dispatch.vmap_rules import require_examples, warn_slow
from impl.tensor import forward_grad, resize_storage, write
from impl.tensor.batched_tensor import BatchedTensor, innermost, is_at, physical
from impl.tensor.geometry import Geometry, bytes_needed, check_room, elements, geometry
from impl.tensor.lazy_conj import conj_neg_bits
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.torch_dispatch import asks
from impl.tensor.wrappers import refuse_captured


@function("resize_", torch=False)
def resize_(self, *sizes, memory_format=None, **named):
    """Give the tensor other sizes, row-major or in a memory format; the storage grows if necessary.

    New elements are unspecified. Raises RuntimeError for a tensor that requires grad, unless it is
    an inference tensor or in inference mode, and for `preserve_format` (torch.Tensor.resize_).
    """
    refuse_captured(self, "resize_")
    if requires_grad(self) and not (self._inference or STATE.inference):
        raise RuntimeError("cannot resize variables that require grad")
    shape = sizes_given("size", sizes, named)
    if asks((self,)):
        return _resized_by_handler("resize_", self, list(shape), memory_format)
    write.announce(self)
    if isinstance(self, BatchedTensor):
        return _resize_examples(self, shape)
    resized = shape != self._raw.shape
    if resized:
        write.resize(self, shape)
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    if memory_format is not None:
        write.resize(self, shape, memory_format.strides(shape) or contiguous_strides(shape))
    if resized:
        inference_mode.count(self)
    if forward_grad.fw_grad(self) is not None:
        raise RuntimeError("cannot resize variables that has a forward grad")
    return self


def _resized_by_handler(name: str, target: Tensor, size: Any, memory_format) -> Tensor:
    """The target, after the handler of a mode or a class has resized it."""
    options = {} if memory_format is None else {"memory_format": memory_format}
    called_aten(name, target, size, **options)
    inference_mode.count(target)
    return target


def _resize_examples(batch: BatchedTensor, shape: tuple[int, ...]) -> Tensor:
    """Resize the value of a batched tensor (ATen/functorch/BatchRulesDecompositions.cpp)."""
    if batch._dim:
        raise RuntimeError("NYI: resize_ batching rule for batch dim != 0")
    resize_(batch._value, (batch._level.size, *shape))
    batch._show(batch._value, 0)
    return batch


def _for_examples(name: str, target: Tensor, others: tuple) -> bool:
    """Whether tensors are batched, for which there is no rule: the examples, which are views, are
    changed one by one, and the target itself is not. Warns of that."""
    batch = innermost((target, *others))
    if batch is None:
        return False
    overload = {"set_": "set_.source_Tensor"}.get(name, name)
    warn_slow(overload)
    level = batch._level
    if not is_at(target, level):
        raise RuntimeError(messages.UNBATCHED.format(f"aten::{name}", f"at level {level.number}"))
    require_examples(overload, level)
    return True


@function("resize_as_")
def resize_as_(self, the_template, memory_format=None):
    """`resize_` to the sizes of another tensor, or with `preserve_format` also in the memory format
    that it suggests (torch.Tensor.resize_as_)."""
    refuse_captured(self, "resize_as_")
    if STATE.batched and requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    if STATE.batched and _for_examples("resize_as_", self, (the_template,)):
        return self
    if asks((self, the_template)):
        return _resized_by_handler("resize_as_", self, the_template, memory_format)
    shape = the_template._raw.shape
    if memory_format is preserve_format:
        memory_format = suggested(shape, the_template.stride())
    return resize_(self, shape, memory_format=memory_format)


def _overload_of_set(source, size) -> str:
    """The overload of ATen's `set_` for a source, and sizes or None."""
    if source is None:
        return "default"
    kind = "Tensor" if isinstance(source, Tensor) else "Storage"
    return f"source_{kind}" if size is None else f"source_{kind}_storage_offset"


def _set_by_handler(self: Tensor, overload, source, storage_offset, size, stride) -> None:
    """`set_` by the handler of a mode or a class."""
    place = [] if source is None else [source]
    if size is not None:
        place += [storage_offset, list(size), *([] if stride is None else [list(stride)])]
    called_aten("set_", self, *place, overload=overload)


def _make_room(memory: Storage, size: int) -> None:
    """Enlarge a storage of fewer than `size` bytes."""
    if size > memory.nbytes():
        resize_storage.resize_storage(memory, -(-size // memory.flat.dtype.itemsize))


def _placed(self, memory: Storage, offset: int, shape: tuple[int, ...], stride) -> Geometry:
    """The geometry that a tensor is given in a storage, which is enlarged for it."""
    check_resized(shape)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    same = shape == self._raw.shape  # then it keeps its strides
    strides = tuple(stride) if stride else self.stride() if same else contiguous_strides(shape)
    target = Geometry(shape, strides, offset)
    itemsize = self._raw.dtype.itemsize
    if same and strides == self.stride():  # ATen does not resize it then
        check_room(target, itemsize, memory.nbytes(), stride or ())
    _make_room(memory, bytes_needed(target, itemsize))
    return target


def _memory_of(source, like: Tensor) -> tuple[Storage, Geometry]:
    """The storage of a source, and the geometry of the whole of it, or of the tensor that it is.
    Raises RuntimeError for one on another device than a tensor."""
    if isinstance(source, Storage):
        count = source.nbytes() // like._raw.dtype.itemsize
        memory, target = source, Geometry((count,), (1,), 0)
    else:
        memory, target = TensorBase.untyped_storage(source), geometry(source)
    theirs = memory.device  # type: ignore[attr-defined]
    if theirs != like.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{like.device}" to a storage on '
            f'different device "{theirs}".  This is no longer allowed; the devices must '
            "match."
        )
    return memory, target


@function("set_", torch=False)
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Replace the tensor's storage by that of another tensor, or a storage (torch.Tensor.set_).

    Recorded as an operator without derivative if either requires grad. Without strides it is
    row-major. Raises RuntimeError for another dtype, NotImplementedError for a tensor with a
    tangent.
    """
    overload = _overload_of_set(source, size)
    refuse_captured(self, shown("set_", overload))
    if asks((self, source)):
        _set_by_handler(self, overload, source, storage_offset, size, stride)
        inference_mode.count(self)
        return self
    others = (source,) if isinstance(source, Tensor) and size is None else ()
    recorded = STATE.enabled and any(map(requires_grad, (self, *others)))
    if isinstance(source, Tensor) and size is None and source._raw.dtype != self._raw.dtype:
        raise RuntimeError(
            "Could not set tensor of type "
            f"{source.dtype.c_name} to a tensor of type {self.dtype.c_name}"
        )
    write.announce(self)
    if recorded and not all_inference((self, *others)):
        check_write(self, recorded)
    if STATE.batched and _for_examples("set_", self, others):
        physical(self)._storage.version += self._level.size  # type: ignore[attr-defined]
        return self
    edges = edges_of(self, *others) if recorded else []
    if source is None:
        blank = MetaArray((0,), self._raw.dtype) if self.is_meta else np.empty(0, self._raw.dtype)
        source, size = Storage(blank), (0,)
    memory, target = _memory_of(source, self)
    if size is not None:
        target = _placed(self, memory, target.offset + storage_offset, tuple(size), stride)
    self._raw = strided(elements(memory, self._raw.dtype), *target)
    self._strides = None if target.strides == contiguous_strides(target.shape) else target.strides
    self._offset = target.offset
    self._dense_meta = None
    # The version counter is the old storage's, so that tensors saved before are found modified.
    self._storage = Replaced(memory, self._storage)
    inference_mode.count(self)
    if recorded:
        record_undifferentiable("set_", edges, (self,))
    if any(forward_grad.fw_grad(one) is not None for one in (self, *others)):
        raise NotImplementedError(messages.FORWARD_UNSUPPORTED.format("set_") + ".")
    return self


@function("is_set_to", torch=False, batching="no_rule")
def is_set_to(self, tensor) -> bool:
    """Whether both have the same storage, sizes, strides and offset (torch.Tensor.is_set_to).

    A tensor with the conj or neg bit is compared as its copy, which has a storage of its own.
    """
    if any(any(conj_neg_bits(one)) for one in (self, tensor)):
        return False
    return self._storage.buffer is tensor._storage.buffer and (geometry(self) == geometry(tensor))


@function("get_device", torch=False)
def get_device(self) -> int:
    """The number of the accelerator; -1 on the CPU."""
    return -1


@function("share_memory_", torch=False)
def share_memory_(self):
    """Mark the storage as shared with other processes (torch.Tensor.share_memory_)."""
    self.untyped_storage().share_memory_()
    return self


@function(torch=False)
def is_shared(self) -> bool:
    """Whether the storage is marked as shared (torch.Tensor.is_shared)."""
    return self.untyped_storage().is_shared()


@function("pin_memory", torch=False)
def pin_memory(self, device=None):
    """Raises RuntimeError: pinned memory needs an accelerator."""
    raise RuntimeError("Cannot access accelerator device when none is available.")
