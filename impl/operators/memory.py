"""Memory: resizing, replacing and sharing a tensor's storage."""

from __future__ import annotations

from impl import inplace, views
from impl.operator import function
from impl.sizes import sizes_of
from impl.storage import contiguous_strides
from impl.tensor import Tensor, requires_grad


@function("resize_", torch=False)
def resize_(self, *sizes, memory_format=None):
    """Give the tensor other sizes, row-major, over memory that grows where needed.

    Elements beyond the old ones are unspecified. Raises RuntimeError for a tensor that requires
    grad (torch.Tensor.resize_).
    """
    if requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    shape = sizes_of(sizes)
    if shape != self._raw.shape:
        inplace.resize(self, shape)
        self._storage.version += 1
    return self


@function("resize_as_", torch=False)
def resize_as_(self, the_template, memory_format=None):
    """`resize_` to the sizes of another tensor (torch.Tensor.resize_as_)."""
    return resize_(self, the_template._raw.shape)


@function("set_", torch=False)
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Make the tensor one over the memory of another (torch.Tensor.set_).

    Raises RuntimeError for another dtype.
    """
    inplace.check(self, requires_grad(self))
    if source is None:
        from impl import creation

        source = creation.empty(0, dtype=self.dtype)
    if isinstance(source, Tensor) and source._raw.dtype != self._raw.dtype:
        raise RuntimeError(
            "Could not set tensor of type "
            f"{source.dtype.c_name} to a tensor of type {self.dtype.c_name}"
        )
    target = views.geometry(source)
    if size is not None:
        size = tuple(size)
        target = views.Geometry(
            size, contiguous_strides(size) if stride is None else tuple(stride), storage_offset
        )
    version = self._storage.version
    shared = views.alias(source, target)
    self._raw, self._strides, self._offset = shared._raw, shared._strides, shared._offset
    self._storage = source._storage.sharing()
    self._storage.version = version + 1
    return self


@function("is_set_to", torch=False)
def is_set_to(self, tensor) -> bool:
    """Whether both have the same memory, sizes, strides and offset (torch.Tensor.is_set_to)."""
    return self._storage.buffer is tensor._storage.buffer and (
        views.geometry(self) == views.geometry(tensor)
    )


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
