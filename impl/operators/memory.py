"""Memory: resizing, replacing and sharing a tensor's storage."""

from __future__ import annotations

import numpy as np

from impl import forward, inference, inplace, messages
from impl.geometries import Geometry, elements, geometry
from impl.modes import STATE
from impl.operator import function
from impl.sizes import sizes_given
from impl.storage import Replaced, Storage, contiguous_strides, strided
from impl.tensor import Tensor, requires_grad


@function("resize_", torch=False)
def resize_(self, *sizes, memory_format=None, **named):
    """Give the tensor other sizes, row-major, over memory that grows where needed.

    Elements beyond the old ones are unspecified. Raises RuntimeError for a tensor that requires
    grad, unless it is an inference tensor or in inference mode (torch.Tensor.resize_).
    """
    if requires_grad(self) and not (self._inference or STATE.inference):
        raise RuntimeError("cannot resize variables that require grad")
    shape = sizes_given("resize_", "size", sizes, named)
    if shape != self._raw.shape:
        inplace.resize(self, shape)
        inference.count(self)
    if forward.of(self) is not None:
        raise RuntimeError("cannot resize variables that has a forward grad")
    return self


@function("resize_as_", torch=False)
def resize_as_(self, the_template, memory_format=None):
    """`resize_` to the sizes of another tensor (torch.Tensor.resize_as_)."""
    return resize_(self, the_template._raw.shape)


@function("set_", torch=False)
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Make the tensor one over the memory of another, or over a storage (torch.Tensor.set_).

    Raises RuntimeError for another dtype, NotImplementedError for a tensor with a tangent.
    """
    inplace.check(self, requires_grad(self))
    if source is None:
        source, size = Storage(np.empty(0, self._raw.dtype)), (0,)
    if isinstance(source, Tensor) and source._raw.dtype != self._raw.dtype:
        raise RuntimeError(
            "Could not set tensor of type "
            f"{source.dtype.c_name} to a tensor of type {self.dtype.c_name}"
        )
    if isinstance(source, Storage):
        memory, target = source, Geometry((source.flat.size,), (1,), 0)
    else:
        memory, target = source.untyped_storage(), geometry(source)
    if size is not None:
        shape = tuple(size)
        strides = contiguous_strides(shape) if stride is None else tuple(stride)
        target = Geometry(shape, strides, storage_offset)
    self._raw = strided(elements(memory, self._raw.dtype), *target)
    self._strides = None if target.strides == contiguous_strides(target.shape) else target.strides
    self._offset = target.offset
    self._common = None
    # The counter stays the tensor's own, so that what was saved before is seen to be stale.
    self._storage = Replaced(memory, self._storage)
    self._storage.version += 1
    if forward.of(self) is not None:
        raise NotImplementedError(messages.FORWARD_UNSUPPORTED.format("set_") + ".")
    return self


@function("is_set_to", torch=False)
def is_set_to(self, tensor) -> bool:
    """Whether both have the same memory, sizes, strides and offset (torch.Tensor.is_set_to)."""
    return self._storage.buffer is tensor._storage.buffer and (geometry(self) == geometry(tensor))


@function("get_device", torch=False)
def get_device(self) -> int:
    """The number of the accelerator; -1 on the CPU."""
    return -1


@function("share_memory_", torch=False)
def share_memory_(self):
    """The tensor itself: this process shares its memory with no other."""
    return self


@function("pin_memory", torch=False)
def pin_memory(self, device=None):
    """Raises RuntimeError: pinned memory needs an accelerator."""
    raise RuntimeError("Cannot access accelerator device when none is available.")
