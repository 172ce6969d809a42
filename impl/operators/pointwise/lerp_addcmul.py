"""Weighted sums, element by element: lerp, addcmul, addcdiv."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING, get_default_dtype, result_dtype
from impl.core.registry import FUNCTIONS, array_ops
from impl.core.sizes import broadcast_shapes
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.formula_helpers import times
from impl.dispatch.not_implemented import refuse_bool, refuse_integers
from impl.dispatch.out import refuse_links, same_dtype_out
from impl.kernels.casting import check_numbers, storable, without_imaginary_part
from impl.kernels.fused_multiply_add import product_plus
from impl.kernels.reduced_precision import rounded_once
from impl.tensor.tensor import Tensor


def _between(start, end, weight):
    # Computed from the nearer end, so that weight 1 gives exactly `end` (ATen's lerp).
    step = end - start
    if step.dtype != np.float32:
        return np.where(np.abs(weight) < 0.5, start + weight * step, end - step * (1 - weight))
    weight = np.asarray(weight, step.dtype)
    near = np.abs(weight) < 0.5
    return product_plus(step, np.where(near, weight, weight - 1), np.where(near, start, end))


@operator(node="LerpBackward0", elementwise=True, function=False, method=False, torch_name="lerp")
@rounded_once
def lerp_number(self: Array, end: Array, weight) -> Array:
    refuse_integers(self, "lerp_kernel_scalar")
    return _between(self, end, without_imaginary_part(weight, self.dtype)).astype(self.dtype)


@operator(
    node="LerpBackward1",
    promote="arithmetic",
    elementwise=True,
    function=False,
    method=False,
    torch_name="lerp",
    numbers=False,
)
@rounded_once
def lerp_tensor(self: Array, end: Array, weight: Array) -> Array:
    refuse_integers(self, "lerp_kernel_tensor")
    return _between(self, end, weight).astype(self.dtype)


@lerp_number.checked
def _check_lerp(self, end, weight) -> None:
    for name, value in (("end", end), ("weight", weight)):
        d = getattr(value, "dtype", self.dtype)
        if d != self.dtype and (name == "end" or value.ndim):  # a 0-dim weight is promoted
            raise RuntimeError(
                f"expected dtype {BY_NUMPY[self.dtype].c_name} for `{name}` but got dtype "
                f"{BY_NUMPY[d].c_name}"
            )
    if self.dtype.kind not in "iub" and not isinstance(weight, (np.ndarray, np.generic)):
        _check_number(self.dtype, weight, self, end)


def _check_number(dtype: np.dtype, number, *operands) -> None:
    """Raise RuntimeError as `check_numbers` does, but first for shapes that do not broadcast."""
    try:
        check_numbers(dtype, number)
    except RuntimeError:
        broadcast_shapes(*map(np.shape, operands))
        raise


lerp_tensor.checked(_check_lerp)


lerp_number.gradient(
    self=lambda F, grad, weight_conj: F.mul_scalar(grad, 1 - weight_conj),
    end=lambda F, grad, weight_conj: F.mul_scalar(grad, weight_conj),
)
lerp_tensor.gradient(
    self=lambda F, grad, weight: grad * F.conj(F.sub(1, weight)),
    end=lambda F, grad, weight_conj: grad * weight_conj,
    weight=lambda F, grad, self, end: grad * F.conj(end - self),
)
lerp_number.forward("linear")
lerp_tensor.forward(
    lambda F, self_t, self, end_t, end, weight_t, weight: (
        F.lerp_tensor(self_t, end_t, weight) + weight_t * (end - self)
    )
)
lerp_number.casts_out(True)
lerp_tensor.checks_out(same_dtype_out)


@function()
def lerp(input, end, weight, *, out=None):
    """input + weight * (end - input), `weight` a number or a tensor (torch.lerp).

    Raises RuntimeError for different dtypes.
    """
    if out is not None and isinstance(weight, Tensor) and not weight._raw.ndim:
        refuse_links("lerp", input, end, weight, out)
        weight = weight.item()
    op = lerp_tensor if isinstance(weight, Tensor) else lerp_number
    return op(input, end, weight) if out is None else op.call_out(out, (input, end, weight))


@function()
def lerp_(input, end, weight):
    """`lerp` in place."""
    op = lerp_tensor if isinstance(weight, Tensor) else lerp_number
    return op.inplace(input, end, weight)


@operator(
    promote="arithmetic",
    elementwise=True,
    inplace=True,
    out=True,
    numbers=False,
    validated_numbers=("value",),
    takes_real_part=True,
)
@rounded_once
def addcmul(self: Array, tensor1: Array, tensor2: Array, *, value=1) -> Array:
    """self + value * tensor1 * tensor2 (torch.addcmul)."""
    refuse_bool(self, "addcmul_cpu_out")
    if self.dtype.kind in "iu":
        value = storable(value, self.dtype)
    value = without_imaginary_part(value, self.dtype)
    return product_plus(tensor1 if value == 1 else value * tensor1, tensor2, self)


@addcmul.checked
def _check_addcmul(self, tensor1, tensor2, value) -> None:
    d = result_dtype([self, tensor1, tensor2]).numpy
    if d.kind != "b":
        _check_number(d, value, self, tensor1, tensor2)


addcmul.gradient(
    self=lambda F, grad: grad,
    tensor1=lambda F, grad, tensor2, value: grad * F.conj(F.mul_scalar(tensor2, value)),
    tensor2=lambda F, grad, tensor1, value: grad * F.conj(F.mul_scalar(tensor1, value)),
)
addcmul.forward(
    lambda F, self_t, tensor1_t, tensor1, tensor2_t, tensor2, value: (
        self_t + times(F, tensor1_t * tensor2, value) + times(F, tensor2_t * tensor1, value)
    )
)


@operator(
    promote="arithmetic",
    elementwise=True,
    inplace=True,
    out=True,
    numbers=False,
    validated_numbers=("value",),
    takes_real_part=True,
)
@rounded_once
def addcdiv(self: Array, tensor1: Array, tensor2: Array, *, value=1) -> Array:
    """self + value * tensor1 / tensor2 (torch.addcdiv). Raises RuntimeError for integers."""
    return self + without_imaginary_part(value, self.dtype) * tensor1 / tensor2


@addcdiv.checked
def _check_addcdiv(self, tensor1, tensor2, value) -> None:
    if tensor1.dtype.kind in "iub" and tensor2.dtype.kind in "iub":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
            "behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to("
            "input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float "
            "inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes."
        )
    d = result_dtype([self, tensor1, tensor2]).numpy
    _check_number(d, value, self, tensor1, tensor2)


def _to_divisor(F, grad, tensor1, tensor2, value):
    square = tensor2 * tensor2  # recorded before the product, as in torch's graph
    slope = F.conj(F.mul_scalar(tensor1, value) / square)
    return -grad * slope


addcdiv.gradient(
    self=lambda F, grad: grad,
    tensor1=lambda F, grad, tensor2, value: grad * F.conj(_over(F, value, tensor2)),
    tensor2=lambda F, grad, tensor1, tensor2, value: _to_divisor(F, grad, tensor1, tensor2, value),
)
addcdiv.forward(
    lambda F, self_t, tensor1_t, tensor1, tensor2_t, tensor2, value: (
        self_t
        + times(F, tensor1_t / tensor2, value)
        - times(F, tensor2_t * (tensor1 / tensor2) / tensor2, value)
    )
)


def _over(F, number, value):
    """A number divided by a value: torch divides a tensor of the value's dtype in place."""
    kind = BY_NUMPY[F.dtype_of(value)]
    if kind.category < FLOATING:
        made = get_default_dtype().legacy
        raise RuntimeError(
            f"result type {made} can't be cast to the desired output type {kind.legacy}"
        )
    if F is array_ops:
        return value.dtype.type(number) / value
    return FUNCTIONS["true_divide"](number, value)
