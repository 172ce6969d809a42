"""Conversion of numbers, nested lists, arrays and tensors into new arrays, by torch's rules."""

from __future__ import annotations

import math
from operator import index

import numpy as np

from impl.core import dtypes
from impl.core.dtypes import BY_NUMPY, dtype
from impl.core.named_types import type_name
from impl.core.state import STATE
from impl.core.traced import reading_traced
from impl.core.warning import warn_once
from impl.kernels.casting import converted, in_range, overflow
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import DisableTorchFunction


def _is_sequence(data) -> bool:
    """Whether data is nested: a list, an array, or any other sequence, such as a deque; a tensor
    among the elements stands for a number."""
    if isinstance(data, (list, tuple, range, np.ndarray)):
        return True
    if isinstance(data, (bool, int, float, complex, np.generic, str, bytes, dict, type, Tensor)):
        return False
    return hasattr(data, "__len__") and hasattr(data, "__getitem__")


_DIMENSIONS = 128  # the deepest nesting of lists, from which torch tells endless ones


def _shape_of(data) -> tuple[int, ...]:
    shape: list[int] = []
    while _is_sequence(data):
        if isinstance(data, np.ndarray):
            shape += data.shape
            break
        shape.append(len(data))
        if len(shape) > _DIMENSIONS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not len(data):
            break
        data = data[0]
        if isinstance(data, str):
            raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _flatten(data, shape, depth: int, flat: list) -> None:
    """Collect the scalars of nested data. Raises ValueError for ragged data."""
    if depth == len(shape):
        flat.append(data)
        return
    if isinstance(data, str):
        raise ValueError("too many dimensions 'str'")
    if not hasattr(data, "__len__") or (isinstance(data, (Tensor, np.ndarray)) and not data.ndim):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(
            f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
        )
    for item in data:
        _flatten(item, shape, depth + 1, flat)


def _scalar_dtype(value) -> dtype:
    if isinstance(value, Tensor):
        with DisableTorchFunction():
            return value.dtype
    if isinstance(value, (np.generic, np.ndarray)):
        return BY_NUMPY[value.dtype]
    if isinstance(value, complex) and dtypes.get_default_dtype() is dtypes.bfloat16:
        raise RuntimeError("invalid default scalar type for complex")
    if isinstance(value, complex):
        return dtypes.default_complex()
    if isinstance(value, (bool, int, float)):
        return dtypes.dtype_of_number(value)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    if _is_sequence(value):
        return _inferred(value)
    raise RuntimeError(f"Could not infer dtype of {type_name(value)}")


def _inferred(values) -> dtype:
    result = None
    for value in values:
        if value is values:
            raise TypeError("new(): self-referential lists are incompatible")
        d = _scalar_dtype(value)
        result = d if result is None else dtypes.JOIN[result, d]
    return dtypes.get_default_dtype() if result is None else result


def stored(flat: list, d: dtype) -> np.ndarray:
    """The scalars as an array, each converted as PyTorch's `store_scalar` does."""
    if d.category == dtypes.INTEGRAL:
        return np.array([_whole(value, d) for value in flat], np.int64).astype(d.numpy)
    if d is dtypes.bool_:
        return np.array([_truth(value) for value in flat], np.bool_)
    convert = _complex if d.category == dtypes.COMPLEX else _real
    values = [value if type(value) is float else convert(value) for value in flat]
    if d.numpy.kind == "V":
        return np.array(values, np.float64).astype(np.float32).astype(d.numpy)
    return np.array(values, d.numpy)


def _real(value) -> float:
    if isinstance(value, np.generic) and value.dtype.kind == "c":
        raise TypeError("must be real number, not complex")
    return math.ldexp(value, 0)  # which reads it as PyFloat_AsDouble does


def _complex(value) -> complex:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return complex(value) if hasattr(value, "__complex__") else _real(value)


def _truth(value) -> bool:
    return bool(value != 0 if isinstance(value, (float, complex, np.generic)) else index(value))


def element_of(value, d: dtype):
    """A Python number, or a tensor of one element, as an element of the dtype.

    Raises as `array_of` does.
    """
    return stored([value.item() if isinstance(value, Tensor) else value], d)[0]


def _whole(value, d: dtype) -> int:
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError("'complex' object cannot be interpreted as an integer")
    if not isinstance(value, (int, float, np.generic)):
        value = index(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if not in_range(value, d.numpy):
        raise overflow(d.numpy, d.name)
    return int(value) if value != 2**63 else -(2**63)  # as C converts that float


def array_of(data, d: dtype | None = None, warn: bool = True) -> np.ndarray:
    """A new array of numbers, nested sequences, arrays or tensors, with given or inferred dtype.

    Raises ValueError for ragged data, TypeError and RuntimeError for elements other than numbers,
    TypeError for a list within itself.
    """
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, np.generic) and d is not None and d.category == dtypes.INTEGRAL:
        data = data.item()  # checked as a number
    if isinstance(data, (np.ndarray, np.generic)):
        raw = np.array(data, order="C")
        if raw.dtype not in BY_NUMPY:
            raise TypeError(unsupported(raw.dtype))
        return raw if d is None else converted(raw, d.numpy)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], np.ndarray) and warn:
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting "
            "to a tensor.",
        )
    shape = _shape_of(data)
    if d is None:
        d = _inferred(data) if shape else _scalar_dtype(data)
    flat: list = []
    _flatten(data, shape, 0, flat)
    if not STATE.transforms:
        return stored(flat, d).reshape(shape)
    with reading_traced():  # torch reads elements that are tensors below the mode that traces
        return stored(flat, d).reshape(shape)


def unsupported(d: np.dtype) -> str:
    """torch's error text for an array of an unsupported dtype."""
    return (
        f"can't convert np.ndarray of type numpy.{d.type.__name__}. The only supported types are: "
        "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
        "uint32, uint16, uint8, and bool."
    )
