"""The shape and dtype that an incoming gradient must have (csrc/autograd/input_metadata.h)."""

from __future__ import annotations

import numpy as np

from impl.core.devices import CPU, META, device
from impl.core.dtypes import BY_NUMPY
from impl.core.meta_arrays import MetaArray


class InputMetadata:
    """The shape, dtype and device of one output of a node, as `Node._input_metadata` returns it."""

    def __init__(self, meta) -> None:
        shape, numpy_dtype = shape_and_dtype(meta)
        self.shape = list(shape)
        self.dtype = None if numpy_dtype is None else BY_NUMPY[numpy_dtype]
        self.device = device_of(meta)
        self.is_nested_tensor = False


class OnMeta(tuple):
    """The required metadata, (shape, NumPy dtype), of a gradient on the meta device."""

    __slots__ = ()


def shape_and_dtype(meta):
    """The shape and the NumPy dtype of a `tensor_meta`."""
    return meta if isinstance(meta, tuple) else ((), np.dtype(meta))


def device_of(meta) -> device:
    """The device of the tensor that a `tensor_meta` is of."""
    return META if type(meta) is OnMeta else CPU


def tensor_meta(raw):
    """The required metadata of the gradient of a raw value: (shape, NumPy dtype).

    For a 0-dim value it is the dtype's scalar type, of which most such gradients are instances; on
    the meta device an OnMeta. Results are cached, so that equal metadata is usually one object.
    """
    if type(raw) is MetaArray:
        return OnMeta((raw.shape, raw.dtype))
    if not raw.ndim:
        return raw.dtype.type
    meta = (raw.shape, raw.dtype)
    known = _METAS.get(meta)
    if known is None:
        if len(_METAS) >= 4096:
            _METAS.clear()
        known = _METAS[meta] = meta
    return known


_METAS: dict[tuple, tuple] = {}


def meets(raw, meta) -> bool:
    """Whether a raw gradient has the shape, dtype and device of a `tensor_meta`."""
    if type(raw) is MetaArray or type(meta) is OnMeta:
        fits = (raw.shape, raw.dtype) == shape_and_dtype(meta)
        return fits and type(raw) is MetaArray and type(meta) is OnMeta
    if type(meta) is tuple:
        return raw.shape == meta[0] and (raw.dtype is meta[1] or raw.dtype == meta[1])
    return type(raw) is meta or (raw.ndim == 0 and raw.dtype.type is meta)
