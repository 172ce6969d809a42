"""Constants: zeros, ones, full, eye, and tensors like another."""

from __future__ import annotations

import numpy as np

from impl import allocation, dtypes, inplace
from impl.creation.options import check_options, finish, publish, require, size_of, type_of
from impl.layouts import contiguous_format
from impl.operator import new
from impl.operators.copies import storable
from impl.sizes import sizes_of
from impl.storage import contiguous_strides, extent, strided
from impl.tensor import Tensor


@publish
def zeros(
    *size,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
    out=None,
    **named,
) -> Tensor:
    """Zeros of the given sizes (torch.zeros)."""
    shape = size_of("zeros", size, named.pop("size", None))
    return _constant(np.zeros, shape, dtype, requires_grad, device, pin_memory, out, "zeros")


@publish
def ones(
    *size,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
    out=None,
    **named,
) -> Tensor:
    """Ones of the given sizes (torch.ones)."""
    shape = size_of("ones", size, named.pop("size", None))
    return _constant(np.ones, shape, dtype, requires_grad, device, pin_memory, out, "ones")


@publish
def empty(
    *size,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
    out=None,
    memory_format=None,
    **named,
) -> Tensor:
    """A tensor of the given sizes whose contents are unspecified (torch.empty)."""
    shape = size_of("empty", size, named.pop("size", None))
    strides = None if memory_format is None else memory_format.strides(shape)
    if strides is not None:
        return empty_strided(shape, strides, dtype=dtype, requires_grad=requires_grad)
    return _constant(np.empty, shape, dtype, requires_grad, device, pin_memory, out, "empty")


def _constant(make, shape, dtype, requires_grad, device, pin_memory, out, name):
    check_options(device, pin_memory)
    if out is not None:
        inplace.write_out(out, make(shape, out._raw.dtype))
        return out
    return finish(make(shape, type_of(dtype)), requires_grad, None, name)


@publish
def full(
    size,
    fill_value,
    *,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
    out=None,
) -> Tensor:
    """A tensor filled with one value, whose type decides the dtype (torch.full)."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    check_options(device, pin_memory)
    if isinstance(fill_value, Tensor):
        if fill_value.requires_grad:
            raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
        d = fill_value.dtype
        fill_value = fill_value.item()
    else:
        d = dtypes.dtype_of_number(fill_value)
    target = (dtype or d).numpy
    raw = np.full(sizes_of((size,)), storable(fill_value, target), target)
    if out is not None:
        inplace.write_out(out, raw)
        return out
    return finish(raw, requires_grad, None, "full")


@publish
def scalar_tensor(s, *, dtype=None, requires_grad=False, device=None) -> Tensor:
    """A 0-dim tensor of a number (torch.scalar_tensor)."""
    d = type_of(dtype)
    return finish(np.array(storable(s, d), d), requires_grad, None, "scalar_tensor")


@publish
def empty_strided(
    size, stride, *, dtype=None, requires_grad=False, device=None, pin_memory=False, layout=None
) -> Tensor:
    """A tensor with the given strides whose contents are unspecified (torch.empty_strided)."""
    check_options(device, pin_memory)
    size, stride = tuple(size), tuple(stride)
    flat = np.empty(extent(size, stride), type_of(dtype))
    result = new(flat)
    result._raw = strided(flat, size, stride, 0)
    if stride != contiguous_strides(size):
        result._strides = stride
    return require(result, requires_grad, "empty_strided")


def _filled_like(name: str, value=None):
    def like(
        input,
        *,
        dtype=None,
        requires_grad=False,
        device=None,
        layout=None,
        memory_format=None,
        pin_memory=False,
    ) -> Tensor:
        check_options(device, pin_memory)
        result = shaped_like(input, dtype, memory_format)
        if value is not None:
            result._raw[...] = value
        return require(result, requires_grad, name)

    like.__name__ = name
    like.__doc__ = f"A tensor of the sizes, dtype and layout of `input` (torch.{name})."
    return publish(like)


def shaped_like(input: Tensor, dtype, memory_format=None) -> Tensor:
    """An uninitialised tensor in the sizes, and unless told otherwise the layout, of `input`."""
    d = input._raw.dtype if dtype is None else dtype.numpy
    if memory_format is contiguous_format:
        return new(np.empty(input._raw.shape, d))
    return allocation.empty_like(input, d)


zeros_like = _filled_like("zeros_like", 0)
ones_like = _filled_like("ones_like", 1)
empty_like = _filled_like("empty_like")


@publish
def full_like(
    input,
    fill_value,
    *,
    dtype=None,
    requires_grad=False,
    device=None,
    layout=None,
    memory_format=None,
    pin_memory=False,
) -> Tensor:
    """A tensor like `input` filled with one value (torch.full_like)."""
    result = shaped_like(input, dtype, memory_format)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    result._raw[...] = storable(value, result._raw.dtype)
    return require(result, requires_grad, "full_like")


@publish
def eye(
    n, m=None, *, dtype=None, requires_grad=False, device=None, layout=None, pin_memory=False
) -> Tensor:
    """Ones on the diagonal, zeros elsewhere (torch.eye). Raises RuntimeError for negative sizes."""
    check_options(device, pin_memory)
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    return finish(np.eye(n, m, dtype=type_of(dtype)), requires_grad, None, "eye")
