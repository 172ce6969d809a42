"""Comparisons and predicates; their results are bool and never require grad."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY, INTEGRAL
from impl.core.inference_mode import refuses
from impl.core.meta_arrays import is_meta
from impl.core.registry import FUNCTIONS
from impl.core.state import STATE
from impl.core.strides import contiguous_strides
from impl.core.tensor_iterator import elementwise_strides
from impl.core.traced import check_not_traced
from impl.dispatch.definition import OPERATORS, Array, alias, function, operator, written
from impl.dispatch.dispatch_modes import called_aten
from impl.dispatch.facts import NoComplex, SavedAs
from impl.dispatch.not_implemented import not_implemented, refuse_meta
from impl.dispatch.out import only_bools, same_dtype_out
from impl.dispatch.overloads import publish
from impl.operators.pointwise.unary import unary
from impl.tensor.allocation import copied_layout
from impl.tensor.tensor import Tensor
from impl.tensor.torch_dispatch import asks

_COMPARISONS = {
    "eq": (np.equal, "equal to"),
    "ne": (np.not_equal, "different from"),
    "lt": (np.less, "less than"),
    "le": (np.less_equal, "less than or equal to"),
    "gt": (np.greater, "greater than"),
    "ge": (np.greater_equal, "greater than or equal to"),
}


@written
def _zeros_of_self(F, self_shape, self_dtype):
    return F.zeros(self_shape, self_dtype)


def _define(name: str, compare, words: str) -> None:
    def kernel(self: Array, other: Array) -> Array:
        return compare(self, other)

    def primitive(kernel_name: str, node=None, **facts):
        kernel.__name__ = kernel_name
        facts |= {"promote": "arithmetic", "elementwise": True, "complex": refused}
        facts |= {"compares": True}
        return operator(node=node, function=False, method=False, **facts)(kernel)

    refused = None if name in ("eq", "ne") else NoComplex(f"{name}_cpu")

    op = primitive(name)
    # In place the result has the tensor's dtype, so it stays in the graph, with slope 0.
    node = name.capitalize() + "Backward"
    by_number = primitive(f"{name}_number_into", f"{node}0")
    by_number.gradient(self=_zeros_of_self).forward("zeroed")
    # torch does not save the shapes that the formulas take.
    by_tensor = primitive(f"{name}_tensor_into", f"{node}1", saved_as=SavedAs(parts=()))
    by_tensor.gradient(
        self=_zeros_of_self,
        other=written(lambda F, other_shape, other_dtype: F.zeros(other_shape, other_dtype)),
    ).forward("zeroed")
    publish(
        name,
        op,
        op,
        doc=f"Whether `input` is {words} `other`, element by element (torch.{name}).",
        written=(by_tensor, by_number),
    )


for _name, (_compare, _words) in _COMPARISONS.items():
    _define(_name, _compare, _words)
alias("ne", "not_equal")
alias("lt", "less")
alias("le", "less_equal")
alias("gt", "greater")
alias("ge", "greater_equal")


for _name, _test, _words in (
    ("isnan", np.isnan, "NaN"),
    ("isinf", np.isinf, "infinite"),
    ("isfinite", np.isfinite, "neither infinite nor NaN"),
):
    _words = f"Whether each element is {_words}"
    unary(_name, _test, _words, promote=None, inplace=False, out=False)


def _compared_magnitudes(finite: bool):
    """The layout of comparisons of magnitudes, which are results themselves, with infinity, and for
    `finite` of their other factors; of no comparison for integers."""

    def layouts(args):
        value = args[0]
        if value.dtype.category <= INTEGRAL:
            return copied_layout(args)
        shape = value._raw.shape

        def laid_out(*operands):
            strides = elementwise_strides(shape, list(operands))
            return shape, strides or contiguous_strides(shape)

        times = 2 if value.is_complex() else 1
        magnitudes = laid_out((shape, tuple(times * stride for stride in value.stride())))
        compared = [magnitudes, ((), ())]  # the other one is a number
        return [magnitudes, laid_out(*compared)] if finite else compared

    return layouts


OPERATORS["isinf"].laid_out_as(_compared_magnitudes(False))
OPERATORS["isfinite"].laid_out_as(_compared_magnitudes(True))
for _name in ("isinf", "isfinite"):
    OPERATORS[_name].composes(refuses("abs"))
_parts_finite = FUNCTIONS["isfinite"]


@function()
def isfinite(input):
    """Whether each element is neither infinite nor NaN (torch.isfinite): of complex numbers whether
    the real part is, to which the imaginary one is added in place."""
    result = _parts_finite(input)
    if input.is_complex() and not result._uncounted:
        result._storage.version += 1
    return result


@operator(
    elementwise=True,
    out=True,
    complex=NoComplex(text="isposinf does not support complex inputs.", error=TypeError),
)
def isposinf(self: Array) -> Array:
    """Whether each element is +inf (torch.isposinf)."""
    return np.isinf(self) & (self > 0)


@operator(
    elementwise=True,
    out=True,
    complex=NoComplex(text="isneginf does not support complex inputs.", error=TypeError),
)
def isneginf(self: Array) -> Array:
    """Whether each element is -inf (torch.isneginf)."""
    return np.isinf(self) & (self < 0)


only_bools(isposinf)
only_bools(isneginf)


# -- logic -------------------------------------------------------------------------------------


def _logical(name: str, compute, words: str) -> None:
    def kernel(self: Array, other: Array) -> Array:
        return compute(self, other)

    kernel.__name__, kernel.__doc__ = name, f"Whether {words} (torch.{name})."
    operator(elementwise=True, inplace=True, out=True, numbers=False, writes=1, compares=True)(
        kernel
    )


_logical("logical_and", np.logical_and, "both are non-zero")
_logical("logical_or", np.logical_or, "one is non-zero")
_logical("logical_xor", np.logical_xor, "exactly one is non-zero")
unary("logical_not", np.logical_not, "Whether each element is zero", promote=None, writes=1)


# -- bits --------------------------------------------------------------------------------------


def _bitwise(name: str, compute, kernel: str, doc: str, bools: bool = True) -> None:
    def primitive(self: Array, other: Array) -> Array:
        kinds = "iub" if bools else "iu"
        if self.dtype.kind not in kinds:
            raise not_implemented(kernel, BY_NUMPY[self.dtype])
        return compute(self, other)

    primitive.__name__ = name
    settings: dict[str, Any] = {"promote": "arithmetic", "elementwise": True}
    op = operator(node="NotImplemented", function=False, method=False, **settings)(primitive)
    op.forward("unknown")
    publish(name, op, op, op, doc=doc)


_bitwise("bitwise_and", np.bitwise_and, "bitwise_and_cpu", "Bitwise and (torch.bitwise_and).")
_bitwise("bitwise_or", np.bitwise_or, "bitwise_or_cpu", "Bitwise or (torch.bitwise_or).")
_bitwise("bitwise_xor", np.bitwise_xor, "bitwise_xor_cpu", "Bitwise xor (torch.bitwise_xor).")
_bitwise(
    "bitwise_left_shift",
    np.left_shift,
    "lshift_cpu",
    "self * 2 ** other (torch.bitwise_left_shift).",
    bools=False,
)
_bitwise(
    "bitwise_right_shift",
    np.right_shift,
    "rshift_cpu",
    "Arithmetic shift to the right (torch.bitwise_right_shift).",
    bools=False,
)


@operator(node="NotImplemented", elementwise=True, inplace=True, out=True)
def bitwise_not(self: Array) -> Array:
    """Bitwise not; of bools the logical one (torch.bitwise_not)."""
    if self.dtype.kind not in "iub":
        raise not_implemented("bitwise_not_cpu", BY_NUMPY[self.dtype])
    return np.invert(self)


bitwise_not.checks_out(same_dtype_out)
bitwise_not.forward("unknown")


# -- whole tensors -----------------------------------------------------------------------------


@function(batching="no_rule")
def equal(input, other) -> bool:
    """Whether sizes and all elements are equal; NaN equals nothing (torch.equal)."""
    if asks((input, other)):
        return bool(called_aten("equal", input, other))
    refuse_meta("equal", input, other)
    _refuse_traced("equal", input, other)
    return bool(np.array_equal(input._raw, other._raw))


@operator(elementwise=True, function=False, method=False)
def close(self: Array, other: Array, rtol, atol, equal_nan) -> Array:
    """Kernel of `isclose`."""
    same = self == other
    if equal_nan:
        same = same | (np.isnan(self) & np.isnan(other))
    if self.dtype.kind in "iub" and rtol == atol == 0:
        return same
    allowed = atol + np.abs(rtol * other)
    distance = np.abs(np.subtract(self, other, dtype=np.result_type(self, other, np.float32)))
    return same | (np.isfinite(distance) & (distance <= allowed))


def _check_close(input, other, rtol, atol) -> None:
    if input._raw.dtype != other._raw.dtype:
        raise RuntimeError(f"{_scalar(input)} did not match {_scalar(other)}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {tolerance:g}"
            )


@function(batching="composed_fallback")
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol * |other| (torch.isclose).

    Raises RuntimeError for different dtypes, and for a tolerance that is negative or NaN.
    """
    _check_close(input, other, rtol, atol)
    result = close(input, other, rtol, atol, equal_nan)
    # torch completes it in place: once for NaN, once for elements that are merely close.
    numbers = input.is_floating_point() or input.is_complex()
    result._storage.version = int(equal_nan and numbers) + int(not rtol == atol == 0)
    return result


@function(batching="unsupported")
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False) -> bool:
    """Whether all elements are close; see `isclose` (torch.allclose)."""
    if asks((input, other)):
        more = [rtol, atol, equal_nan]
        while more and more[-1] == allclose.__defaults__[len(more) - 1]:
            more.pop()
        return bool(called_aten("allclose", input, other, *more))
    _check_close(input, other, rtol, atol)
    _refuse_traced("allclose", input, other)
    every = np.all(close(input, other, rtol, atol, equal_nan)._raw)
    if is_meta(every):
        raise RuntimeError(messages.META_ITEM)
    return bool(every)


def _refuse_traced(operator: str, *inputs: Tensor) -> None:
    for tensor in inputs if STATE.transforms else ():
        check_not_traced(tensor, operator)


def _scalar(tensor: Tensor) -> str:
    return tensor.dtype.legacy


@function(batching="whole")
def _is_all_true(input):
    """Whether every element of a bool tensor is true (torch._is_all_true)."""
    return input.all()


@function(batching="whole")
def _is_any_true(input):
    """Whether some element of a bool tensor is true (torch._is_any_true)."""
    return input.any()
