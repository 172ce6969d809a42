"""Tensors from data: `tensor`, `as_tensor`, `from_numpy`."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from impl.core import inference_mode
from impl.core.c_methods import function_of_one_argument
from impl.core.devices import default_device, is_meta_device
from impl.core.dtypes import BY_NUMPY, dtype
from impl.core.named_types import type_name
from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.core.storage import Storage
from impl.core.strides import contiguous_strides, element_strides, extent, unboxed
from impl.core.warning import warn, warn_once
from impl.factories.creation.literals import array_of, unsupported
from impl.factories.creation.options import check_place, flagged, publish
from impl.factories.creation.placement import place_of, placed
from impl.tensor.tensor import Tensor, blank, is_asked, new, new_constant
from impl.tensor.torch_function import DisableTorchFunctionSubclass

COPY_WARNING = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)

_UNSPECIFIED = (
    "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
    "Pass requires_grad=False explicitly to get the old behavior and silence this warning."
)


@publish
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """A new leaf holding a copy of `data`: a number, nested lists, an array or a tensor.

    Integers become int64, floats the default dtype; arrays keep their dtype. A tensor is copied
    with a warning. Raises ValueError for ragged lists (torch.tensor).
    """
    if isinstance(data, Tensor):
        warn(COPY_WARNING.format("torch.tensor"))
        return flagged("tensor", copy_of(data, dtype, device), requires_grad)
    if isinstance(data, np.ndarray):
        check_place(device, pin_memory)
        made = array_copy(data, dtype)
    else:
        raw = array_of(data, dtype)
        check_place(device, pin_memory)
        made = new_constant(unboxed(raw))
    return flagged("tensor", lifted(moved(made, device)), requires_grad)


def lifted(made: Tensor) -> Tensor:
    """A tensor of data, which a mode sees by the operator `lift_fresh`."""
    return tensor_ops.dispatched_aten("lift_fresh", made) if STATE.dispatch_modes else made


def copy_of(source: Tensor, d: dtype | None, place=None) -> Tensor:
    """A copy of a tensor without its history, in dtype `d` and on a device if given."""
    with DisableTorchFunctionSubclass():
        if is_asked(source):
            options = {"dtype": d or source.dtype, "device": place or source.device}
            return tensor_ops.dispatched_aten("_to_copy", source.detach(), **options)
        result = source.detach().clone()
        result = result if d is None else result.to(d)
        return result if place is None else result.to(place)


def moved(made: Tensor, place) -> Tensor:
    """A new tensor on the device that is given, or the default one."""
    if place is None and not STATE.default_devices:
        return made
    return placed(made) if is_meta_device(place_of(place, None)) else made


def array_copy(array: np.ndarray, d: dtype | None) -> Tensor:
    """A copy of an array as a tensor with its strides where they are dense, in dtype `d` if given.

    Raises as `from_numpy`.
    """
    dense = array.flags.c_contiguous and array.size and 1 not in array.shape
    if dense and array.dtype in BY_NUMPY:
        return new(unboxed(array.copy() if d is None else array.astype(d.numpy)))
    shared = over_array(array)
    return shared.to(d or shared.dtype, copy=True)


@publish
def as_tensor(data, dtype=None, device=None) -> Tensor:
    """`data` as a tensor, shared rather than copied where that is possible (torch.as_tensor).

    A tensor of the wanted dtype is returned as it is, an array's memory is shared.
    """
    check_place(device)
    if isinstance(data, Tensor):
        data = data if dtype is None else data.to(dtype)
        device = default_device() if device is None and STATE.default_devices else device
        return data if device is None else data.to(device)
    if isinstance(data, np.ndarray):
        shared = from_numpy(data)
        return moved(shared if dtype is None else shared.to(dtype), device)
    return lifted(moved(new_constant(unboxed(array_of(data, dtype))), device))


@publish
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None) -> Tensor:
    """`obj` as a tensor (torch.asarray).

    A leaf's own flag is set, a result of operations that is to require no grad is detached; without
    `requires_grad` a tensor keeps its flag, with a warning if that is set. Raises ValueError if
    `copy` is False and it has to be copied.
    """
    if not isinstance(obj, Tensor):
        return flagged("asarray", _as_array(obj, dtype, device, copy), bool(requires_grad))
    if requires_grad is None:
        requires_grad = obj.requires_grad
        if requires_grad:
            warn_once(_UNSPECIFIED)
    result = as_tensor(obj, dtype, device)
    if copy is False and result is not obj:
        kinds = (kind.legacy for kind in (obj.dtype, result.dtype))
        raise ValueError("can't alias tensor with dtype '{}' into dtype '{}'.".format(*kinds))
    if copy and result is obj:
        result = result.clone()
    if result.requires_grad == requires_grad:
        return result
    if requires_grad:
        return flagged("asarray", result, True)
    return result._requiring_grad(False) if result.is_leaf else result.detach()


def _as_array(obj, d: dtype | None, device, copy: bool | None) -> Tensor:
    """An object that is no tensor as one; its memory is shared if it has any, unless `copy`."""
    if isinstance(obj, np.ndarray) and not obj.ndim and obj.dtype.isnative:
        obj = obj[()]
    if copy is False and isinstance(obj, np.generic):
        raise RuntimeError(
            "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
        )
    check_place(device)
    memory = obj if isinstance(obj, np.ndarray) else _memory_of(obj, d)
    if memory is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return as_tensor(obj, d, device)
    shared = over_array(memory)
    if not memory.flags.writeable and not (copy and memory is obj):
        text = UNWRITABLE_ARRAY if memory is obj else UNWRITABLE_BUFFER
        warn_once(text)
    if copy is False and d not in (None, shared.dtype):
        kinds = shared.dtype.legacy, d.legacy
        raise ValueError("can't alias tensor with dtype '{}' into dtype '{}'.".format(*kinds))
    result = shared if d is None and not copy else shared.to(d or shared.dtype, copy=bool(copy))
    return moved(result, device)


def _memory_of(obj, d: dtype | None) -> np.ndarray | None:
    """The memory of an object with Python's buffer protocol, None for any other."""
    if isinstance(obj, np.generic):
        return None
    try:
        view = memoryview(obj)
    except TypeError:
        return None
    kind = np.dtype(view.format) if d is None else d.numpy
    check_buffer(view.nbytes, kind.itemsize, -1, 0)
    return np.frombuffer(obj, kind)


def check_buffer(size: int, item: int, count: int, offset: int) -> None:
    """Raise ValueError unless `count` elements of `item` bytes, -1 for as many as there are, can be
    read from byte `offset` on of a buffer of `size` bytes."""
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % item:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({item})"
        )
    if count > 0 and offset + count * item > size:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({size} bytes)"
        )


@publish
@function_of_one_argument("torch._VariableFunctionsClass.from_numpy")
def from_numpy(ndarray) -> Tensor:
    """A tensor over the memory of an array: writes on either side are seen on the other.

    Warns of an array that may not be written. Raises TypeError for anything else and for
    unsupported dtypes, ValueError for negative strides (torch.from_numpy).
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    result = over_array(ndarray)
    if not ndarray.flags.writeable:
        warn_once(UNWRITABLE_ARRAY)
    return lifted(result)


_UNWRITABLE = (
    "The given {} is not writable, and PyTorch does not support non-writable tensors. This means "
    "{} You may want to copy the {} to protect its data or make it writable before converting it "
    "to a tensor. This type of warning will be suppressed for the rest of this program."
)
UNWRITABLE_ARRAY = _UNWRITABLE.format(
    "NumPy array", "writing to this tensor will result in undefined behavior.", "array"
)
UNWRITABLE_BUFFER = _UNWRITABLE.format(
    "buffer",
    "you can write to the underlying (supposedly non-writable) buffer using the tensor.",
    "buffer",
)


def _writable(array: np.ndarray) -> np.ndarray:
    """The array, or a view of it that can be written, as a tensor over it can be in torch."""
    if array.flags.writeable:
        return array
    writable = {"data": (array.ctypes.data, False), "strides": array.strides}
    interface = {**array.__array_interface__, **writable}
    return np.asarray(SimpleNamespace(__array_interface__=interface, owner=array))


def over_array(ndarray: np.ndarray) -> Tensor:
    """A tensor over the memory of an array. Raises as `from_numpy`, and does not warn."""
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    if ndarray.dtype not in BY_NUMPY:
        raise TypeError(unsupported(ndarray.dtype))
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if any(s % ndarray.itemsize for s in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    ndarray = _writable(ndarray)
    result = blank()
    # The strides of dimensions of one element are free, and a tensor's are the array's.
    if ndarray.flags.c_contiguous and ndarray.size and 1 not in ndarray.shape:
        result._storage = Storage(ndarray.reshape(-1))
        result._raw = ndarray
        return _marked(result)
    steps = element_strides(ndarray)
    length = extent(ndarray.shape, steps)
    memory = np.lib.stride_tricks.as_strided(ndarray, (length,), (ndarray.itemsize,))
    result._storage = Storage(memory)
    result._raw = ndarray if ndarray.size else np.empty(ndarray.shape, ndarray.dtype)
    if steps != contiguous_strides(ndarray.shape):
        result._strides = steps
    return _marked(result)


def _marked(result: Tensor) -> Tensor:
    result._storage.is_resizable = False
    if STATE.inference:
        inference_mode.mark(result)
    return result
