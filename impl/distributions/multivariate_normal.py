"""The multivariate normal distribution, and operations on batches of its parameters."""

from __future__ import annotations

from typing import Any

from impl import linalg
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _scale_matrix, constraints
from impl.distributions._parameters import reads, validated
from impl.distributions._scale_matrix import LOG_TWO_PI, half_log_det
from impl.distributions._scale_matrix import _precision_to_scale_tril as _precision_to_scale_tril
from impl.distributions.distribution import Distribution
from impl.distributions.utils import _standard_normal, lazy_property
from impl.functional import broadcast_shapes
from impl.tensor.tensor import Tensor

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """The products of matrices (..., m, n) and vectors (..., n), whose batches broadcast."""
    return C.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """The squared Mahalanobis distances xᵀ (L Lᵀ)⁻¹ x of vectors (..., n) for factors (..., n, n).

    The batch of the vectors may be larger, and each of its sizes a multiple of the factors'. All
    vectors of a factor are columns of the right-hand side of one triangular system.
    """
    n = bx.size(-1)
    first = bx.dim() - bL.dim() + 1  # the vectors' first dimension that the factors have, too
    split = [*bx.shape[:first]]
    for own, all_of_them in zip(bL.shape[:-2], bx.shape[first:-1], strict=True):
        split += [all_of_them // own, own]
    last = len(split)
    order = [*range(first), *range(first, last, 2), *range(first + 1, last, 2)]
    vectors = bx.reshape((*split, n)).permute((*order, last))
    factors = bL.reshape(-1, n, n)
    columns = vectors.reshape(-1, factors.size(0), n).permute(1, 2, 0)
    solved = linalg.solve_triangular(factors, columns, upper=False)
    distances = solved.pow(2).sum(-2).t().reshape(vectors.shape[:-1])
    return distances.permute([order.index(dim) for dim in range(last)]).reshape(bx.shape[:-1])


class MultivariateNormal(Distribution):
    """The multivariate normal (Gaussian) distribution.

    `loc` is a floating tensor of shape (..., n); one of `covariance_matrix`, `precision_matrix`,
    its inverse, and `scale_tril`, its lower Cholesky factor, is of shape (..., n, n), and the
    batches broadcast. Raises ValueError where they have too few dimensions, where not exactly one
    matrix is given, and for a matrix that is not positive definite
    (torch.distributions.MultivariateNormal).
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    scale_tril: Any = _scale_matrix.scale_tril
    covariance_matrix: Any = _scale_matrix.covariance_matrix

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = _scale_matrix.one_given(
            covariance_matrix, precision_matrix, scale_tril, ValueError
        )
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{shown} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _scale_matrix.cholesky_factor(name, matrix)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        batch_shape = Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        super(MultivariateNormal, new).__init__(batch_shape, self.event_shape, validate_args=False)
        _scale_matrix.expand_matrices(new, self)
        new._validate_args = self._validate_args
        return new

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, of shape `batch_shape + (n, n)`."""
        inverse = C.cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand(_scale_matrix.matrix_shape(self))

    mean = reads("loc")
    mode = reads("loc")

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2)
        return squares.sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    @validated
    def log_prob(self, value):
        factor = self._unbroadcasted_scale_tril
        distance = _batch_mahalanobis(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * LOG_TWO_PI + distance) - half_log_det(factor)

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1.0 + LOG_TWO_PI)
        entropy = constant + half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
