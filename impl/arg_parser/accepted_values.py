"""The values that each kind of parameter accepts (`FunctionParameter::check`)."""

from __future__ import annotations

import operator

import numpy as np

from impl.core.devices import device
from impl.core.dtypes import (
    BY_NUMPY,
    INTEGRAL,
    PYTHON_DTYPES,
    dtype,
)
from impl.core.integers import is_integer
from impl.core.memory_formats import layout, memory_format
from impl.core.named_types import type_name
from impl.core.storage import Storage
from impl.factories.generator import Generator
from impl.factories.storages import TypedStorage
from impl.tensor.tensor import Tensor, requires_grad


def is_int(value, size: int = 0) -> bool:
    """Whether a value passes for `int`: integers, NumPy's too, 0-dim integer tensors; no bool."""
    if isinstance(value, Tensor):
        return _is_number_tensor(value) and category_of(value) == INTEGRAL
    return is_integer(value)


def is_index(value, size: int = 0) -> bool:
    """Whether a value passes for `SymInt`: whatever has an `__index__`; no bool."""
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, int | np.integer):
        return True
    if isinstance(value, Tensor):
        is_whole = value._raw.size == 1 and category_of(value) <= INTEGRAL
        return is_whole and not requires_grad(value)
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def is_float(value, size: int = 0) -> bool:
    """Whether a value passes for `float`: numbers, NumPy's too, and 0-dim tensors."""
    if isinstance(value, Tensor):
        return _is_number_tensor(value)
    return isinstance(value, float | int | np.generic)


def is_number(value, size: int = 0) -> bool:
    """Whether a value passes for `Number`: as for `float`, and complex numbers."""
    return isinstance(value, complex) or is_float(value)


def _is_number_tensor(tensor: Tensor) -> bool:
    return tensor._raw.ndim == 0 and not requires_grad(tensor)


def category_of(tensor: Tensor) -> int:
    return BY_NUMPY[tensor._raw.dtype].category


def _is_tensor(value, size: int) -> bool:
    return isinstance(value, Tensor)


def _is_tensor_or_number(value, size: int) -> bool:
    return isinstance(value, Tensor | float | int | complex | np.generic)


def _is_list(check):
    """A list is judged by its first element; with a size, one element stands for the list."""

    def accepts(value, size: int) -> bool:
        if isinstance(value, tuple | list):
            return not value or check(value[0])
        return size > 0 and check(value)

    return accepts


def is_tensor_list(value, place: int) -> bool:
    """Whether a value is a list of tensors. Raises TypeError for one of something else, which is no
    mismatch: no other signature is tried."""
    if not isinstance(value, tuple | list):
        return False
    for position, element in enumerate(value):
        if not isinstance(element, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument {place}, but got "
                f"{type_name(element)}"
            )
    return True


def _is_a(*kinds):
    return lambda value, size: isinstance(value, kinds)


CHECKS = {
    "Tensor": _is_tensor,
    "Tensor|Number": _is_tensor_or_number,
    "Tensor[]": is_tensor_list,
    "int": is_int,
    "int[]": _is_list(is_index),
    "SymInt": is_index,
    "SymInt[]": _is_list(is_index),
    "float": is_float,
    "float[]": _is_list(is_float),
    "complex": is_number,
    "Number": is_number,
    "Number[]": lambda value, size: (
        isinstance(value, tuple | list)
        and all(isinstance(v, complex | float | int | np.generic) for v in value)
    ),
    "bool": _is_a(bool),
    "bool[]": _is_a(tuple, list),
    "str": _is_a(str, bytes),
    "dtype": lambda value, size: (
        isinstance(value, dtype) or (isinstance(value, type) and value in PYTHON_DTYPES)
    ),
    "layout": _is_a(layout),
    "device": lambda value, size: (
        isinstance(value, device | str | bytes) or (is_int(value) and not isinstance(value, Tensor))
    ),
    "memory_format": _is_a(memory_format),
    "Generator": _is_a(Generator),
    "Storage": _is_a(Storage, TypedStorage),
    "object": lambda value, size: True,
    "name": _is_a(str),
    "name[]": _is_a(tuple, list),
}
