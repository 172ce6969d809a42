"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.memory_formats import contiguous_format
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, reads, set_parameters, validated
from impl.distributions.chi2 import Chi2
from impl.distributions.distribution import Distribution
from impl.distributions.utils import _standard_normal
from impl.tensor.tensor import Tensor

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution of `df` degrees of freedom, shifted by `loc`, scaled by `scale`.

    All three are numbers or floating tensors, broadcast to the batch shape. The mean is nan for
    `df` up to 1; the variance is nan there, and inf for `df` up to 2. Raises ValueError where `df`
    or `scale` is not positive (torch.distributions.StudentT).
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    df: Any
    loc: Any
    scale: Any

    @property
    def mean(self) -> Tensor:
        mean = self.loc.clone(memory_format=contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    mode = reads("loc")

    @property
    def variance(self) -> Tensor:
        df = self.df
        variance = df.clone(memory_format=contiguous_format)
        finite = df > 2
        variance[finite] = self.scale[finite].pow(2) * df[finite] / (df[finite] - 2)
        variance[(df <= 2) & (df > 1)] = math.inf
        variance[df <= 1] = math.nan
        return variance

    def __init__(self, df, loc=0.0, scale=1.0, validate_args: bool | None = None) -> None:
        shape = set_parameters(self, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = expanded(self, StudentT, batch_shape, _instance, ("df", "loc", "scale"))
        new._chi2 = self._chi2.expand(new._batch_shape)
        return new

    def rsample(self, sample_shape=Size()) -> Tensor:
        """Samples: a standard normal number over the root of a chi-squared mean square."""
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * C.rsqrt(squares / self.df))

    @validated
    def log_prob(self, value):
        deviation = (value - self.loc) / self.scale
        norm = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + C.lgamma(0.5 * self.df)
            - C.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * C.log1p(deviation**2.0 / self.df) - norm

    def entropy(self):
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = C.lgamma(half) + math.log(math.sqrt(math.pi)) - C.lgamma(next_half)
        slope = C.digamma(next_half) - C.digamma(half)
        return self.scale.log() + next_half * slope + 0.5 * self.df.log() + log_beta
