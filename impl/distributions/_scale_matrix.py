"""A positive definite scale matrix, given as itself, as its inverse or as its Cholesky factor.

Distributions keep the factor of the given matrix, without the batch dimensions of their other
parameters, as `_unbroadcasted_scale_tril`, and compute the other matrices from it when they are
read.
"""

from __future__ import annotations

import math
from typing import Any

from impl import linalg
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions.utils import lazy_property
from impl.tensor.tensor import Tensor

NAMES = ("covariance_matrix", "precision_matrix", "scale_tril")

LOG_TWO_PI = math.log(2 * math.pi)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower Cholesky factor of the inverse of the matrices `P`.

    With the order of rows and columns reversed, the factor of P is upper triangular, and its
    inverse transposed the factor of the inverse.
    """
    reversed_factor = linalg.cholesky(C.flip(P, (-2, -1)))
    upper = C.transpose(C.flip(reversed_factor, (-2, -1)), -2, -1)
    identity = C.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return linalg.solve_triangular(upper, identity, upper=False)


def cholesky_factor(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance that the parameter of that name describes."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return linalg.cholesky(matrix)
    return _precision_to_scale_tril(matrix)


def one_given(
    covariance_matrix: Tensor | None,
    precision_matrix: Tensor | None,
    scale_tril: Tensor | None,
    error: type[Exception],
) -> tuple[str, Tensor]:
    """The one matrix that is not None, with its name; raises `error` unless there is just one."""
    matrices = zip(NAMES, (covariance_matrix, precision_matrix, scale_tril), strict=True)
    given = [(name, matrix) for name, matrix in matrices if matrix is not None]
    if len(given) != 1:
        raise error(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    return given[0]


def half_log_det(factor: Any) -> Any:
    """The logarithm of the determinant of the matrices that triangular `factor`s belong to, halved:
    that of the factors themselves."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def matrix_shape(distribution) -> Size:
    """The shape of the matrices of a distribution, with those of all its batch."""
    n = distribution._event_shape[-1]
    return distribution._batch_shape + Size((n, n))


def expand_matrices(new, distribution) -> None:
    """Set the matrices that a distribution has computed, or was given, expanded, on `new`."""
    for name in NAMES:
        if name in vars(distribution):
            setattr(new, name, getattr(distribution, name).expand(matrix_shape(new)))


@lazy_property
def scale_tril(self) -> Tensor:
    """The lower Cholesky factor of the covariance, of shape `batch_shape + (n, n)`."""
    return self._unbroadcasted_scale_tril.expand(matrix_shape(self))


@lazy_property
def covariance_matrix(self) -> Tensor:
    """The covariance, of shape `batch_shape + (n, n)`."""
    factor = self._unbroadcasted_scale_tril
    return C.matmul(factor, factor.mT).expand(matrix_shape(self))
