"""Factories: tensors from data, constants and other tensors' shapes."""

from __future__ import annotations

import numpy as np

from impl import dtypes
from impl.operator import FUNCTIONS, new
from impl.tensor import Tensor


def _publish(factory):
    FUNCTIONS[factory.__name__] = factory
    return factory


def _finish(raw, requires_grad: bool) -> Tensor:
    tensor = new(raw)
    if requires_grad:
        tensor.requires_grad_(True)
    return tensor


@_publish
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """A new leaf holding a copy of `data` (number, nested lists, array or tensor)."""
    if isinstance(data, Tensor):
        data = data._raw
    raw = np.array(data)
    if dtype is not None:
        raw = raw.astype(dtype.numpy)
    elif not isinstance(data, (np.ndarray, np.generic)):
        if raw.dtype == np.float64:
            raw = raw.astype(dtypes.get_default_dtype().numpy)
        elif raw.dtype == np.complex128:
            raw = raw.astype(dtypes.complex_of(dtypes.get_default_dtype()).numpy)
    return _finish(raw, requires_grad)


def _sizes(size) -> tuple[int, ...]:
    if len(size) == 1 and not isinstance(size[0], int):
        return tuple(size[0])
    return tuple(size)


@_publish
def zeros(*size, dtype=None, requires_grad=False, device=None) -> Tensor:
    """Zeros of the given sizes."""
    d = dtype or dtypes.get_default_dtype()
    return _finish(np.zeros(_sizes(size), d.numpy), requires_grad)


@_publish
def ones(*size, dtype=None, requires_grad=False, device=None) -> Tensor:
    """Ones of the given sizes."""
    d = dtype or dtypes.get_default_dtype()
    return _finish(np.ones(_sizes(size), d.numpy), requires_grad)


@_publish
def zeros_like(input, *, dtype=None, requires_grad=False) -> Tensor:
    """Zeros of the sizes and dtype of `input`."""
    d = dtype.numpy if dtype is not None else input._raw.dtype
    return _finish(np.zeros(input._raw.shape, d), requires_grad)
