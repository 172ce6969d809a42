"""Constants: zeros, ones, full, eye, and tensors like another."""

from __future__ import annotations

import numpy as np

from impl.core import dtypes
from impl.core.memory_formats import preserve_format
from impl.core.strides import contiguous_strides, extent, strided
from impl.dispatch.batching_rules import physical
from impl.dispatch.out import fill_out
from impl.factories.creation.options import factory, listed, one_by_one, publish, type_of
from impl.kernels.casting import filled
from impl.tensor import allocation
from impl.tensor.tensor import Tensor, new
from impl.tensor.write import resize


def _made(make, size, dtype, out):
    if out is None:
        return make(size, type_of(dtype))
    fill_out(out, make(size, out._raw.dtype))
    return out


@publish
@factory(sized=one_by_one)
def zeros(size, *, dtype=None, out=None):
    """Zeros of the given sizes (torch.zeros)."""
    return _made(np.zeros, size, dtype, out)


@publish
@factory(sized=one_by_one)
def ones(size, *, dtype=None, out=None):
    """Ones of the given sizes (torch.ones)."""
    return _made(np.ones, size, dtype, out)


@publish
@factory(sized=one_by_one)
def empty(size, *, dtype=None, out=None, memory_format=None):
    """A tensor of the given sizes whose contents are unspecified (torch.empty)."""
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    strides = None if memory_format is None else memory_format.strides(size)
    if strides is None:
        return (
            out if out is not None and out._raw.shape == size else _made(np.empty, size, dtype, out)
        )
    return _strided(size, strides, type_of(dtype))


@publish
@factory(sized=listed)
def full(size, fill_value, *, dtype=None, out=None):
    """A tensor filled with one value, whose type decides the dtype (torch.full)."""
    if isinstance(fill_value, Tensor):
        if fill_value.requires_grad:
            raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
        kind = fill_value.dtype
        fill_value = fill_value.item()
    else:
        kind = dtypes.dtype_of_number(fill_value)
    if out is None:
        return filled(size, fill_value, (dtype or kind).numpy)
    resize(out, tuple(size))
    fill_out(out, filled(size, fill_value, out._raw.dtype))
    return out


@publish
@factory
def scalar_tensor(s, *, dtype=None):
    """A 0-dim tensor of a number (torch.scalar_tensor)."""
    return filled((), s, type_of(dtype))


@publish
@factory
def empty_strided(size, stride, *, dtype=None):
    """A tensor with the given strides whose contents are unspecified (torch.empty_strided)."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
            f"({len(stride)})"
        )
    return _strided(tuple(size), tuple(stride), type_of(dtype))


@publish
@factory(sized=listed)
def empty_permuted(size, physical_layout, *, dtype=None):
    """An uninitialised tensor, dense in memory, whose dimensions are in the order of
    `physical_layout` there, outermost first (torch.empty_permuted).

    Raises RuntimeError for an order that is not a permutation of the dimensions.
    """
    rank = len(size)
    if len(physical_layout) != rank:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {rank} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    seen: list[int] = []
    for place, dim in enumerate(physical_layout):
        if not 0 <= dim < rank:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {rank - 1}, but got {dim} at"
                f" index {place}).  NB: negative dims not currently supported; file an issue if you"
                " want it."
            )
        if dim in seen:
            raise RuntimeError("Duplicate dim not allowed")
        seen.append(dim)
    inner = contiguous_strides(tuple(size[dim] for dim in seen))
    strides = tuple(inner[seen.index(dim)] for dim in range(rank))
    return _strided(tuple(size), strides, type_of(dtype))


def _strided(size, stride, kind: np.dtype) -> Tensor:
    flat = np.empty(extent(size, stride), kind)
    result = new(flat)
    result._raw = strided(flat, size, stride, 0)
    if stride != contiguous_strides(size):
        result._strides = stride
    return result


def shaped_like(input: Tensor, dtype, memory_format=None) -> Tensor:
    """An uninitialised tensor in the sizes, and unless told otherwise the layout, of `input`."""
    d = input._raw.dtype if dtype is None else dtype.numpy
    return allocation.empty_like(input, d, memory_format)


def _filled_like(name: str, value=None):
    def like(input, *, dtype=None, memory_format=None) -> Tensor:
        result = shaped_like(input, dtype, memory_format)
        if value is not None:
            result._raw[...] = value
        return result

    like.__name__ = like.__qualname__ = name
    like.__doc__ = f"A tensor of the sizes, dtype and layout of `input` (torch.{name})."
    return publish(physical(factory(like)))


zeros_like = _filled_like("zeros_like", 0)
ones_like = _filled_like("ones_like", 1)
empty_like = _filled_like("empty_like")


@publish
@physical
@factory
def full_like(input, fill_value, *, dtype=None, memory_format=None) -> Tensor:
    """A tensor like `input` filled with one value (torch.full_like)."""
    result = shaped_like(input, dtype, memory_format)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    result._raw[...] = filled(result._raw.shape, value, result._raw.dtype)
    return result


@publish
@factory(out=True)
def eye(n, m=None, *, dtype=None):
    """Ones on the diagonal, zeros elsewhere (torch.eye). Raises RuntimeError for negative sizes."""
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    return np.eye(n, m, dtype=type_of(dtype))
