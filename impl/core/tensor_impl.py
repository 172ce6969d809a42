"""TensorBase: a strided view of a storage, without autograd (c10/core/TensorImpl.h)."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import devices, messages
from impl.core.devices import CPU, META, device
from impl.core.dims import dim_of
from impl.core.dtypes import BY_NUMPY, FLOATING, dtype
from impl.core.memory_formats import contiguous_format, layout, preserve_format, strided
from impl.core.meta_arrays import MetaArray
from impl.core.read_only import read_only
from impl.core.sizes import Size, size_of
from impl.core.storage import Storage
from impl.core.strides import contiguous_strides, is_contiguous
from impl.core.warning import warn
from impl.core.wrapper_arrays import WrapperArray


class TensorBase:
    """The fields, metadata and storage of a tensor (torch._C.TensorBase)."""

    # The fields that every operation reads and sets (see `blank`); others default on the class.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_dense_meta",  # cache of `impl.tensor.tensor.dense_meta`; None: not computed, or not dense
        "_memory",  # the Storage; None: not created yet, so never shared or written
        "_node",  # grad_fn; None for a leaf
        "_nr",  # output_nr
        "_raw",  # an array, or a NumPy scalar if 0-dim and never shared
        "_requires_grad",
        "_strides",  # None: row-major, and nothing else requires the slow path
        "_view",  # ViewMeta; None: not a view
    )

    _dense_meta: Any
    _memory: Storage | None
    _node: Any
    _nr: int
    _raw: Any
    _requires_grad: bool
    _strides: Any
    _view: Any

    def __new__(cls, *args, **named):
        """Raises RuntimeError for the class itself, which has no instances."""
        if cls is TensorBase:
            raise RuntimeError(
                "Cannot directly construct TensorBase; subclass it and then construct that"
            )
        return super().__new__(cls)

    _offset = 0
    _torch_name = "torch._C.TensorBase"
    _name: str | None = None  # the `name` argument of Variable
    _uncounted = False  # whether there is no version counter, as in inference tensors

    @property
    def _storage(self) -> Storage:
        """The storage with its version counter, created at the first access."""
        memory = self._memory
        if memory is None:
            memory = self._memory = Storage(self._raw)
        return memory

    @_storage.setter
    def _storage(self, value: Storage) -> None:
        self._memory = value

    def _array(self) -> np.ndarray:
        """The value as an array that can be written and shared."""
        raw = self._raw
        if not isinstance(raw, np.ndarray):
            storage = self._storage
            if not isinstance(storage.buffer, np.ndarray):
                storage.buffer = np.array(raw)
            raw = self._raw = storage.buffer.reshape(())
        return raw

    # -- metadata ---------------------------------------------------------------------------

    @read_only
    def shape(self) -> Size:
        return size_of(self._raw.shape)

    def size(self, dim: int | None = None):
        """The sizes, or the size of one dimension. Raises IndexError out of range."""
        if dim is None:
            return self.shape
        return self._raw.shape[dim_of("size", dim, self._raw.ndim)]

    def stride(self, dim: int | None = None):
        """The strides in elements, or the stride of one dimension; raises as `size`."""
        strides = self._strides
        if strides is None:
            strides = contiguous_strides(self._raw.shape)
        return strides if dim is None else strides[dim_of("stride", dim, self._raw.ndim)]

    def storage_offset(self) -> int:
        """The offset of the first element in the storage, in elements."""
        return self._offset

    @read_only
    def ndim(self) -> int:
        return self._raw.ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return self._raw.ndim

    def numel(self) -> int:
        """The number of elements."""
        return int(self._raw.size)

    nelement = numel

    @read_only
    def dtype(self) -> dtype:
        return BY_NUMPY[self._raw.dtype]

    @read_only
    def device(self) -> device:
        return META if type(self._raw) is MetaArray else CPU

    @read_only
    def is_meta(self) -> bool:
        return type(self._raw) is MetaArray

    @read_only
    def layout(self) -> layout:
        return strided

    @read_only
    def name(self) -> str | None:
        return self._name

    @read_only
    def itemsize(self) -> int:
        return self._raw.dtype.itemsize

    def element_size(self) -> int:
        """The bytes of one element."""
        return self._raw.dtype.itemsize

    @read_only
    def is_cuda(self) -> bool:
        return False

    @read_only
    def is_sparse(self) -> bool:
        return False

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating one."""
        return self.dtype.category == FLOATING

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.dtype.is_complex

    def is_contiguous(self, *, memory_format=contiguous_format) -> bool:
        """Whether the strides are row-major without gaps, or exactly those of a memory format."""
        if memory_format not in (contiguous_format, preserve_format):
            return memory_format.describes(self._raw.shape, self.stride())
        return self._strides is None or is_contiguous(self._raw.shape, self._strides)

    def is_pinned(self, device=None) -> bool:
        """False: there is no pinned memory. DeprecationWarning for a device."""
        if device is not None:
            devices.device(device)
            warn(
                "The argument 'device' of Tensor.is_pinned() is deprecated. Please do not pass "
                "this argument.",
                DeprecationWarning,
            )
        return False

    def __len__(self) -> int:
        if self._raw.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._raw.shape[0]

    # -- storage ----------------------------------------------------------------------------

    def untyped_storage(self) -> Storage:
        """The storage, shared with views and detached aliases."""
        self._array()
        return self._storage

    def data_ptr(self) -> int:
        """The address of the first element; 0 on the meta device and where there is none, and from
        0 of a wrapper."""
        if type(self._array()) is MetaArray:
            return 0
        if type(self._raw) is WrapperArray:
            return self._offset * self._raw.dtype.itemsize
        if not self._raw.size:
            return 0
        return self._storage.data_ptr() + self._offset * self._raw.dtype.itemsize

    @read_only
    def _version(self) -> int:
        if self._uncounted:
            raise RuntimeError(messages.INFERENCE_VERSION)
        return 0 if self._memory is None else self._memory.version

    def _is_view(self) -> bool:
        return self._base is not None

    @read_only
    def _base(self) -> Any:
        node = self._node
        if self._view is None or (node is not None and node._wrapper_of is not None):
            return None
        return self._view.base


FIELDS = TensorBase.__slots__[2:]
