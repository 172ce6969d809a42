"""Matrix products added to a tensor: addmm, addmv, addr, addbmm, baddbmm.

With beta 0 the added tensor is ignored, so that its NaNs do not propagate (torch.addmm).
"""

from __future__ import annotations

import functools

import numpy as np

from impl.core import messages
from impl.core.dims import existing_dim, require_dims
from impl.core.dtypes import BY_NUMPY, INTEGRAL, REDUCED, WIDE, result_dtype
from impl.core.registry import tensor_ops
from impl.core.sizes import check_expansion
from impl.core.warning import warn_once
from impl.dispatch.definition import Array, operator
from impl.dispatch.facts import MemoryOverlap, SavedAs
from impl.dispatch.formula_helpers import multiplied, times
from impl.kernels.casting import (
    check_numbers,
    converted,
    discards,
    storable,
    without_imaginary_part,
)
from impl.kernels.reduced_precision import widened
from impl.operators.pointwise.arithmetic import mul_scalar
from impl.operators.products.matmul import (
    bmm,
    c_name_of,
    check_batch_sizes,
    check_batches,
    check_matrices,
    left_gradient,
    legacy,
    matrices,
    mm,
    mv,
    no_bool,
    product,
    reject_vector_dtypes,
    reject_vector_sizes,
    right_gradient,
    same_batch_dtypes,
)
from impl.tensor.write import resize

SMALL = 400
"""Below this many multiplications for one matrix, a batch does not go to BLAS."""


def is_small(batch1, batch2) -> bool:
    """Whether the matrices of two batches are multiplied without BLAS."""
    return batch1.shape[1] * batch1.shape[2] * batch2.shape[2] < SMALL


def _scaled_sum(beta, base, alpha, term, blas: str = ""):
    """beta * base + alpha * term in the base's dtype; with beta 0 the base is ignored.

    The term may be in float32 where the base is half or bfloat16; then only the sum is rounded.
    For dtypes of the kinds `blas`, BLAS makes the term, which with alpha 0 it does not compute: its
    NaN does not propagate.
    """
    kind = base.dtype
    if BY_NUMPY[kind].category == INTEGRAL:
        beta, alpha = storable(beta, kind), storable(alpha, kind)
    else:
        check_numbers(kind, beta, alpha)
        beta, alpha = (without_imaginary_part(number, kind) for number in (beta, alpha))
    if kind in REDUCED:
        base = base.astype(term.dtype)
    if alpha == 0 and kind.kind in blas:
        term = np.zeros_like(term)
    scaled = term if alpha == 1 else term * alpha
    if beta == 0:
        return np.array(scaled, kind)
    return (scaled + (base if beta == 1 else base * beta)).astype(kind, copy=False)


def _blas_of(dtype) -> str:
    """The kinds of dtypes that BLAS has, unless half and bfloat16 are computed in float32."""
    return "" if dtype in REDUCED else "fc"


def _exact_product(a, b):
    """The product in the accumulation dtype, before rounding."""
    return np.matmul(widened(a), widened(b))


def expanded_base(base, shape, target=None):
    """The added tensor in the product's shape. Raises RuntimeError if it cannot be expanded."""
    check_expansion(base.shape, BY_NUMPY[base.dtype], shape)
    return np.broadcast_to(base, shape)


def _size(value, dim: int) -> int:
    """The size of a dimension. Raises IndexError where there is none."""
    return value.shape[existing_dim(dim, value.ndim)]


def _same_dtype(base, mat1, mat2) -> None:
    if base.dtype != mat2.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {legacy(base)} and {legacy(mat2)}"
        )
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {legacy(mat1)} and {legacy(mat2)}"
        )


def _shape(left, right) -> tuple[int, ...]:
    return (*left._raw.shape[:-1], right._raw.shape[-1])


def _writes(args) -> int:
    """ATen copies the tensor that is added into the result, or sets that to zero if there is no
    sum."""
    _, left, right, beta, _ = args
    if 0 in _shape(left, right):  # of which only batches are copied
        return int(beta != 0 and left._raw.ndim > 2)
    return int(beta != 0 or left._raw.shape[-1] == 0)


def _copies(args) -> int | None:
    """The place of the tensor that is added; expanded, it does not require grad."""
    self, left, right, beta, _ = args
    return 0 if beta != 0 and self._raw.shape == _shape(left, right) else None


def _scaled_copy(self, left, right, beta, alpha):
    """The copy, scaled in place, where there is no product to add."""
    if min(left._raw.ndim, right._raw.ndim) < 2:
        return NotImplemented
    shape = _shape(left, right)
    if beta == 0 or 0 in shape or left._raw.shape[-1] or right._raw.shape[-2]:
        return NotImplemented
    copy = (self if self._raw.shape == shape else self.expand(shape)).clone()
    return mul_scalar.inplace(copy, beta)


@operator(
    out=True,
    numbers=False,
    validated_numbers=("beta", "alpha"),
    autocast="lower_precision_fp",
    writes=_writes,
    copies=_copies,
    memory=MemoryOverlap(copied=True),
)
def addmm(self: Array, mat1: Array, mat2: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * (mat1 @ mat2), self broadcast to the product (torch.addmm).

    With beta 0, NaN in self does not propagate. Raises RuntimeError on ranks, sizes and dtypes.
    """
    kind = self.dtype
    if (  # the common case, a layer's bias
        kind in WIDE
        and mat1.dtype is kind
        and mat2.dtype is kind
        and beta == alpha == 1
        and mat1.ndim == mat2.ndim == 2
        and mat1.shape[1] == mat2.shape[0]
        and self.shape == (mat2.shape[1],)
    ):
        result = matrices(mat1, mat2)
        result += self
        return result
    _same_dtype(self, mat1, mat2)
    check_matrices("addmm", mat1, mat2)
    base = expanded_base(self, (mat1.shape[0], mat2.shape[1]))
    no_bool("addmm_impl_cpu_", mat1, mat2)
    return _scaled_sum(beta, base, alpha, _exact_product(mat1, mat2), blas=_blas_of(kind))


@functools.partial(addmm.structured, rereads=False)
def _addmm_meta(self, mat1, mat2, beta, alpha):
    _same_dtype(self, mat1, mat2)
    check_matrices("addmm", mat1, mat2)
    return (mat1.shape[0], mat2.shape[1]), self.dtype


addmm.gradient(
    self=lambda F, grad, beta: multiplied(F, grad, beta),
    mat1=lambda F, grad, mat2, mat1_layout, alpha: left_gradient(F, grad, mat2, mat1_layout, alpha),
    mat2=lambda F, grad, mat1, mat2_layout, alpha: right_gradient(
        F, grad, mat1, mat2_layout, alpha
    ),
)
addmm.forward(
    lambda F, self_t, mat1_t, mat1, mat2_t, mat2, beta, alpha: _weighted_sum(
        F, self_t, beta, alpha, F.mm(mat1_t, mat2), F.mm(mat1, mat2_t)
    )
)


@operator(
    out=True,
    numbers=False,
    validated_numbers=("beta", "alpha"),
    memory=MemoryOverlap(within=True, copied=True),
)
def addmv(self: Array, mat: Array, vec: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * (mat @ vec), self broadcast to the product (torch.addmv)."""
    _addmv_meta(self, mat, vec, beta, alpha)
    no_bool("addmv_impl_cpu", mat, vec)
    base, kind = np.broadcast_to(self, mat.shape[:1]), self.dtype
    if kind in REDUCED:
        beta, alpha = storable(beta, kind), np.float32(storable(alpha, kind))
        base = base if beta == 1 else base * beta
        return _scaled_sum(1 if beta else 0, base, alpha, _exact_product(mat, vec))
    return _scaled_sum(beta, base, alpha, product(mat, vec), blas="f")


@addmv.structured
def _addmv_meta(self, mat, vec, beta, alpha):
    if mat.ndim != 2 or vec.ndim != 1 or self.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}"
        )
    if mat.shape[1] != vec.shape[0] or self.size not in (1, mat.shape[0]):
        require_dims(0, self.ndim)
        reject_vector_sizes(self.size, mat, vec)
    if not self.dtype == mat.dtype == vec.dtype:
        reject_vector_dtypes(self, mat, vec)
    return mat.shape[:1], vec.dtype


addmv.gradient(
    self=lambda F, grad, beta: multiplied(F, grad, beta),
    mat=lambda F, grad, vec_conj, alpha: multiplied(F, F.outer(grad, vec_conj), alpha),
    vec=lambda F, grad, mat, alpha: multiplied(F, F.mv(F.conj(F.t(mat)), grad), alpha),
)
addmv.forward(
    lambda F, self_t, mat_t, mat, vec_t, vec, beta, alpha: _weighted_sum(
        F, self_t, beta, alpha, F.mv(mat_t, vec), F.mv(mat, vec_t)
    )
)


def check_vectors(vec1, vec2) -> None:
    for name, value in (("vec1", vec1), ("vec2", vec2)):
        if value.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {value.ndim}-D")


@operator(
    out=True, numbers=False, validated_numbers=("beta", "alpha"), elementwise=True, batching="none"
)
def addr(self: Array, vec1: Array, vec2: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * outer(vec1, vec2), self broadcast to it (torch.addr)."""
    check_vectors(vec1, vec2)
    base = expanded_base(self, (vec1.shape[0], vec2.shape[0]))
    kind = result_dtype([base, vec1, vec2]).numpy
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if BY_NUMPY[kind].category <= INTEGRAL and isinstance(factor, float):
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
        if kind != np.bool_ and isinstance(factor, bool):
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    column, row, base = vec1.astype(kind), vec2.astype(kind), base.astype(kind)
    if kind in REDUCED:  # rounded at each step
        term = np.multiply.outer(column * storable(alpha, kind), row)
        return base * storable(beta, kind) + term if beta else term
    return _scaled_sum(beta, base, alpha, np.multiply.outer(column, row))


def _addr_layouts(args):
    """The operands as element-wise kernels read them: a matrix, a column and a row."""
    base, column, row = args[:3]
    n, m = column._raw.shape[0], row._raw.shape[0]
    return [
        (base._raw.shape, base.stride()),
        ((n, 1), (column.stride(0), 0)),
        ((1, m), (0, row.stride(0))),
    ]


addr.laid_out_as(_addr_layouts)
addr.gradient(
    self=lambda F, grad, beta: multiplied(F, grad, beta),
    vec1=lambda F, grad, vec2_conj, alpha: multiplied(F, F.mv(grad, vec2_conj), alpha),
    vec2=lambda F, grad, vec1_conj, alpha: multiplied(F, F.mv(F.t(grad), vec1_conj), alpha),
)
addr.forward(
    lambda F, self_t, vec1_t, vec1, vec2_t, vec2, beta, alpha: _weighted_sum(
        F, self_t, beta, alpha, F.outer(vec1_t, vec2), F.outer(vec1, vec2_t)
    )
)


@operator(
    out=True,
    numbers=False,
    validated_numbers=("beta", "alpha"),
    autocast="lower_precision_fp",
    saved_as=SavedAs(
        parts=("batch1_sym_argsize_0", "batch1_sym_argsize_1", "batch2_sym_argsize_2")
    ),
    grows=True,
    memory=MemoryOverlap(copied=True),
)
def addbmm(self: Array, batch1: Array, batch2: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * the sum over the batch of batch1 @ batch2 (torch.addbmm)."""
    base = _addbmm_base(self, batch1, batch2)
    if not len(batch1):  # there is no product whose dtype would be looked at
        return _scaled_sum(beta, base, 1, np.zeros_like(base))
    _same_dtype(self, batch1, batch2)
    no_bool("addmm_impl_cpu_", batch1, batch2)
    if self.dtype in REDUCED:  # one matrix product after another, each partial sum rounded
        for left, right in zip(batch1, batch2, strict=True):
            base = _scaled_sum(beta, base, alpha, _exact_product(left, right))
            beta = 1
        return base
    total = np.matmul(batch1, batch2).sum(0, dtype=self.dtype)
    return _scaled_sum(beta, base, alpha, total, blas="fc")


def _addbmm_base(self, batch1, batch2):
    """The added tensor in the product's shape. Raises RuntimeError for shapes that do not fit."""
    base = expanded_base(self, (_size(batch1, 1), _size(batch2, 2)))
    check_batches(batch1, batch2)
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            "batch1 and batch2 must have same number of batches, got "
            f"{batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        first, second = ("x".join(map(str, b.shape[1:])) for b in (batch1, batch2))
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({first} and {second})")
    return base


@addbmm.prepares_out
def _copy_base(out, self, batch1, batch2, beta, alpha):
    """Copy the added tensor to `out=`, to which one matrix product after the other is added."""
    base = _addbmm_base(self, batch1, batch2)
    resize(out, base.shape)
    if beta == 0:
        return [np.zeros(base.shape, out._raw.dtype), batch1, batch2, beta, alpha]
    if discards(base.dtype, out._raw.dtype) and base.size:
        warn_once(messages.DISCARDED)
    return [converted(base, out._raw.dtype), batch1, batch2, beta, alpha]


def _spread(F, grad, batch1_shape, batch2_shape):
    return F.expand(F.unsqueeze(grad, 0), (batch1_shape[0], batch1_shape[1], batch2_shape[2]))


addbmm.gradient(
    self=lambda F, grad, beta: multiplied(F, grad, beta),
    batch1=lambda F, grad, batch2, batch1_shape, batch2_shape, alpha: multiplied(
        F,
        F.bmm(_spread(F, grad, batch1_shape, batch2_shape), F.conj(F.transpose(batch2, 1, 2))),
        alpha,
    ),
    batch2=lambda F, grad, batch1, batch1_shape, batch2_shape, alpha: multiplied(
        F,
        F.bmm(F.conj(F.transpose(batch1, 1, 2)), _spread(F, grad, batch1_shape, batch2_shape)),
        alpha,
    ),
)
addbmm.forward(
    lambda F, self_t, batch1_t, batch1, batch2_t, batch2, beta, alpha: _weighted_sum(
        F,
        self_t,
        beta,
        alpha,
        F.sum_dim(F.bmm(batch1_t, batch2), (0,)),
        F.sum_dim(F.bmm(batch1, batch2_t), (0,)),
    )
)


@operator(
    out=True,
    numbers=False,
    validated_numbers=("beta", "alpha"),
    autocast="lower_precision_fp",
    writes=_writes,
    copies=_copies,
    memory=MemoryOverlap(within=True, operands="none", copied=True),
)
def baddbmm(self: Array, batch1: Array, batch2: Array, *, beta=1, alpha=1) -> Array:
    """beta * self + alpha * (batch1 @ batch2) matrix by matrix (torch.baddbmm)."""
    base = _baddbmm_base(self, batch1, batch2)
    same_batch_dtypes(batch1, batch2)
    no_bool("baddbmm", batch1, batch2)
    if self.dtype != batch2.dtype:  # of which one has no element, so that the product is zero
        base = converted(base, batch2.dtype)
        return _scaled_sum(beta, base, alpha, np.zeros_like(base))
    blas = "" if is_small(batch1, batch2) else _blas_of(self.dtype)
    result = _scaled_sum(beta, base, alpha, _exact_product(batch1, batch2), blas)
    return result if result.size else np.empty(result.shape, batch2.dtype)


def _baddbmm_base(self, batch1, batch2):
    """The added tensor in the product's shape. Raises RuntimeError for operands that do not fit."""
    base = expanded_base(self, (_size(batch1, 0), _size(batch1, 1), _size(batch2, 2)))
    if self.dtype != batch1.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {c_name_of(self)}, batch1: "
            f"{c_name_of(batch1)}, batch2: {c_name_of(batch2)}"
        )
    check_batches(batch1, batch2)
    check_batch_sizes(batch1, batch2)
    return base


@functools.partial(baddbmm.structured, rereads=False)
def _baddbmm_meta(self, batch1, batch2, beta, alpha):
    return _baddbmm_base(self, batch1, batch2).shape, batch2.dtype


baddbmm.gradient(
    self=lambda F, grad, beta: multiplied(F, grad, beta),
    batch1=lambda F, grad, batch2, alpha: multiplied(
        F, F.bmm(grad, F.conj(F.transpose(batch2, 1, 2))), alpha
    ),
    batch2=lambda F, grad, batch1, alpha: multiplied(
        F, F.bmm(F.conj(F.transpose(batch1, 1, 2)), grad), alpha
    ),
)
baddbmm.forward(
    lambda F, self_t, batch1_t, batch1, batch2_t, batch2, beta, alpha: _weighted_sum(
        F, self_t, beta, alpha, F.bmm(batch1_t, batch2), F.bmm(batch1, batch2_t)
    )
)


def _weighted_sum(F, first, beta, alpha, *others):
    total = first if beta == 1 else F.mul_scalar(first, beta)
    for term in others:
        total = total + (term if alpha == 1 else F.mul_scalar(term, alpha))
    return total


# -- batches ------------------------------------------------------------------------------------


def _composed(op, product) -> None:
    """State the batching rule: the sum of the weighted first operand and the weighted product."""

    @op.batches
    def of_batch(args, level):
        base, left, right, beta, alpha = args
        term = times(tensor_ops, product(left, right), alpha)
        return tensor_ops.mul_scalar(base, beta) + term


addmm.composes(_scaled_copy)
baddbmm.composes(_scaled_copy)
_composed(addmm, mm)
_composed(addmv, mv)
_composed(baddbmm, bmm)
