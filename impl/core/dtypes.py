"""Dtypes, their categories, and type promotion (c10/core/ScalarType.h)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from impl.core.c_methods import without_arguments
from impl.core.named_types import FinalType

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)


class dtype(metaclass=FinalType):
    """An element type, printed as torch prints it (`torch.float32`)."""

    __module__ = "impl"

    __slots__ = ("c_name", "category", "itemsize", "legacy", "name", "numpy")

    def __init__(self, name: str, numpy_type, category: int, legacy: str, c_name: str) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_type)
        self.category = category
        self.itemsize = self.numpy.itemsize
        # The names in torch's messages: that of the legacy tensor type, and that of the C++ type.
        self.legacy = legacy
        self.c_name = c_name

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def is_signed(self) -> bool:
        return self.category != BOOL and self is not uint8

    @without_arguments
    def to_real(self) -> dtype:
        """The dtype of the parts of a complex dtype; another dtype itself."""
        return real_of(self)

    @without_arguments
    def to_complex(self) -> dtype:
        """The complex dtype with parts of this dtype. Raises RuntimeError for integers and bool."""
        if self.category < FLOATING:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.legacy}")
        return self if self.category == COMPLEX else complex_of(self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # a global of the public module


bool_ = dtype._make("bool", np.bool_, BOOL, "Bool", "bool")
uint8 = dtype._make("uint8", np.uint8, INTEGRAL, "Byte", "unsigned char")
int8 = dtype._make("int8", np.int8, INTEGRAL, "Char", "signed char")
int16 = dtype._make("int16", np.int16, INTEGRAL, "Short", "short int")
int32 = dtype._make("int32", np.int32, INTEGRAL, "Int", "int")
int64 = dtype._make("int64", np.int64, INTEGRAL, "Long", "long int")
float16 = dtype._make("float16", np.float16, FLOATING, "Half", "c10::Half")
bfloat16 = dtype._make("bfloat16", ml_dtypes.bfloat16, FLOATING, "BFloat16", "c10::BFloat16")
float32 = dtype._make("float32", np.float32, FLOATING, "Float", "float")
float64 = dtype._make("float64", np.float64, FLOATING, "Double", "double")
complex64 = dtype._make("complex64", np.complex64, COMPLEX, "ComplexFloat", "c10::complex<float>")
complex128 = dtype._make(
    "complex128", np.complex128, COMPLEX, "ComplexDouble", "c10::complex<double>"
)

ALL: tuple[dtype, ...] = (
    bool_,
    uint8,
    int8,
    int16,
    int32,
    int64,
    float16,
    bfloat16,
    float32,
    float64,
)
ALL += (complex64, complex128)
BY_NUMPY = {d.numpy: d for d in ALL}
PYTHON_DTYPES = {float: float64, int: int64, bool: bool_, complex: complex128}
CATEGORY = {d.numpy: d.category for d in ALL}
DIFFERENTIABLE = frozenset(d.numpy for d in ALL if d.category >= FLOATING)
REDUCED = frozenset((float16.numpy, bfloat16.numpy))
# The float dtypes in which NumPy and BLAS compute; the reduced ones are cast to float32 first.
WIDE = frozenset((float32.numpy, float64.numpy))  # a tuple would hold None, NumPy's name of float64

_default = float32


def get_default_dtype() -> dtype:
    """The floating dtype that factories and integer-to-float promotion use."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the default floating dtype.

    Raises TypeError for anything but a floating dtype (torch.set_default_dtype).
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type"
        )
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


HALF_COMPLEX = {float16: ("complex32", "ComplexHalf"), bfloat16: ("bcomplex32", "BComplex32")}
"""The complex dtypes of half precision by that of their parts: their names, and those in errors of
kernels. NumPy lacks both, and torch has next to no kernels for them."""


def complex_of(d: dtype) -> dtype:
    """The complex dtype whose parts have the floating dtype `d`.

    Raises NotImplementedError for float16 and bfloat16 (HALF_COMPLEX).
    """
    if d in HALF_COMPLEX:
        raise NotImplementedError(f"{HALF_COMPLEX[d][0]}, the complex dtype of {d.name} parts")
    return complex128 if d is float64 else complex64


def default_complex() -> dtype:
    """The dtype of complex numbers beside integers: its parts have the default dtype.

    For bfloat16 it is complex64. Raises NotImplementedError for float16.
    """
    return complex_of(float32 if _default is bfloat16 else _default)


def real_of(d: dtype) -> dtype:
    """The dtype of the parts of a complex dtype; any other dtype is returned as it is."""
    return {complex64: float32, complex128: float64}.get(d, d)


# Within a category: half and bfloat16 promote to float32; integers promote as in NumPy, uint8 with
# a signed type to the next wider signed type.
def _join(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    if {a, b} == {float16, bfloat16}:
        return float32
    if a.category != b.category:
        low, high = (a, b) if a.category < b.category else (b, a)
        if high.category == COMPLEX and low is float64:
            return complex128
        return high
    if a.category == FLOATING:
        return a if _RANK[a] > _RANK[b] else b
    return BY_NUMPY[np.promote_types(a.numpy, b.numpy)]


_RANK = {float16: 0, bfloat16: 0, float32: 1, float64: 2}
JOIN = {(a, b): _join(a, b) for a in ALL for b in ALL}


def promote_types(a: dtype, b: dtype) -> dtype:
    """The result of type promotion between two dtypes (torch.promote_types)."""
    return JOIN[a, b]


# The scalars of NumPy that torch takes for numbers (torch::utils::is_numpy_scalar).
NUMPY_NUMBERS = (np.number, np.bool_)


def python_number(value):
    """The Python number that torch reads from a NumPy scalar as an operand.

    Integers, and subclasses of float and complex, keep their category; torch makes a float of all
    others, of booleans too, and drops an imaginary part with the warning of NumPy
    (`THPUtils_unpackScalar`).
    """
    if isinstance(value, (np.integer, float, complex)):
        return value.item()  # type: ignore[union-attr]
    return float(value)


# The integers that a number (c10::Scalar) holds: those of int64 and of uint64.
LEAST_SCALAR, GREATEST_SCALAR = -(2**63), 2**64 - 1


def check_scalar(number: int) -> None:
    """Raise OverflowError for an integer that no number holds (`THPUtils_unpackScalar`)."""
    if number > GREATEST_SCALAR:
        raise OverflowError("int too big to convert")
    if number < LEAST_SCALAR:
        raise OverflowError("can't convert negative int to unsigned")


def category_of_number(value) -> int:
    """The category of a Python number; bool is tested first because it is an int."""
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, (int, np.integer)):
        return INTEGRAL
    if isinstance(value, (float, np.floating)):
        return FLOATING
    return COMPLEX


def dtype_of_number(value) -> dtype:
    """The dtype of a Python number as an operand: bool, int64, or the default (complex) float."""
    category = category_of_number(value)
    if category == FLOATING:
        return _default
    if category == COMPLEX:
        return complex128 if _default is float64 else complex64
    return bool_ if category == BOOL else int64


def _refuse_uint64(a: str, b: str) -> RuntimeError:
    """The error where numbers of uint64 meet others that are not floating."""
    return RuntimeError(
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
        f"{a} and {b}"
    )


def _joined_numbers(number: dtype | None, wide: bool, value) -> tuple[dtype, bool]:
    """The dtype of the numbers so far and one more, and whether that stands for uint64, of which
    the numbers from 2 ** 63 on are."""
    d = dtype_of_number(value)
    is_wide = type(value) is int and value >= 2**63
    if number is None:
        return d, is_wide
    if wide != is_wide and FLOATING not in (number.category, d.category):
        raise _refuse_uint64("UInt64" if wide else number.legacy, "UInt64" if is_wide else d.legacy)
    return JOIN[number, d], wide and is_wide


def result_dtype(operands) -> dtype:
    """The result of type promotion among operands (torch.result_type, c10's ResultTypeState).

    `operands` are arrays, NumPy scalars (0-dim) or Python numbers. Three priorities (tensors with
    dimensions, 0-dim tensors, Python numbers) each promote among themselves; a lower priority
    counts only if its category is higher. Raises NotImplementedError where the result would be
    complex32, RuntimeError where it would be that of uint64 and another one that is not floating.
    """
    dimensioned: Any = None
    zero_dim: Any = None
    number: Any = None
    wide = False  # whether the numbers are of torch's uint64
    for value in operands:
        d = BY_NUMPY.get(getattr(value, "dtype", None))
        if d is None:
            number, wide = _joined_numbers(number, wide, value)
        elif value.ndim:
            dimensioned = d if dimensioned is None else JOIN[dimensioned, d]
        else:
            zero_dim = d if zero_dim is None else JOIN[zero_dim, d]
    result = dimensioned
    for lower in (zero_dim, number):
        if lower is None:
            continue
        if result is None:
            result = lower
        elif lower.category > result.category:
            if lower.category == COMPLEX and result.category == FLOATING:
                result = complex_of(result)
            elif lower is number and lower.category == COMPLEX:
                result = default_complex()  # the tensors are integers
            elif wide and lower is number:
                raise _refuse_uint64(result.legacy, "UInt64")
            else:
                result = JOIN[result, lower]
    return result
