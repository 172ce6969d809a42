"""Tensors from data: `tensor`, `as_tensor`, `from_numpy`."""

from __future__ import annotations

import warnings

import numpy as np

from impl.core import inference_mode
from impl.core.dtypes import BY_NUMPY, dtype
from impl.core.state import STATE
from impl.core.storage import Storage
from impl.core.strides import contiguous_strides, element_strides, extent
from impl.factories.creation.literals import array_of, unsupported
from impl.factories.creation.options import check_place, flagged, publish
from impl.tensor.tensor import Tensor, blank, new

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
        warnings.warn(COPY_WARNING.format("torch.tensor"), UserWarning, stacklevel=2)
        return flagged("tensor", copy_of(data, dtype), requires_grad)
    raw = array_of(data, dtype)
    check_place(device, pin_memory)
    return flagged("tensor", new(raw if raw.ndim else raw[()]), requires_grad)


def copy_of(source: Tensor, d: dtype | None) -> Tensor:
    """A copy of a tensor without its history, in dtype `d` if given."""
    result = source.detach().clone()
    return result if d is None else result.to(d)


@publish
def as_tensor(data, dtype=None, device=None) -> Tensor:
    """`data` as a tensor, shared rather than copied where that is possible (torch.as_tensor).

    A tensor of the wanted dtype is returned as it is, an array's memory is shared.
    """
    check_place(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or dtype.numpy == data.dtype):
        return from_numpy(data)
    return new(array_of(data, dtype))


@publish
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None) -> Tensor:
    """`obj` as a tensor (torch.asarray).

    A leaf's own flag is set, a result of operations that is to require no grad is detached; without
    `requires_grad` a tensor keeps its flag, with a warning if that is set. Raises ValueError if
    `copy` is False and it has to be copied.
    """
    if not isinstance(obj, Tensor):
        if copy is False and not isinstance(obj, np.ndarray):
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        result = as_tensor(obj, dtype, device)
        if copy and isinstance(obj, np.ndarray) and np.shares_memory(result._raw, obj):
            result = result.clone()
        return flagged("asarray", result, bool(requires_grad))
    if requires_grad is None:
        requires_grad = obj.requires_grad
        if requires_grad:
            warnings.warn(_UNSPECIFIED, UserWarning, stacklevel=2)
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
    return result.requires_grad_(False) if result.is_leaf else result.detach()


@publish
def from_numpy(ndarray) -> Tensor:
    """A tensor over the memory of an array: writes on either side are seen on the other.

    Raises TypeError for anything else and for unsupported dtypes, ValueError for negative strides
    (torch.from_numpy).
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
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
    if STATE.inference:
        inference_mode.mark(result)
    return result
