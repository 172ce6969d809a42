"""Constraints of vectors and of matrices: the simplex, counts, triangles and Cholesky factors."""

from __future__ import annotations

from typing import Any

from impl import linalg
from impl.core.dtypes import bool_
from impl.core.registry import C
from impl.distributions.constraints.constraint import Constraint
from impl.distributions.constraints.numbers import _is_binary
from impl.factories.type_info import finfo


class _OneHot(Constraint):
    """The unit vectors of the axes."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        binary = _is_binary(value)
        sums_to_one = value.sum(-1).eq(1)
        return binary.all(-1) & sums_to_one


class _Simplex(Constraint):
    """The unit simplex: vectors that are not negative and sum to 1, to within 1e-6."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return C.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts: not negative, and of a sum of at most `upper_bound`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


class _Matrix(Constraint):
    """A set of matrices."""

    event_dim = 2


def _is_lower_triangular(value: Any) -> Any:
    return (value.tril() == value).view((*value.shape[:-2], -1)).min(-1)[0]


class _LowerTriangular(_Matrix):
    """The matrices that are 0 above the diagonal."""

    def check(self, value: Any) -> Any:
        return _is_lower_triangular(value)


class _LowerCholesky(_Matrix):
    """Cholesky factors: lower triangular matrices with a positive diagonal."""

    def check(self, value: Any) -> Any:
        lower_triangular = _is_lower_triangular(value)
        positive_diagonal = (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]
        return lower_triangular & positive_diagonal


class _CorrCholesky(_Matrix):
    """Cholesky factors of correlation matrices: those whose rows have Euclidean norm 1, to within
    10 n eps for n columns."""

    def check(self, value: Any) -> Any:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        norms = linalg.norm(value.detach(), dim=-1)
        unit = (norms - 1.0).abs().le(tolerance).all(dim=-1)
        return _LowerCholesky().check(value) & unit


class _Square(_Matrix):
    """The square matrices."""

    def check(self, value: Any) -> Any:
        return C.full(
            size=value.shape[:-2],
            fill_value=value.shape[-2] == value.shape[-1],
            dtype=bool_,
            device=value.device,
        )


class _Symmetric(_Square):
    """The symmetric matrices, to within an absolute difference of 1e-6."""

    def check(self, value: Any) -> Any:
        is_square = super().check(value)
        if not is_square.all():
            return is_square
        return C.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """The symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """The symmetric matrices that have a Cholesky factor."""

    def check(self, value: Any) -> Any:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return linalg.cholesky_ex(value).info.eq(0)
