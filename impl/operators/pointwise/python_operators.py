"""Python's operators on tensors: the dunder methods, mapped to operators as in torch."""

from __future__ import annotations

import functools

import numpy as np

import impl.operators.pointwise.comparison  # noqa: F401  defines eq, bitwise_and and their like
from impl.core.dtypes import BY_NUMPY, NUMPY_NUMBERS, check_scalar, python_number
from impl.core.registry import FUNCTIONS
from impl.dispatch import fast_path
from impl.dispatch.record import refuse_write
from impl.dispatch.spellings import spelled
from impl.operators.pointwise.arithmetic import add, mul, rsub_, sub
from impl.operators.pointwise.division import true_div
from impl.operators.pointwise.power import pow_, pow_inplace
from impl.tensor import forward_grad
from impl.tensor.overridable import OPERATORS
from impl.tensor.tensor import Tensor, new
from impl.tensor.torch_function import (
    ask,
    asked_for,
    asking,
    handle_torch_function,
    overrides,
)

_OPERANDS = (Tensor, bool, int, float, complex)
_USUAL = set(_OPERANDS)
# The methods that `__torch_function__` is given for the dunder methods, where not those themselves.
_ASKED_FOR = {
    f"__{name}__": target
    for name, target in {
        **{name: name for name in ("add", "sub", "mul", "pow", "ne", "lt", "le", "gt", "ge")},
        **{f"i{name}": f"{name}_" for name in ("add", "sub", "mul", "pow")},
        **{f"r{name}": name for name in ("add", "mul")},
        **{f"r{name}": f"bitwise_{name}" for name in ("and", "or", "xor")},
        "truediv": "div",
        "itruediv": "div_",
        "rtruediv": "__rdiv__",
        "mod": "remainder",
        "imod": "remainder_",
        "ifloordiv": "floor_divide_",
        "matmul": "matmul",
    }.items()
}


# The dunder methods that torch writes in Python, which give a handler keywords, too.
_IN_PYTHON = {
    *("__floordiv__", "__pow__", "__ipow__", "__rdiv__", "__rfloordiv__", "__rlshift__"),
    *("__rmod__", "__rpow__", "__rrshift__", "__rsub__", "__rtruediv__"),
}


def binary(call, name: str, operands=_OPERANDS):
    """Define a dunder method that returns NotImplemented for operands of an unknown type, where the
    classes of the operands do so (`__torch_function__`), and for a TypeError of whatever runs."""

    numbers = operands is not Tensor
    usual = _USUAL if numbers else {Tensor}

    def dunder(self, other):
        if type(other) not in usual or type(self) is not Tensor:
            if (asked := asked_for((self, other))) is not None:
                return _asked(name, asked, self, other)
            if numbers and isinstance(other, NUMPY_NUMBERS):
                other = python_number(other)
            if not isinstance(other, operands):
                return NotImplemented
        if type(other) is int:
            check_scalar(other)
        try:
            return call(self, other)
        except TypeError:  # of hooks and handlers, too
            return NotImplemented

    dunder.__name__ = name
    dunder.__qualname__ = f"Tensor.{name}"
    setattr(Tensor, name, asking(dunder))

    @functools.wraps(dunder)
    def in_mode(self, other):
        if (asked := asked_for((self, other))) is not None:
            return _asked(name, asked, self, other)
        return dunder(self, other)

    OPERATORS[name] = asking(in_mode)
    return dunder


def _asked(name: str, asked: list, *operands):
    target = _ASKED_FOR.get(name, name)
    if name == "__eq__" and overrides(operands[1]) and not overrides(operands[0]):
        target = "eq"
    public = getattr(Tensor, target)
    try:
        if name in _IN_PYTHON:
            return handle_torch_function(public, operands, *operands)
        return ask(public, f"torch.Tensor.{target}", asked, operands, {})
    except TypeError:
        return NotImplemented


def fast_binary(op, name: str, symbol: str, **constants) -> None:
    """Define a dunder method with a fast path for a primitive, whose other parameters are
    `constants`."""
    general = binary(lambda self, other: op.slow_path(self, other, *constants.values()), name)
    made = fast_path.function(
        op,
        name,
        f"def {name}(input, other):\n",
        "general(input, other)",
        {"kernel": op.definition, "general": general},
        constants,
        f"r0 {symbol} r1",
    )
    made.__qualname__ = general.__qualname__
    setattr(Tensor, name, asking(made))


def _of(name: str):
    return FUNCTIONS[name]


def _writing(call):
    """A function in place that looks whether it may write before it looks at the operands."""

    def function(self, other):
        try:
            return call(self, other)
        except RuntimeError:
            refuse_write((self, other))
            raise

    return function


def _swapped(call):
    return lambda self, other: call(other, self)


fast_binary(add, "__add__", "+", alpha=1)
fast_binary(add, "__radd__", "+", alpha=1)
fast_binary(sub, "__sub__", "-", alpha=1)
binary(rsub_, "__rsub__")
fast_binary(mul, "__mul__", "*")
fast_binary(mul, "__rmul__", "*")
fast_binary(true_div, "__truediv__", "/")
binary(_of("div"), "__div__")
# torch has no operator for a number divided by a tensor; it composes one.
for _name in ("__rtruediv__", "__rdiv__"):
    binary(lambda self, other: _of("reciprocal")(self) * other, _name, (*_OPERANDS, np.ndarray))
binary(_of("floor_divide"), "__floordiv__")
binary(_swapped(_of("floor_divide")), "__rfloordiv__")
binary(_of("remainder"), "__mod__")
binary(_swapped(_of("remainder")), "__rmod__")
binary(pow_, "__pow__")
binary(_swapped(pow_), "__rpow__")

binary(lambda self, other: add.inplace(self, other, 1), "__iadd__")
binary(lambda self, other: sub.inplace(self, other, 1), "__isub__")
binary(mul.inplace, "__imul__")
binary(true_div.inplace, "__itruediv__")
binary(true_div.inplace, "__idiv__")
binary(_of("floor_divide_"), "__ifloordiv__")
binary(_of("remainder_"), "__imod__")
binary(pow_inplace, "__ipow__")


def _shifting(name: str, call):
    """An operator that ATen has by the name of the method, and without a derivative."""

    def shift(self, other):
        forward_grad.refuse(name, self, other)
        return call(self, other)

    return shift


for _dunder, _name in {
    "__eq__": "eq",
    "__ne__": "ne",
    "__lt__": "lt",
    "__le__": "le",
    "__gt__": "gt",
    "__ge__": "ge",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
    "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_",
    "__ilshift__": "bitwise_left_shift_",
    "__irshift__": "bitwise_right_shift_",
}.items():
    _shifts = "shift" in _dunder
    _call = _of(_name)
    if _shifts or _name.endswith("_"):
        _call = spelled(_dunder, dispatched=_shifts)(_call)
    if _name.endswith("_"):
        _call = _writing(_call)
    binary(_shifting(_dunder, _call) if _shifts else _call, _dunder)
# Other operators of a tensor and an array are NumPy's (`__array_wrap__`); == converts the array.
_equal = Tensor.__eq__


@asking
def _eq(self, other):
    if isinstance(other, np.ndarray) and other.dtype in BY_NUMPY:
        other = new(np.array(other, order="C"))
    return _equal(self, other)


Tensor.__eq__ = _eq  # type: ignore[method-assign]
for _name in ("and", "or", "xor"):
    binary(_of(f"bitwise_{_name}"), f"__r{_name}__")
binary(_swapped(_of("bitwise_left_shift")), "__rlshift__")
binary(_swapped(_of("bitwise_right_shift")), "__rrshift__")


def _invert(self):
    if self._raw.dtype.kind not in "iub":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return _of("bitwise_not")(self)


def _unary(call, name: str, target: str):
    def dunder(self):
        return call(self) if type(self) is Tensor else in_mode(self)

    dunder.__name__ = name

    @functools.wraps(dunder)
    def in_mode(self):
        if (asked := asked_for((self,))) is not None:
            public = getattr(Tensor, target)
            return ask(public, f"torch.Tensor.{target}", asked or [self], (self,), {})
        return call(self)

    setattr(Tensor, name, asking(dunder))
    OPERATORS[name] = asking(in_mode)


_unary(lambda self: _of("neg")(self), "__neg__", "neg")
_unary(lambda self: _of("positive")(self), "__pos__", "positive")
_unary(lambda self: _of("abs")(self), "__abs__", "abs")
_unary(_invert, "__invert__", "__invert__")
# Operands that are NumPy's scalars and arrays defer to the tensor's reflected methods.
Tensor.__array_priority__ = 1000
