"""Floating-point representation (frexp, ldexp, nextafter), and degrees and radians."""

from __future__ import annotations

import math

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING, get_default_dtype, int32
from impl.core.inference_mode import refuses
from impl.core.registry import array_ops, tensor_ops
from impl.core.return_types import return_type
from impl.core.sizes import broadcast_shapes
from impl.core.strides import contiguous_strides
from impl.dispatch.definition import Array, formula_operation, function, operator, written
from impl.dispatch.facts import NoComplex, SavedAs
from impl.dispatch.not_implemented import refuse_bool, require_floating
from impl.dispatch.out import named_out, refuse_links, store, warn_resized
from impl.kernels.reduced_precision import rounded_once, widened
from impl.tensor.allocation import copied_layout
from impl.tensor.memory_overlap import check_memory
from impl.tensor.tensor import Tensor

# -- neighbours ---------------------------------------------------------------------------------


@operator(
    promote="arithmetic",
    elementwise=True,
    inplace=True,
    out=True,
    numbers=False,
    saved_as=SavedAs(parts=()),
)
def nextafter(self: Array, other: Array) -> Array:
    """The number next to `self` in the direction of `other` (torch.nextafter)."""
    require_floating(self, "nextafter_cpu")
    return np.nextafter(self, other)


nextafter.gradient(
    self=lambda F, grad, self, other: F.where(self != other, grad, 0),
    other=written(lambda F, grad, other_shape, other_dtype: F.zeros(other_shape, other_dtype)),
)
nextafter.forward(lambda F, self_t, self, other: F.where(self != other, self_t, 0))

# -- mantissa and exponent ----------------------------------------------------------------------

FloatParts = return_type("frexp", "mantissa", "exponent")


@operator(
    writes=1,
    node="FrexpBackward0",
    outputs=("mantissa", "exponent"),
    fresh=True,
    function=False,
    method=False,
    batching="dims",
)
def frexp_parts(self: Array) -> tuple:
    mantissa, exponent = np.frexp(widened(self))
    return mantissa.astype(self.dtype), exponent.astype(np.int32)


frexp_parts.differentiable("mantissa")
frexp_parts.laid_out_as(copied_layout)
frexp_parts.composes(refuses("frexp"))
frexp_parts.gradient(self=lambda F, grad, exponent: grad / F.exp2_of_integers(exponent))
frexp_parts.forward(mantissa=lambda F, self_t, exponent: self_t / F.exp2_of_integers(exponent))


@formula_operation
def exp2_of_integers(value):
    """2 ** value, in the default dtype."""
    return np.exp2(value.astype(get_default_dtype().numpy))


tensor_ops.exp2_of_integers = lambda value: tensor_ops.exp2(value)


@function()
@named_out("frexp", outputs=(0,))
def frexp(input, *, out=None):
    """The mantissa, in [1/2, 1), and the exponent of 2 (int32) of each number (torch.frexp).

    Raises RuntimeError for integers and complex numbers.
    """
    if input.dtype.category != FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    result = FloatParts(frexp_parts(input))
    if out is None:
        return result
    if isinstance(out, Tensor):
        raise TypeError("frexp(): argument 'out' must be tuple of Tensors, not Tensor")
    for part in out:
        check_memory(part, (input,))
    if out[0].dtype is not input.dtype:
        raise RuntimeError(
            f"torch.frexp() expects mantissa to have dtype {input.dtype.c_name} but got "
            f"{out[0].dtype.c_name}"
        )
    if out[1].dtype is not int32:
        raise RuntimeError(
            f"torch.frexp() expects exponent to have int dtype but got {out[1].dtype.c_name}"
        )
    return store("frexp", out, result)


# -- times a power of two -----------------------------------------------------------------------


@operator(promote="float", elementwise=True, inplace=True, out=True, numbers=False)
@rounded_once
def ldexp(self: Array, other: Array) -> Array:
    """self * 2 ** other (torch.ldexp)."""
    return self * np.exp2(other)


ldexp.composes(lambda self, other: refuses("pow")(other))
_copy, _in_place = Tensor.ldexp, Tensor.ldexp_


@function("ldexp")
def ldexp_copy(input, other, *, out=None):
    """`ldexp`; torch resizes a copy of floating numbers for an exponent of integers, with a
    warning."""
    shape = input._raw.shape
    floating = input.dtype.category >= FLOATING
    if out is not None:
        refuse_links("ldexp", input, other, out)
        _check_cast(out)
        return ldexp.call_out(out, (input, other))
    if floating and other.dtype.category < FLOATING and input._raw.size:
        common = broadcast_shapes(shape, other._raw.shape)
        if common != shape:
            warn_resized(shape, common)
    return _copy(input, other)


@function("ldexp_")
def ldexp_in_place(self, other):
    """`ldexp` written into the tensor. Raises RuntimeError for integers (torch.Tensor.ldexp_)."""
    _check_cast(self)
    return _in_place(self, other)


def _check_cast(target: Tensor) -> None:
    if target.dtype.category < FLOATING:
        kind = target.dtype.legacy
        raise RuntimeError(f"ldexp can't be cast to the desired output type {kind}")


@ldexp.checked
def _refuse_bool_exponent(self, other) -> None:
    if BY_NUMPY[self.dtype].category == FLOATING:
        refuse_bool(other, "ldexp_cpu_exp")


@formula_operation
def power_of_two(exponent):
    """2 ** exponent in the exponent's dtype, or the default dtype where that is of integers."""
    if exponent.dtype.kind in "iub":
        exponent = exponent.astype(get_default_dtype().numpy)
    return array_ops.pow_of_scalar(exponent.dtype.type(2), exponent)


tensor_ops.power_of_two = lambda exponent: tensor_ops.pow_of_scalar(2.0, exponent)


def _with_power_in_rows(args):
    """The operands' layouts for `ldexp`; torch makes the power of two in row-major memory."""
    tensor, exponent = args
    shape = exponent._raw.shape
    return [(tensor._raw.shape, tensor.stride()), (shape, contiguous_strides(shape))]


ldexp.laid_out_as(_with_power_in_rows)
ldexp.gradient(
    self=lambda F, grad, other: grad * F.conj(F.power_of_two(other)),
    other=lambda F, grad, result_conj: F.mul_scalar(grad * result_conj, math.log(2)),
)
ldexp.forward(
    lambda F, self_t, other_t, other, result: (
        self_t * F.power_of_two(other) + F.mul_scalar(other_t * result, math.log(2))
    )
)


# -- angles -------------------------------------------------------------------------------------


@operator(
    writes=1,
    node="Deg2RadBackward0",
    promote="float",
    elementwise=True,
    inplace=True,
    out=True,
    complex=NoComplex(text="deg2rad is not supported for complex tensors."),
)
@rounded_once
def deg2rad(self: Array) -> Array:
    """Radians of degrees (torch.deg2rad)."""
    return self * self.dtype.type(math.pi / 180)


@operator(
    writes=1,
    node="Rad2DegBackward0",
    promote="float",
    elementwise=True,
    inplace=True,
    out=True,
    complex=NoComplex(text="rad2deg is not supported for complex tensors."),
)
@rounded_once
def rad2deg(self: Array) -> Array:
    """Degrees of radians (torch.rad2deg)."""
    return self * self.dtype.type(180 / math.pi)


for _op in (deg2rad, rad2deg):
    _op.laid_out_as(copied_layout)
deg2rad.composes(refuses("deg2rad"))
rad2deg.composes(refuses("rad2deg"))
deg2rad.gradient(self=lambda F, grad: F.mul_scalar(grad, math.pi / 180))
rad2deg.gradient(self=lambda F, grad: F.mul_scalar(grad, 180 / math.pi))
