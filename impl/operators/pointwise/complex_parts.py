"""Complex numbers: conjugates, real and imaginary parts, and numbers made from both."""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY, COMPLEX, FLOATING, bfloat16, bool_, complex_of, real_of
from impl.core.inference_mode import refuses
from impl.core.registry import FUNCTIONS, OPERATORS, array_ops, tensor_ops
from impl.core.storage import address, owner_of
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, formula_operation, function, operator
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.out import named_out, same_dtype_out, store
from impl.dispatch.record import store_underived
from impl.dispatch.view_operator import Rereading
from impl.tensor import lazy_conj
from impl.tensor.aliases import alias
from impl.tensor.batched_tensor import physical
from impl.tensor.geometry import Geometry, geometry, of_pairs
from impl.tensor.lazy_conj import conj_neg_bits, with_bits
from impl.tensor.memory_overlap import check_memory
from impl.tensor.tensor import Tensor


def rereading(node: str, kernel):
    """Define a view that reinterprets memory: another dtype, or the conj or neg bit flipped.

    The decorated function makes the alias of a tensor; `kernel` does the same to an array in
    formulas.
    """

    def define(reread) -> Rereading:
        op = Rereading(reread, kernel, node)
        op.name = reread.__name__
        OPERATORS[op.name] = op
        setattr(array_ops, op.name, kernel)
        setattr(tensor_ops, op.name, op)
        return op

    return define


def _is_complex(tensor: Tensor) -> bool:
    return BY_NUMPY[tensor._raw.dtype].category == COMPLEX


@formula_operation
def is_complex(value) -> bool:
    """Whether a value of a formula is complex."""
    return value.dtype.kind == "c"


tensor_ops.is_complex = _is_complex


@function(method=False)
def isreal(input):
    """Where the imaginary part is zero (torch.isreal)."""
    return input.imag == 0 if _is_complex(input) else FUNCTIONS["ones_like"](input, dtype=bool_)


Tensor.isreal = isreal


# -- conjugates and negatives -------------------------------------------------------------------


@rereading("ConjBackward0", lambda self: lazy_conj.conjugated(self))
def conj_view(tensor: Tensor) -> Tensor:
    conjugated, negated = conj_neg_bits(tensor)
    return with_bits(alias(tensor, geometry(tensor)), not conjugated, negated)


@rereading("NegViewBackward0", lambda self: -self)
def neg_view(tensor: Tensor) -> Tensor:
    conjugated, negated = conj_neg_bits(tensor)
    return with_bits(alias(tensor, geometry(tensor)), conjugated, not negated)


conj_view.gradient(self=lambda F, grad: F.conj_view(grad))
neg_view.gradient(self=lambda F, grad: -grad)


@function("conj")
def conj(input):
    """A lazily conjugated view (conj bit); a real tensor is returned itself, and of a sparse one
    the conjugate is computed (torch.conj)."""
    if input.is_sparse:
        return conj_physical(input)
    return conj_view(input) if _is_complex(input) else input


@function("_neg_view")
def _neg_view(input):
    """A lazily negated view (neg bit; torch._neg_view)."""
    return neg_view(input)


@operator(node="ConjPhysicalBackward0", function=False, method=False, elementwise=True)
def conj_physical_copy(self: Array) -> Array:
    return np.conj(self) if self.dtype.kind == "c" else np.array(self)


@operator(node="ConjPhysicalBackward1", function=False, method=False, elementwise=True)
def conj_physical_inplace(self: Array) -> Array:
    return np.conj(self)


@operator(
    node="ConjPhysicalBackward1",
    function=False,
    method=False,
    elementwise=True,
    memory=MemoryOverlap(within=True),
)
def conj_physical_of_real(self: Array) -> Array:
    return np.array(self)


def _conj_physical_backward(F, grad):
    return F.conj_physical_copy(grad) if F.is_complex(grad) else grad


for _op in (conj_physical_copy, conj_physical_inplace, conj_physical_of_real):
    _op.gradient(self=_conj_physical_backward).forward("linear")


@function()
def conj_physical(input, *, out=None):
    """The conjugate in new memory; a real tensor is returned itself (torch.conj_physical)."""
    if out is not None:
        return store_underived(
            "aten::conj_physical",
            (input,),
            out,
            lambda: _conjugated_apart(input, out),
            _store_copy,
        )
    return conj_physical_copy(input) if _is_complex(input) else input


def _conjugated_apart(input, out) -> Tensor:
    """The conjugate of a tensor that shares no part of its memory with `out=`."""
    if isinstance(out, Tensor):
        check_memory(out, [input])
    return conj_physical_copy(input)


def _store_copy(name: str, out, result: Tensor):
    if isinstance(out, Tensor):
        same_dtype_out(out._raw.dtype, result._raw)
    return store(name, out, result)


@function()
def conj_physical_(input):
    """Conjugate in place (torch.Tensor.conj_physical_)."""
    op = conj_physical_inplace if _is_complex(input) else conj_physical_of_real
    return op.inplace(input)


@function()
def is_conj(input) -> bool:
    """Whether the conj bit is set: reads conjugate (torch.is_conj)."""
    return conj_neg_bits(physical(input))[0]


@function()
def is_neg(input) -> bool:
    """Whether the neg bit is set: reads negate (torch.is_neg)."""
    return conj_neg_bits(physical(input))[1]


@function()
def resolve_conj(input):
    """The tensor itself, or a copy if its conj bit is set (torch.resolve_conj)."""
    return input.clone() if is_conj(input) else input


@function()
def resolve_neg(input):
    """The tensor itself, or a copy if its neg bit is set (torch.resolve_neg)."""
    return input.clone() if is_neg(input) else input


# -- numbers as pairs ---------------------------------------------------------------------------


def _pairs(self) -> np.ndarray:
    array = np.ascontiguousarray(self)
    parts = array.view(real_of(BY_NUMPY[array.dtype]).numpy)
    return parts.reshape(*np.shape(self), 2)


def _numbers(self) -> np.ndarray:
    array = np.ascontiguousarray(self)
    owner = owner_of(array)  # whose memory a gradient that is a view may have from an odd place on
    if owner is not None and (address(array) - address(owner)) // array.itemsize % 2:
        raise RuntimeError(messages.ODD_OFFSET)
    return array.view(complex_of(BY_NUMPY[array.dtype]).numpy).reshape(array.shape[:-1])


@rereading("ViewAsRealBackward0", _pairs)
def view_as_real(tensor: Tensor) -> Tensor:
    """A view of complex numbers as pairs of real ones: (...) becomes (..., 2)."""
    if not _is_complex(tensor):
        raise TypeError("view_as_real is only supported for complex tensors")
    if is_conj(tensor):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original."
        )
    shape, strides, offset = geometry(tensor)
    target = Geometry((*shape, 2), (*(2 * s for s in strides), 1), 2 * offset)
    return alias(tensor, target, real_of(tensor.dtype).numpy)


@rereading("ViewAsComplexBackward0", _numbers)
def view_as_complex(tensor: Tensor) -> Tensor:
    """A view of pairs of real numbers as complex ones: (..., 2) becomes (...)."""
    return alias(tensor, of_pairs(tensor), complex_of(tensor.dtype).numpy)


view_as_real.gradient(self=lambda F, grad: F.view_as_complex(F.contiguous(grad)))
view_as_complex.gradient(self=lambda F, grad: F.view_as_real(F.resolve_conj(F.contiguous(grad))))
FUNCTIONS["view_as_real"], FUNCTIONS["view_as_complex"] = view_as_real, fp32(view_as_complex)

array_ops.contiguous = array_ops.resolve_conj = lambda value: value  # done by the kernels above
tensor_ops.contiguous, tensor_ops.resolve_conj = lambda tensor: tensor.contiguous(), resolve_conj


# -- parts --------------------------------------------------------------------------------------


def real(input):
    """A view of the real part; a real tensor is returned as it is (torch.real)."""
    if not _is_complex(input):
        return input
    resolved = conj_view(input) if is_conj(input) else input
    return view_as_real(resolved).select(input._raw.ndim, 0)


def imag(input):
    """A view of the imaginary part (torch.imag). Raises TypeError for a real tensor."""
    if not _is_complex(input):
        raise TypeError("imag is not implemented for tensors with non-complex dtypes.")
    if is_conj(input):
        return neg_view(view_as_real(conj_view(input))).select(input._raw.ndim, 1)
    return view_as_real(input).select(input._raw.ndim, 1)


def _writing(part):
    def write(self, value) -> None:
        part(self).copy_(value)

    return write


for _part in (real, imag):
    function(_part.__name__, method=False)(_part)
    setattr(Tensor, _part.__name__, property(_part, _writing(_part)))


@formula_operation
def real_part(value):
    """The real part of a gradient; a real gradient is returned unchanged."""
    known = lazy_conj.source_of(value)
    source = np.asarray(value) if known is None or not known[1] else known[0]
    return source.real if source.dtype.kind == "c" else value


@formula_operation
def in_domain_of(gradient, value):
    """The real part of the gradient of a real value (ATen's handle_r_to_c): also of one that a hook
    unpacks in the place of a complex one."""
    real = gradient.dtype.kind == "c" and value.dtype.kind != "c"
    return real_part(gradient) if real else gradient


tensor_ops.in_domain_of = lambda gradient, value: (
    tensor_ops.real_part(gradient) if gradient.is_complex() and not value.is_complex() else gradient
)


@formula_operation
def imaginary_part(value):
    """The imaginary part of a gradient."""
    known = lazy_conj.source_of(value)
    if known is not None and known[1]:
        return lazy_conj.negated(known[0].imag)
    return np.asarray(value).imag


tensor_ops.real_part, tensor_ops.imaginary_part = real, imag


# -- numbers from parts -------------------------------------------------------------------------


@operator(function=False, method=False, node="ComplexBackward0", elementwise=True, writes=1)
def complex_of_parts(real: Array, imag: Array) -> Array:
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), _joined(real))
    result.real, result.imag = real, imag
    return result


@operator(writes=1, function=False, method=False, node="PolarBackward0", elementwise=True)
def polar_of_parts(abs: Array, angle: Array) -> Array:
    result = np.empty(np.broadcast_shapes(abs.shape, angle.shape), _joined(abs))
    result.real, result.imag = abs * np.cos(angle), abs * np.sin(angle)
    return result


def _joined(part) -> np.dtype:
    return complex_of(BY_NUMPY[part.dtype]).numpy


# torch saves the unused operands, too: its code generator takes the functions real and imag in the
# formulas for the operands of these names.
complex_of_parts.composes(refuses("complex"))
polar_of_parts.composes(refuses("polar"))
complex_of_parts.gradient(
    real=lambda F, grad, real: F.real_part(grad), imag=lambda F, grad, imag: F.imaginary_part(grad)
)


@polar_of_parts.gradients("abs", "angle")
def _polar_gradients(F, grad, result, needs):
    conjugated = F.conj(grad)
    return (
        F.real_part(conjugated * F.sgn(result)) if needs[0] else None,
        F.real_part(conjugated * F.mul_scalar(result, 1j)) if needs[1] else None,
    )


complex_of_parts.forward("linear")
polar_of_parts.forward(
    lambda F, abs_t, abs, angle_t, angle: F.complex_of_parts(
        abs_t * F.cos(angle) - angle_t * abs * F.sin(angle),
        abs_t * F.sin(angle) + angle_t * abs * F.cos(angle),
    )
)


def _check_parts(name: str, parts: dict, out) -> None:
    for place, (part, value) in enumerate(parts.items(), 1):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{name}(): argument '{part}' (position {place}) must be Tensor, "
                f"not {type(value).__name__}"
            )
    first, second = (BY_NUMPY[t._raw.dtype] for t in parts.values())
    if not all(d.category == FLOATING and d is not bfloat16 for d in (first, second)):
        raise NotImplementedError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{first.legacy} and {second.legacy}"
        )
    if first is not second:
        raise RuntimeError(
            f"Expected object of scalar type {first.legacy} but got scalar type {second.legacy} "
            "for second argument"
        )
    if out is not None and out.dtype is not complex_of(first):
        raise RuntimeError(
            f"Expected object of scalar type {complex_of(first).legacy} but got scalar type "
            f"{out.dtype.legacy} for argument 'out'"
        )


@function("complex", method=False)
@named_out("complex")
def complex_(real, imag, *, out=None):
    """Complex numbers from their parts (torch.complex).

    Raises RuntimeError unless both are of the same floating dtype.
    """
    _check_parts("complex", {"real": real, "imag": imag}, out)
    result = complex_of_parts(real, imag)
    return result if out is None else store("complex", out, result)


@function(method=False)
@fp32
@named_out("polar")
def polar(abs, angle, *, out=None):
    """Complex numbers from their lengths and angles (torch.polar).

    Raises RuntimeError unless both are of the same floating dtype.
    """
    _check_parts("polar", {"abs": abs, "angle": angle}, out)
    result = polar_of_parts(abs, angle)
    return result if out is None else store("polar", out, result)


__all__ = ["conj", "imag", "real"]
