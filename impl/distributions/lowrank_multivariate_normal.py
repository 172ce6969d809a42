"""The multivariate normal distribution whose covariance is of low rank but for a diagonal."""

from __future__ import annotations

from impl import linalg
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import finished, reads, validated
from impl.distributions._scale_matrix import LOG_TWO_PI, half_log_det, matrix_shape
from impl.distributions.distribution import Distribution
from impl.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from impl.distributions.utils import _standard_normal, lazy_property
from impl.functional import broadcast_tensors
from impl.tensor.tensor import Tensor

__all__ = ["LowRankMultivariateNormal"]


def _weighted_factor(W: Tensor, D: Tensor) -> Tensor:
    """Wᵀ D⁻¹ for matrices W (..., n, m) and diagonals D (..., n)."""
    return W.mT / D.unsqueeze(-2)


def _cholesky_of_identity_plus(product: Tensor) -> Tensor:
    """The Cholesky factors of I + `product`, a batch of matrices that is written to."""
    n = product.size(-1)
    product = product.contiguous()
    product.view(-1, n * n)[:, :: n + 1] += 1
    return linalg.cholesky(product)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of the capacitance matrix I + Wᵀ D⁻¹ W."""
    return _cholesky_of_identity_plus(C.matmul(_weighted_factor(W, D), W))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of W Wᵀ + D, by the matrix determinant lemma."""
    return 2 * half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The squared Mahalanobis distances xᵀ (W Wᵀ + D)⁻¹ x, by the Woodbury matrix identity."""
    projected = _batch_mv(_weighted_factor(W, D), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """The multivariate normal distribution of covariance W Wᵀ + D, for W of rank m and diagonal D.

    `loc` is a floating tensor of shape (..., n), `cov_factor` W (..., n, m) and `cov_diag` D
    (..., n); the batches broadcast. Raises ValueError for shapes that do not fit and for a
    diagonal that is not positive (torch.distributions.LowRankMultivariateNormal).
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        _check_shapes(event_shape, cov_factor, cov_diag)
        given = (loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        try:
            locs, self.cov_factor, diagonals = broadcast_tensors(*given)
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc = locs[..., 0]
        self.cov_diag = diagonals[..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape = Size(batch_shape)
        shape = batch_shape + self.event_shape
        new.loc = self.loc.expand(shape)
        new.cov_diag = self.cov_diag.expand(shape)
        new.cov_factor = self.cov_factor.expand(shape + self.cov_factor.shape[-1:])
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return finished(new, self, LowRankMultivariateNormal, batch_shape, self.event_shape)

    mean = reads("loc")
    mode = reads("loc")

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The diagonal of the covariance, of shape `batch_shape + (n,)`."""
        squares = self._unbroadcasted_cov_factor.pow(2)
        variance = squares.sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance, of shape `batch_shape + (n, n)`.

        It is D^½ times the factor of I + V Vᵀ with V = D^-½ W.
        """
        deviations = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / deviations
        factor = deviations * _cholesky_of_identity_plus(C.matmul(scaled, scaled.mT))
        return factor.expand(matrix_shape(self))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance, of shape `batch_shape + (n, n)`."""
        W = self._unbroadcasted_cov_factor
        covariance = C.matmul(W, W.mT) + C.diag_embed(self._unbroadcasted_cov_diag)
        return covariance.expand(matrix_shape(self))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, of shape `batch_shape + (n, n)`, by the Woodbury matrix
        identity."""
        D = self._unbroadcasted_cov_diag
        weighted = _weighted_factor(self._unbroadcasted_cov_factor, D)
        solved = linalg.solve_triangular(self._capacitance_tril, weighted, upper=False)
        precision = C.diag_embed(D.reciprocal()) - solved.mT @ solved
        return precision.expand(matrix_shape(self))

    def rsample(self, sample_shape=Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        along_factor = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **options)
        along_axes = _standard_normal(shape, **options)
        shift = self.loc + _batch_mv(self._unbroadcasted_cov_factor, along_factor)
        return shift + self._unbroadcasted_cov_diag.sqrt() * along_axes

    def _log_det(self) -> Tensor:
        return _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    @validated
    def log_prob(self, value):
        distance = _batch_lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        return -0.5 * (self._event_shape[0] * LOG_TWO_PI + self._log_det() + distance)

    def entropy(self):
        entropy = 0.5 * (self._event_shape[0] * (1.0 + LOG_TWO_PI) + self._log_det())
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy


def _check_shapes(event_shape: Size, cov_factor: Tensor, cov_diag: Tensor) -> None:
    """Raise ValueError unless both have rows, or elements, for the elements of an event."""
    if cov_factor.dim() < 2:
        raise ValueError(
            "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
        )
    if cov_factor.shape[-2:-1] != event_shape:
        raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
    if cov_diag.shape[-1:] != event_shape:
        raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
