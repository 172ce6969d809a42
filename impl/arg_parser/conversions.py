"""Conversions of accepted arguments to the types that the implementations of operators take."""

from __future__ import annotations

import operator

import numpy as np

from impl.arg_parser.accepted_values import category_of, is_float, is_index
from impl.core.dtypes import (
    BOOL,
    PYTHON_DTYPES,
    check_scalar,
    dtype,
    float64,
    python_number,
)
from impl.core.messages import expected, internal_assert
from impl.core.named_types import type_name
from impl.factories.creation import tensor
from impl.kernels.casting import storable
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import DisableTorchFunction

_OVERFLOW = "Overflow when unpacking long long"
_IS_INTEGRAL = "scalar.isIntegral( false)"


def _int(value, parameter, function) -> int:
    number = value if type(value) is int else _index(value, parameter)
    if not in_64_bits(number):
        raise ValueError(_OVERFLOW)
    return number


def _index(value, parameter) -> int:
    """An object as an integer: its class is asked about `__index__` for `int`, not for `SymInt`."""
    if parameter.kind == "int" or not isinstance(value, Tensor):
        return operator.index(value)
    if parameter.kind == "SymInt" and category_of(value) == BOOL:
        raise RuntimeError(internal_assert(_IS_INTEGRAL, "torch/csrc/utils/pybind.cpp", 27))
    with DisableTorchFunction():
        return operator.index(value)


LEAST, GREATEST = -(2**63), 2**63 - 1
"""The integers of int64."""


def in_64_bits(number: int) -> bool:
    """Whether an integer fits int64."""
    return LEAST <= number <= GREATEST


def _ints(value, parameter, function):
    if not isinstance(value, tuple | list):
        return _one_for_all(value, parameter, function)
    if all(type(element) is int and in_64_bits(element) for element in value):
        return value
    numbers = []
    for place, element in enumerate(value, 1):
        _refuse_bool_tensor(element, parameter)
        fault = None
        if not (is_index(element) or isinstance(element, bool)):
            fault = f"type must be tuple of ints,but got {type_name(element)}"
        elif not in_64_bits(operator.index(element)):
            fault = _OVERFLOW  # torch adds the stack, in C++
        if fault is not None:
            raise TypeError(
                f"{function}(): argument '{parameter.name}' failed to unpack the object at pos "
                f'{place} with error "{fault}"'
            )
        numbers.append(operator.index(element))
    return tuple(numbers)


def _one_for_all(value, parameter, function) -> int:
    """One integer in place of a list. Raises RuntimeError for another object, although it passes as
    an element by its `__index__`."""
    if not isinstance(value, int | np.integer | Tensor):
        line = 658 if parameter.element == "int" else 573
        text = "PyList_Check(arg)", "torch/csrc/utils/python_arg_parser.h", line
        raise RuntimeError(internal_assert(*text, "expected tuple or list"))
    _refuse_bool_tensor(value, parameter)
    return _int(value, parameter, function)


def _refuse_bool_tensor(element, parameter) -> None:
    """Raise RuntimeError for a bool tensor as an element of `SymInt[]`; `int[]` takes it."""
    symbolic = parameter.element == "SymInt" and isinstance(element, Tensor)
    if symbolic and category_of(element) == BOOL:
        raise RuntimeError(expected(_IS_INTEGRAL))


def _number(value, parameter, function):
    if isinstance(value, int):
        check_scalar(value)
    return _scalar(value)


def _float(value, parameter, function):
    """A real number. Raises RuntimeError for a tensor with an imaginary part."""
    if isinstance(value, Tensor) and value._raw.dtype.kind != "c":
        return float(value)  # of which a class is asked
    number = _scalar(value)
    return storable(number, float64.numpy).item() if isinstance(number, complex) else number


def _floats(value, parameter, function):
    """Real numbers, of which the first decides that the list fits. Raises TypeError for others."""
    for place, element in enumerate(value, 1):
        if not is_float(element):
            raise TypeError(
                f"{function}(): argument '{parameter.name}' must be tuple of floats, but found "
                f"element of type {type_name(element)} at pos {place}"
            )
    numbers = tuple(_float(element, parameter, function) for element in value)
    return value if all(map(operator.is_, numbers, value)) else numbers


def _scalar(value):
    """A Python number of a NumPy scalar or a 0-dim tensor; other values as they are."""
    if isinstance(value, np.generic):
        return python_number(value)
    if not isinstance(value, Tensor):
        return value
    with DisableTorchFunction():
        return value.item()


def _tensors(value, parameter, function):
    """A list of tensors, of so many as the parameter's size says, which `out=` has for several
    results."""
    if parameter.size and len(value) != parameter.size:
        raise TypeError(f"expected tuple of {parameter.size} elements but got {len(value)}")
    return value


def _string(value, parameter, function):
    return value.decode() if isinstance(value, bytes) else value


def _dtype(value, parameter, function):
    return value if isinstance(value, dtype) else PYTHON_DTYPES[value]


def _tensor_or_number(value, parameter, function):
    number = python_number(value) if isinstance(value, np.generic) else value
    if isinstance(number, int):
        check_scalar(number)
    if isinstance(number, Tensor) or parameter.name in ("input", "other"):
        return number
    return scalar_tensor(number)  # `out` and the like: a tensor that nothing else holds


def scalar_tensor(number) -> Tensor:
    """A 0-dim tensor of a Python number: bool, int64, float64 or complex128."""
    return tensor(number, dtype=PYTHON_DTYPES[type(number)])


CONVERSIONS = {
    "Tensor|Number": _tensor_or_number,
    "Tensor[]": _tensors,
    "int": _int,
    "int[]": _ints,
    "SymInt": _int,
    "SymInt[]": _ints,
    "float": _float,
    "float[]": _floats,
    "Number": _number,
    "complex": _number,
    "str": _string,
    "device": _string,
    "dtype": _dtype,
    "Storage": lambda value, parameter, function: value.untyped(),
}
