"""What the decompositions of matrices into eigenvalues and singular values share."""

from __future__ import annotations

import numpy as np

from impl import forward
from impl.modes import STATE
from impl.operator import RAW, TAPED, formula_operation
from impl.tensor import Tensor, requires_grad


def first_not_finite(A: np.ndarray) -> int:
    """The number of the first matrix of a batch that holds an infinity or NaN; -1 if none does."""
    broken = ~np.isfinite(A).all((-2, -1)).reshape(-1)
    return int(broken.argmax()) if broken.any() else -1


def batch_element(A: np.ndarray, number: int) -> str:
    """How torch's messages name one matrix of a batch, if it is a batch."""
    return f"(Batch element {number}): " if A.ndim > 2 else ""


def differentiated(A: Tensor) -> bool:
    """Whether a gradient or a tangent may be asked for, so that what only derivatives need must be
    computed."""
    return (STATE.enabled and requires_grad(A)) or forward.of(A) is not None


# -- operations of formulas ---------------------------------------------------------------------


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


def _with_diagonal(value: Tensor, diagonal) -> Tensor:
    place = TAPED.diagonal(value, 0, -2, -1)
    place.zero_() if diagonal is None else place.copy_(diagonal)
    return value


@formula_operation
def are_close(one, other) -> bool:
    """Whether values agree within a hundredth, with which torch asks whether a loss is free of the
    phases of eigenvectors or singular vectors."""
    return np.allclose(one, other, rtol=1e-2, atol=1e-2)


TAPED.with_diagonal_of_ones = _with_diagonal_of_ones
TAPED.with_diagonal = _with_diagonal
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
