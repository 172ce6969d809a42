"""Refusals in torch's words: kernels and derivatives that it does not implement."""

from __future__ import annotations

from impl.core import messages
from impl.core.dtypes import BY_NUMPY, FLOATING, REDUCED, dtype, int64
from impl.core.state import STATE
from impl.tensor.tensor import Tensor, requires_grad


def not_implemented(kernel: str, d: dtype) -> NotImplementedError:
    """torch's error for a dtype that its kernel of that name was not compiled for."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{d.legacy}'")


def refuse_meta(name: str, *values) -> None:
    """Raise NotImplementedError for a tensor of the meta device, given to the operator of that
    name, whose result has a shape, or is a number, that depends on elements."""
    if any(isinstance(value, Tensor) and value.is_meta for value in values):
        raise NotImplementedError(messages.NO_META_KERNEL.format(name))


def not_on_meta(name: str):
    """A kernel for the meta device that raises NotImplementedError as `refuse_meta` does."""

    def kernel(*args):
        raise NotImplementedError(messages.NO_META_KERNEL.format(name))

    return kernel


def no_primitive(name: str) -> RuntimeError:
    """oneDNN's error for operands that it has no kernel for."""
    return RuntimeError(
        f"could not create a primitive descriptor for the {name} forward propagation primitive. "
        "Run workload with environment variable ONEDNN_VERBOSE=all to get additional diagnostic "
        "information."
    )


def refuse_bool(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for a bool value."""
    if value.dtype.kind == "b":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def refuse_integers(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for integers and bools."""
    if value.dtype.kind in "iub":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def require_floating(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for all but floating values."""
    if value.dtype.kind in "iubc":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def require_full_precision(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for half and bfloat16 too."""
    if value.dtype in REDUCED:
        raise not_implemented(kernel, BY_NUMPY[value.dtype])
    require_floating(value, kernel)


def require_scalar_type(value, kind) -> None:
    """Raise RuntimeError for a value of another NumPy dtype than the `kind` that torch's kernel
    reads (data_ptr)."""
    if value.dtype != kind:
        expected, found = BY_NUMPY[kind].legacy, BY_NUMPY[value.dtype].legacy
        raise RuntimeError(f"expected scalar type {expected} but found {found}")


def require_long(name: str, index) -> None:
    """Raise RuntimeError for an index of another dtype than int64."""
    if index.dtype != int64.numpy:
        legacy = BY_NUMPY[index.dtype].legacy
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {legacy}")


def require_same_dtype(value, kind) -> None:
    """Raise RuntimeError for a value of another NumPy dtype than the `kind` of the first operand of
    a kernel that casts nothing (TensorIterator's check_all_same_dtype)."""
    if value.dtype != kind:
        expected, found = BY_NUMPY[kind].legacy, BY_NUMPY[value.dtype].legacy
        raise RuntimeError(f"Found dtype {found} but expected {expected}")


def require_gradient_dtype(argument: str, value, kind) -> None:
    """Raise RuntimeError for a gradient of another NumPy dtype than the `kind` of the input of a
    pooling."""
    if value.dtype != kind:
        expected, found = BY_NUMPY[kind].c_name, BY_NUMPY[value.dtype].c_name
        raise RuntimeError(f"expected dtype {expected} for `{argument}` but got dtype {found}")


def refuse_gradient(name: str, argument: str, tensor, operands=()) -> None:
    """Raise RuntimeError for a tensor that requires grad where torch has no derivative for it,
    unless the `operands` are all inference tensors, which autograd does not see."""
    if tensor is None or not (STATE.enabled and requires_grad(tensor)):
        return
    if not operands or any(value is not None and not value._inference for value in operands):
        raise RuntimeError(
            f"The function '{name}' is not differentiable with respect to argument '{argument}'. "
            "This input cannot have requires_grad True."
        )


def refuse_integer_result(input, dtype) -> None:
    """Raise RuntimeError for a `dtype` without gradients asked of a tensor that requires grad."""
    if dtype is not None and dtype.category < FLOATING and STATE.enabled and requires_grad(input):
        raise undifferentiable_dtype(dtype)


def undifferentiable_dtype(dtype) -> RuntimeError:
    """The error for a result without gradients of a tensor that requires grad."""
    return RuntimeError(f"Autograd not support dtype: {dtype.legacy}")


def refuse_integer_input(args, dtype) -> None:
    """Raise RuntimeError for an integer result of integers that require grad.

    They do where torch recorded a write to them.
    """
    for value in args:
        integers = isinstance(value, Tensor) and value.dtype.category < FLOATING
        if integers and requires_grad(value):
            raise undifferentiable_dtype(dtype)


def refuse_complex(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for a complex value."""
    if value.dtype.kind == "c":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


def no_derivative(name: str):
    """A formula for the operator `name`, which torch records but cannot differentiate.

    Raises RuntimeError when it runs.
    """

    def refuse(F, grad):
        raise RuntimeError(messages.UNDIFFERENTIABLE.format(f"aten::{name}"))

    refuse.operator = name  # type: ignore[attr-defined]
    return refuse


def not_differentiated(name: str):
    """A formula for an input by which torch's own formula refuses to differentiate.

    `name` is torch's name for it. Raises NotImplementedError when it runs.
    """

    def refuse(F, grad):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return refuse


def check_floating(name: str, A, low_precision: bool = True) -> None:
    """Raise NotImplementedError for integers, and for half and bfloat16 unless `low_precision`."""
    d = BY_NUMPY[A.dtype]
    if d.category < FLOATING:
        raise NotImplementedError(
            f"{name}: Expected a floating point or complex tensor as input. Got {d.legacy}"
        )
    if not low_precision and A.dtype in REDUCED:
        raise NotImplementedError(f"{name}: Low precision dtypes not supported. Got {d.legacy}")


_OF_KERNELS = (
    '" not implemented for ',
    "alpha ",
    "ZeroDivisionError",
    "value cannot be converted",
    "reduce argument must be either add",
)


def of_kernel(error: Exception) -> bool:
    """Whether torch raises an error in the kernel, after its look at shapes, dtypes and memory."""
    return hasattr(error, "written") or any(text in str(error) for text in _OF_KERNELS)
