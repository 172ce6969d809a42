"""Matrix operations shared by the derivatives of factorisations and decompositions."""

from __future__ import annotations

import numpy as np

from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.core.state import STATE
from impl.dispatch.definition import formula_operation
from impl.operators.pointwise.arithmetic import mul_scalar
from impl.operators.products.matmul import check_alike, same_batch_dtypes
from impl.tensor import forward_grad
from impl.tensor.lazy_conj import conjugated, source_of
from impl.tensor.tensor import Tensor, requires_grad


def differentiated(A: Tensor) -> bool:
    """Whether a gradient or a tangent of A may be computed, which needs the complete factors."""
    return (STATE.enabled and requires_grad(A)) or forward_grad.has_tangent(A)


# -- operations of formulas ---------------------------------------------------------------------


@formula_operation
def adjoint_matrix(value):
    """The conjugate transpose of matrices."""
    return (conjugated(value) if value.dtype.kind == "c" else value).swapaxes(-1, -2)


@formula_operation
def matrix_product(left, right):
    """The product of matrices, whose batches broadcast."""
    if left.dtype != right.dtype:
        (check_alike if left.ndim == right.ndim == 2 else same_batch_dtypes)(left, right)
    return np.matmul(left, right)


@formula_operation
def is_lazy_adjoint(value) -> bool:
    """Whether matrices are a lazily conjugated transpose of row-major ones."""
    known = source_of(value) if value.dtype.kind == "c" else None
    return known is not None and known[1] and value.swapaxes(-1, -2).flags.c_contiguous


def _adjoint(value: Tensor) -> Tensor:
    turned = tensor_ops.transpose(value, -2, -1)
    return turned.conj() if value.is_complex() else turned


@formula_operation
def with_diagonal_of_ones(value):
    """The value, which has no other reference, with ones written on the diagonals of its
    matrices."""
    array_ops.diagonal(value, 0, -2, -1)[...] = 1
    return value


def _with_diagonal_of_ones(value: Tensor) -> Tensor:
    tensor_ops.diagonal(value, 0, -2, -1).fill_(1)
    return value


@formula_operation
def with_diagonal(value, diagonal):
    """The value, which has no other reference, with `diagonal` written into it; None writes
    zeros."""
    array_ops.diagonal(value, 0, -2, -1)[...] = 0 if diagonal is None else diagonal
    return value


@formula_operation
def with_part_halved(value, part: str):
    """The value, which has no other reference, with the "real" or "imag" part of its diagonals
    halved."""
    diagonal = array_ops.diagonal(value, 0, -2, -1)
    place = getattr(diagonal, part) if value.dtype.kind == "c" else diagonal
    place *= 0.5
    return value


def _with_part_halved(value: Tensor, part: str) -> Tensor:
    place = tensor_ops.diagonal(value, 0, -2, -1)
    mul_scalar.inplace(FUNCTIONS[part](place) if value.is_complex() else place, 0.5)
    return value


def _with_diagonal(value: Tensor, diagonal) -> Tensor:
    place = tensor_ops.diagonal(value, 0, -2, -1)
    place.zero_() if diagonal is None else place.copy_(diagonal)
    return value


@formula_operation
def are_close(one, other) -> bool:
    """Whether values agree within torch's tolerance for a loss that must not depend on the phases
    of eigenvectors or singular vectors."""
    return np.allclose(one, other, rtol=1e-2, atol=1e-2)


tensor_ops.adjoint_matrix = _adjoint
tensor_ops.matrix_product = lambda left, right: FUNCTIONS["matmul"](left, right)
tensor_ops.is_lazy_adjoint = lambda value: (
    value.is_conj() and tensor_ops.transpose(value, -2, -1).is_contiguous()
)
tensor_ops.with_diagonal_of_ones = _with_diagonal_of_ones
tensor_ops.with_diagonal = _with_diagonal
tensor_ops.with_part_halved = _with_part_halved
tensor_ops.are_close = lambda one, other: are_close(
    one._raw, other._raw if isinstance(other, Tensor) else other
)


def diagonals(F, value):
    """The diagonals of matrices, as the last dimension."""
    return F.diagonal(value, 0, -2, -1)


def gaps(F, values):
    """The denominators of eigenvector derivatives: value of the column minus value of the row, ones
    on the diagonal, where the quotient is not used."""
    return F.with_diagonal_of_ones(differences(F, values))


def differences(F, values):
    """Value of the column minus value of the row: zeros on the diagonal, by which tangents of
    eigenvectors are divided, so that their gradient is NaN (FIND-60)."""
    return F.unsqueeze(values, -2) - F.unsqueeze(values, -1)
