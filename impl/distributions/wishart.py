"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

from impl import linalg
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _scale_matrix, constraints
from impl.distributions._parameters import validated
from impl.distributions._scale_matrix import half_log_det, matrix_shape
from impl.distributions.chi2 import Chi2
from impl.distributions.exp_family import ExponentialFamily
from impl.distributions.utils import _Number, lazy_property
from impl.factories.type_info import finfo
from impl.functional import broadcast_shapes, einsum
from impl.tensor.tensor import Tensor

__all__ = ["Wishart"]

_LOG_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function of dimension `p`.

    Raises AssertionError unless x > (p - 1) / 2.
    """
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    halves = C.arange(p, dtype=x.dtype, device=x.device).div(2)
    return C.digamma(x.unsqueeze(-1) - halves.expand((*x.shape, -1))).sum(-1)


class Wishart(ExponentialFamily):
    """The Wishart distribution of positive definite matrices.

    `df`, the degrees of freedom, is a number or a floating tensor of the batch shape, greater than
    n - 1; one of `covariance_matrix`, `precision_matrix` and `scale_tril` is of shape (..., n, n).
    Raises AssertionError where not exactly one matrix is given, and ValueError for too few
    dimensions or degrees of freedom (torch.distributions.Wishart).

    Samples follow W. B. Smith and R. R. Hocking, "Wishart variate generator", 1972 (the Bartlett
    decomposition).
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    scale_tril: Any = _scale_matrix.scale_tril
    covariance_matrix: Any = _scale_matrix.covariance_matrix

    @property
    def arg_constraints(self):
        """The constraint of each parameter, by its name."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = _scale_matrix.one_given(
            covariance_matrix, precision_matrix, scale_tril, AssertionError
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if isinstance(df, _Number):
            batch_shape = Size(matrix.shape[:-2])
            self.df = C.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        least = event_shape[-1] - 1
        if self.df.le(least).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {least}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if self.df.lt(event_shape[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = _scale_matrix.cholesky_factor(name, matrix)
        self._dist_chi2 = self._squared_diagonal()

    def _squared_diagonal(self) -> Chi2:
        """The distribution of the squares of the diagonal of standard factors."""
        factor = self._unbroadcasted_scale_tril
        rows = C.arange(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return Chi2(df=self.df.unsqueeze(-1) - rows.expand((*self._batch_shape, -1)))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        shape = batch_shape + self.event_shape
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(shape)
        new.df = self.df.expand(batch_shape)
        super(Wishart, new).__init__(batch_shape, self.event_shape, validate_args=False)
        _scale_matrix.expand_matrices(new, self)
        new._dist_chi2 = new._squared_diagonal()
        new._validate_args = self._validate_args
        return new

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the scale matrix, of shape `batch_shape + (n, n)`."""
        factor = self._unbroadcasted_scale_tril
        identity = C.eye(self._event_shape[-1], device=factor.device, dtype=factor.dtype)
        return C.cholesky_solve(identity, factor).expand(matrix_shape(self))

    def _per_matrix(self, factor: Tensor) -> Tensor:
        """A number for each distribution of the batch, with two dimensions for its matrix."""
        return factor.view((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """The value of the highest density, NaN where `df` is at most n + 1."""
        excess = self.df - self.covariance_matrix.shape[-1] - 1
        excess[excess <= 0] = math.nan
        return self._per_matrix(excess) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        scale = self.covariance_matrix
        diagonal = scale.diagonal(dim1=-2, dim2=-1)
        products = einsum("...i,...j->...ij", diagonal, diagonal)
        return self._per_matrix(self.df) * (scale.pow(2) + products)

    def _bartlett_sampling(self, sample_shape=Size()) -> Any:
        n = self._event_shape[-1]
        diagonal: Any = self._dist_chi2.rsample(sample_shape).sqrt()
        diagonal = diagonal.clamp(min=finfo(diagonal.dtype).eps)
        factor: Any = diagonal.diag_embed(dim1=-2, dim2=-1)
        rows, columns = C.tril_indices(n, n, offset=-1)
        shape = Size(sample_shape) + self._batch_shape + Size((n * (n - 1) // 2,))
        factor[..., rows, columns] = C.randn(shape, dtype=factor.dtype, device=factor.device)
        chol = self._unbroadcasted_scale_tril @ factor
        return chol @ chol.transpose(-2, -1)

    def _in_any_batch(self, found: Any) -> Any:
        """For each sample, whether it was found in one of the distributions of the batch."""
        dims = [-dim for dim in range(1, len(self._batch_shape) + 1)]
        return found.amax(dims) if dims else found

    def rsample(self, sample_shape=Size(), max_try_correction=None) -> Tensor:
        """Samples of shape `sample_shape + batch_shape + (n, n)`, some of them drawn anew.

        As torch does it, the samples of the first draw that are in the support, in any
        distribution of the batch, are replaced, with a warning; after that those that are not, at
        most `max_try_correction` times in all, by default 10.
        """
        attempts = 10 if max_try_correction is None else max_try_correction
        sample = self._bartlett_sampling(Size(sample_shape))
        again = self._in_any_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(attempts):
                renewed = self._bartlett_sampling(again[again].shape)
                sample[again] = renewed
                again[again.clone()] = self._in_any_batch(~self.support.check(renewed))
                if not again.any():
                    break
        return sample

    @validated
    def log_prob(self, value):
        df, n, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = C.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -df * (n * _LOG_2 / 2 + half_log_det(factor))
            - C.mvlgamma(df / 2, p=n)
            + (df - n - 1) / 2 * linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self):
        df, n = self.df, self._event_shape[-1]
        scale = (n + 1) * (n * _LOG_2 / 2 + half_log_det(self._unbroadcasted_scale_tril))
        slope = (df - n - 1) / 2 * _mvdigamma(df / 2, p=n)
        return scale + C.mvlgamma(df / 2, p=n) - slope + df * n / 2

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):  # type: ignore[override]
        n = self._event_shape[-1]
        half_df = y + (n + 1) / 2
        log_det = -linalg.slogdet(-2 * x).logabsdet + _LOG_2 * n
        return half_df * log_det + C.mvlgamma(half_df, p=n)
