"""What the derivatives of factorisations and decompositions of matrices share."""

from __future__ import annotations

import numpy as np

from impl import forward
from impl.modes import STATE
from impl.operator import FUNCTIONS, RAW, TAPED, formula_operation
from impl.operators.arithmetic import mul_scalar
from impl.pending import conjugated, source_of
from impl.tensor import Tensor, requires_grad


def differentiated(A: Tensor) -> bool:
    """Whether a gradient or a tangent may be asked for, so that what only derivatives need must be
    computed."""
    return (STATE.enabled and requires_grad(A)) or forward.of(A) is not None


# -- operations of formulas ---------------------------------------------------------------------


@formula_operation
def adjoint_matrix(value):
    """The conjugate transpose of matrices."""
    return (conjugated(value) if value.dtype.kind == "c" else value).swapaxes(-1, -2)


@formula_operation
def matrix_product(left, right):
    """The product of matrices, whose batches broadcast."""
    return np.matmul(left, right)


@formula_operation
def is_lazy_adjoint(value) -> bool:
    """Whether matrices are a view of row-major ones that turns and conjugates them."""
    known = source_of(value) if value.dtype.kind == "c" else None
    return known is not None and known[1] and value.swapaxes(-1, -2).flags.c_contiguous


def _adjoint(value: Tensor) -> Tensor:
    turned = TAPED.transpose(value, -2, -1)
    return turned.conj() if value.is_complex() else turned


@formula_operation
def with_diagonal_of_ones(value):
    """A value nobody else holds, with ones on the diagonals of its matrices."""
    RAW.diagonal(value, 0, -2, -1)[...] = 1
    return value


def _with_diagonal_of_ones(value: Tensor) -> Tensor:
    TAPED.diagonal(value, 0, -2, -1).fill_(1)
    return value


@formula_operation
def with_diagonal(value, diagonal):
    """A value nobody else holds, with other diagonals; None stands for zeros."""
    RAW.diagonal(value, 0, -2, -1)[...] = 0 if diagonal is None else diagonal
    return value


@formula_operation
def with_part_halved(value, part: str):
    """A value nobody else holds, of whose diagonals the "real" or the "imag" part is halved."""
    diagonal = RAW.diagonal(value, 0, -2, -1)
    place = getattr(diagonal, part) if value.dtype.kind == "c" else diagonal
    place *= 0.5
    return value


def _with_part_halved(value: Tensor, part: str) -> Tensor:
    place = TAPED.diagonal(value, 0, -2, -1)
    mul_scalar.inplace(FUNCTIONS[part](place) if value.is_complex() else place, 0.5)
    return value


def _with_diagonal(value: Tensor, diagonal) -> Tensor:
    place = TAPED.diagonal(value, 0, -2, -1)
    place.zero_() if diagonal is None else place.copy_(diagonal)
    return value


@formula_operation
def are_close(one, other) -> bool:
    """Whether values agree within a hundredth, with which torch asks whether a loss is free of the
    phases of eigenvectors or singular vectors."""
    return np.allclose(one, other, rtol=1e-2, atol=1e-2)


TAPED.adjoint_matrix = _adjoint
TAPED.matrix_product = lambda left, right: FUNCTIONS["matmul"](left, right)
TAPED.is_lazy_adjoint = lambda value: (
    value.is_conj() and TAPED.transpose(value, -2, -1).is_contiguous()
)
TAPED.with_diagonal_of_ones = _with_diagonal_of_ones
TAPED.with_diagonal = _with_diagonal
TAPED.with_part_halved = _with_part_halved
TAPED.are_close = lambda one, other: are_close(
    one._raw, other._raw if isinstance(other, Tensor) else other
)


def diagonals(F, value):
    """The diagonals of matrices, as the last dimension."""
    return F.diagonal(value, 0, -2, -1)


def gaps(F, values):
    """The differences of eigenvalues, those of a column less those of a row; ones on the diagonal,
    which is of no use to anybody, and by which nothing is to be divided."""
    return F.with_diagonal_of_ones(F.unsqueeze(values, -2) - F.unsqueeze(values, -1))
