"""Parameters of signatures: the values that each kind accepts, and their conversion.

The rules are those of `FunctionParameter::check` in PyTorch's `python_arg_parser.cpp`.
"""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np

from impl.core.devices import device
from impl.core.dtypes import (
    BOOL,
    BY_NUMPY,
    INTEGRAL,
    PYTHON_DTYPES,
    check_scalar,
    dtype,
    float64,
    python_number,
)
from impl.core.memory_formats import layout, memory_format
from impl.core.messages import expected, internal_assert
from impl.core.named_types import type_name
from impl.core.state import STATE
from impl.core.storage import Storage
from impl.factories.creation import tensor
from impl.factories.generator import Generator
from impl.factories.storages import TypedStorage
from impl.kernels.casting import storable
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.torch_function import DisableTorchFunction, overrides

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()
"""The value of a parameter that was not given; no value of a caller is it."""

NUMPY_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}
"""The names that NumPy has for torch's parameters, which torch accepts as keywords."""

_PRINTED = {
    "Tensor": "Tensor",
    "Tensor|Number": "Tensor",
    "SymInt": "int",
    "dtype": "torch.dtype",
    "layout": "torch.layout",
    "device": "torch.device",
    "memory_format": "torch.memory_format",
    "Generator": "torch.Generator",
    "Storage": "torch.Storage",
}
_PRINTED_LISTS = {"Tensor": "Tensors", "Number": "Scalars"}


class Parameter:
    """One parameter of a signature: `int[1]? dim=None`.

    `kind` is the type without its size and question mark (a list ends in "[]"), `size` the number
    in the brackets (then one number stands for a list), `nullable` whether None is accepted,
    `default` the default's value (MISSING: the parameter is required).
    """

    def __init__(self, text: str, keyword_only: bool) -> None:
        declared, _, default = text.partition("=")
        kind, self.name = declared.rsplit(" ", 1)
        self.nullable = kind.endswith("?")
        kind = kind.rstrip("?")
        kind, bracket, size = kind.partition("[")
        self.size = int(size[:-1] or 0) if bracket else 0
        self.element = kind
        self.kind = kind + "[]" if bracket else kind
        self.keyword_only = keyword_only
        self.default = _default(default, kind) if default else MISSING
        self.default_text = default
        self.optional = bool(default)
        self.numpy_names = NUMPY_NAMES.get(self.name, ())
        self.printed = self._printed(bool(bracket))
        self.place = 0  # among the parameters of its signature
        self._accepts = _CHECKS[self.kind]
        self._convert = _CONVERSIONS.get(self.kind)

    def _printed(self, is_list: bool) -> str:
        if is_list:
            plural = _PRINTED_LISTS.get(self.element)
            return f"tuple of {plural or _PRINTED.get(self.element, self.element) + 's'}"
        return _PRINTED.get(self.kind, self.kind)

    def declaration(self) -> str:
        """The parameter as messages show it: `bool keepdim = False`."""
        if not self.optional:
            return f"{self.printed} {self.name}"
        return f"{self.printed} {self.name} = {self.default_text}"

    def accepts(self, value) -> bool:
        """Whether a value that was given fits, by itself or as one whose class takes over."""
        if STATE.torch_function and self.overriding(value):
            return True
        return self._fits(value)

    def _fits(self, value) -> bool:
        if value is None and self.nullable:
            return True
        if self._accepts is _is_tensor_list:
            return _is_tensor_list(value, self.place)
        return self._accepts(value, self.size)

    def overriding(self, value) -> list:
        """The value in this parameter's place, or the elements of the list, that take the function
        over: tensors in the place of tensors or in a list of sizes, and other objects that do not
        fit by themselves."""
        if isinstance(value, tuple | list) and self.kind in ("Tensor[]", "int[]", "SymInt[]"):
            found = [element for element in value if overrides(element)]
            if found:
                return found
        if self.kind == "object" or not overrides(value):
            return []
        if isinstance(value, Tensor):
            return [value] if self.kind in ("Tensor", "Tensor|Number") else []
        return [] if self._fits(value) else [value]

    def depends_on_value(self, value) -> bool:
        """Whether it takes more than the type of a value to say that it fits."""
        return isinstance(value, Tensor) and not self.kind.startswith("Tensor")

    def converted(self, value, function: str):
        """A value that fits, as the implementations of operators take it.

        Raises ValueError for integers beyond 64 bits, TypeError for elements that are no integers.
        """
        if value is None or self._convert is None:
            return value
        return self._convert(value, self, function)


def _default(text: str, kind: str):
    """The value of a default, which has the spelling of C++."""
    if kind in ("dtype", "layout", "memory_format"):
        return None if text == "None" else text
    if text == "at::Reduction::Mean":
        return 1
    return ast.literal_eval(text.replace("{", "(").replace("}", ")"))


# --- the values that each kind accepts -------------------------------------------------------


def is_int(value, size: int = 0) -> bool:
    """Whether a value passes for `int`: integers, NumPy's too, 0-dim integer tensors; no bool."""
    if isinstance(value, Tensor):
        return _is_number_tensor(value) and _category(value) == INTEGRAL
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_index(value, size: int = 0) -> bool:
    """Whether a value passes for `SymInt`: whatever has an `__index__`; no bool."""
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, int | np.integer):
        return True
    if isinstance(value, Tensor):
        is_whole = value._raw.size == 1 and _category(value) <= INTEGRAL
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


def _category(tensor: Tensor) -> int:
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


def _is_tensor_list(value, place: int) -> bool:
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


_CHECKS = {
    "Tensor": _is_tensor,
    "Tensor|Number": _is_tensor_or_number,
    "Tensor[]": _is_tensor_list,
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


# --- conversions ------------------------------------------------------------------------------

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
    if parameter.kind == "SymInt" and _category(value) == BOOL:
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
    if symbolic and _category(element) == BOOL:
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


_CONVERSIONS = {
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
