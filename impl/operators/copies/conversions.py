"""Casts to other dtypes: `to`, `type`, `float`, `double` and others."""

from __future__ import annotations

import numpy as np

from impl.core import devices, dtypes, inference_mode, messages
from impl.core.dtypes import BY_NUMPY, dtype
from impl.core.integers import is_integer
from impl.core.memory_formats import preserve_format
from impl.core.meta_arrays import is_meta, meta_strided
from impl.core.meta_functions import to_meta
from impl.core.registry import array_ops, tensor_ops
from impl.core.strides import element_strides, empty_strided, is_dense
from impl.core.warning import warn_once
from impl.dispatch.definition import Array, formula_operation, function, native, operator
from impl.kernels.casting import converted, discards
from impl.tensor.allocation import strides_in
from impl.tensor.tensor import Tensor, new


@operator(function=False, method=False, node="ToCopyBackward0", fresh=True, writes=1)
def to_copy(self: Array, numpy_dtype, strides, device=None) -> Array:
    if device is not None and device.type == "meta":
        return _to_copy_on_meta(self, numpy_dtype, strides, device)
    value = converted(self, numpy_dtype)
    if strides is None:
        return np.array(value, order="C")
    copy = empty_strided(value.shape, strides, numpy_dtype)
    copy[...] = value
    return copy


to_copy.ends_history = True


@to_copy.on_meta
def _to_copy_on_meta(self, numpy_dtype, strides, device=None):
    if device is not None and device.type == "cpu":
        raise NotImplementedError(messages.NO_DATA)
    return meta_strided(self.shape, numpy_dtype, strides)


@to_copy.batches
def _converted_batch(args, level):
    batch, numpy_dtype, _, *place = args
    return batch._over(cast(batch._value, numpy_dtype, True, preserve_format, *place))


to_copy.gradient(
    self=lambda F, grad, self_dtype, self_device: F.cast_gradient(grad, self_dtype, self_device)
)
to_copy.forward(
    lambda F, self_t, numpy_dtype, device: cast(self_t, numpy_dtype, copy=True, device=device)
)


def cast(
    tensor: Tensor, numpy_dtype: np.dtype, copy: bool = False, format=preserve_format, device=None
):
    """The tensor in another dtype or on another device: itself when nothing changes, else a
    recorded copy. Raises NotImplementedError for a copy from the meta device."""
    source = tensor._raw.dtype
    moves = device is not None and device != tensor.device
    if source == numpy_dtype and not (copy or moves) and _keeps(tensor, format):
        return tensor
    if discards(source, numpy_dtype) and tensor._raw.size:
        warn_once(messages.DISCARDED)
    if inference_mode.records_copies(tensor):
        return new(np.empty(tensor._raw.shape, numpy_dtype)).copy_(tensor)
    strides = strides_in(tensor, format)
    # The fast path would ask a stale view for its node, of which an integer result has no need.
    unrecorded = numpy_dtype.kind in "biu" and tensor._base is not None
    copied = to_copy.slow_path if moves or unrecorded else to_copy
    result = copied(tensor, numpy_dtype, strides, device)
    if strides is not None and type(result) is Tensor:
        result._strides = strides
    return result


def _to_copy_of_aten(self, numpy_dtype, strides, device):
    named = {"dtype": BY_NUMPY[numpy_dtype], "device": device}
    return (self,), {name: value for name, value in named.items() if value is not None}


def _to_copy(self, *, dtype=None, device=None, memory_format=preserve_format, **options) -> Tensor:
    kind = self._raw.dtype if dtype is None else dtype.numpy
    return cast(self, kind, True, memory_format, device)


to_copy.as_aten(_to_copy_of_aten, _to_copy)


def _keeps(tensor: Tensor, format) -> bool:
    return format in (None, preserve_format) or format.is_kept_by(
        tensor._raw.shape, tensor.stride()
    )


@formula_operation
def cast_gradient(value, dtype, device=None):
    """A gradient cast to the input's NumPy dtype, and on its device; for a real input the real
    part. Raises NotImplementedError for a copy from the meta device."""
    if device is not None and (device == devices.META) != is_meta(value):
        if is_meta(value):
            raise NotImplementedError(messages.NO_DATA)
        value = to_meta(value)
    source = value
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = array_ops.real_part(value)
    if value.dtype == dtype or not isinstance(value, np.ndarray):
        return value.astype(dtype, copy=False)
    kept = source.flags.c_contiguous or is_dense(source.shape, element_strides(source))
    return value.astype(dtype, order="K" if kept else "C")


def _cast_gradient(value: Tensor, dtype: np.dtype, device=None) -> Tensor:
    if value._raw.dtype.kind == "c" and dtype.kind != "c":
        value = tensor_ops.real_part(value)
    return cast(value, dtype, device=device)


tensor_ops.cast_gradient = _cast_gradient


@function("to", torch=False)
def to(
    self,
    *args,
    dtype=None,
    device=None,
    non_blocking=False,
    copy=False,
    memory_format=preserve_format,
):
    """The tensor in another dtype, or in that of another tensor (torch.Tensor.to).

    Returns the tensor itself when nothing changes. Raises NotImplementedError for a copy from the
    meta device, AssertionError or RuntimeError for a device that is not there.
    """
    place, dtype, flags = _requested(args, device, dtype)
    if len(flags) > 1:  # non_blocking comes before
        copy = flags[1]
    numpy_dtype = self._raw.dtype if dtype is None else dtype.numpy
    place = None if place is None else devices.device(place)
    return cast(self, numpy_dtype, copy, memory_format, place)


def _requested(args, place, dtype):
    """The device, the dtype and the flags that the arguments of `to` name. Raises RuntimeError for
    another device."""
    flags = [a for a in args if isinstance(a, bool)]
    for a in args:
        if isinstance(a, dtypes.dtype):
            dtype = a
        elif isinstance(a, Tensor):
            dtype, place = a.dtype, a.device
        elif isinstance(a, (str, devices.device)):
            place = a
        elif is_integer(a):
            devices.refuse_index(int(a))
    if place is not None:
        devices.check_device(place)
    return place, dtype, flags


@native("_parse_to")
def parse_to(*args, device=None, dtype=None, tensor=None, non_blocking=False, **options):
    """The device, dtype and memory format that the arguments of a module's `to` name.

    Raises RuntimeError for a `copy`.
    """
    place, dtype, flags = _requested((*args, tensor), device, dtype)
    if len(flags) > 1 or "copy" in options:
        raise RuntimeError(".to() does not accept copy argument")
    return place, dtype, options.get("memory_format")


@function("type_as", torch=False)
def type_as(self, other):
    """`self.to(other)` (torch.Tensor.type_as)."""
    return cast(self, other._raw.dtype, device=other.device)


def _shorthand(name: str, target: dtype):
    def convert(self, memory_format=preserve_format):
        return cast(self, target.numpy, False, memory_format)

    convert.__name__ = name
    convert.__doc__ = f"The tensor in {target}: itself if it is that already."
    function(name, torch=False)(convert)


for _name, _target in {
    "float": dtypes.float32,
    "double": dtypes.float64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "short": dtypes.int16,
    "char": dtypes.int8,
    "byte": dtypes.uint8,
    "bool": dtypes.bool_,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():
    _shorthand(_name, _target)


@function("type", torch=False)
def type_(self, dtype=None, non_blocking=False, **kwargs):
    """The name of the tensor's legacy type, or a cast to a dtype, type or type's name.

    Raises ValueError for an unknown name or type, TypeError for another object (torch.Tensor.type).
    """
    if dtype is None:
        prefix = "sparse." if self.is_sparse else "meta." if self.is_meta else ""
        return f"torch.{prefix}{self.dtype.legacy}Tensor"
    if isinstance(dtype, bytes):
        dtype = dtype.decode()
    if isinstance(dtype, str):
        # The layout of a sparse type is not taken over.
        names = {f"torch.{kind}{d.legacy}Tensor": d for d in dtypes.ALL for kind in ("", "sparse.")}
        if dtype not in names:
            raise ValueError(f"invalid type: '{dtype}'")
        return cast(self, names[dtype].numpy)
    target = dtype
    if isinstance(dtype, type):
        target = self.dtype if dtype is Tensor else getattr(dtype, "dtype", None)
        if not isinstance(target, dtypes.dtype):
            raise ValueError(f"invalid type: '{dtype.__name__}'")
    if not isinstance(target, dtypes.dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return cast(self, target.numpy)


@function("cpu", torch=False)
def cpu(self, memory_format=preserve_format):
    """The tensor itself if it is on the CPU already; in another memory format a copy.

    Raises NotImplementedError for a tensor of the meta device.
    """
    return cast(self, self._raw.dtype, False, memory_format, devices.CPU)


@function("cuda", torch=False)
def cuda(self, *args, **kwargs):
    """Raises AssertionError, as torch built without CUDA does."""
    raise AssertionError("Torch not compiled with CUDA enabled")
