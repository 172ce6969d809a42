"""The F (Fisher-Snedecor) distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.memory_formats import contiguous_format
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, set_parameters, validated
from impl.distributions.distribution import Distribution
from impl.distributions.gamma import Gamma
from impl.factories.type_info import finfo
from impl.tensor.tensor import Tensor

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of two mean squares of `df1` and `df2` degrees of freedom.

    Both are numbers or floating tensors, broadcast to the batch shape. The mean is nan for `df2`
    up to 2, the variance for `df2` up to 4, the mode for `df1` up to 2. Raises ValueError where
    one is not positive (torch.distributions.FisherSnedecor).
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Any
    df2: Any

    def __init__(self, df1, df2, validate_args: bool | None = None) -> None:
        shape = set_parameters(self, df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = expanded(self, FisherSnedecor, batch_shape, _instance, ("df1", "df2"))
        new._gamma1 = self._gamma1.expand(new._batch_shape)
        new._gamma2 = self._gamma2.expand(new._batch_shape)
        return new

    def _df2_above(self, bound: float) -> Any:
        """`df2` with nan where it does not exceed the bound."""
        df2 = self.df2.clone(memory_format=contiguous_format)
        df2[df2 <= bound] = math.nan
        return df2

    @property
    def mean(self) -> Tensor:
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        df2 = self._df2_above(4)
        numerator = 2 * df2.pow(2) * (self.df1 + df2 - 2)
        return numerator / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape=Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        numerator = self._gamma1.rsample(sample_shape).view(shape)
        denominator = self._gamma2.rsample(sample_shape).view(shape)
        tiny = finfo(denominator.dtype).tiny
        denominator.clamp_(min=tiny)
        ratio = numerator / denominator
        ratio.clamp_(min=tiny)
        return ratio

    @validated
    def log_prob(self, value):
        half1 = self.df1 * 0.5
        half2 = self.df2 * 0.5
        ratio = self.df1 / self.df2
        norm = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        powers = half1 * ratio.log() + (half1 - 1) * C.log(value)
        return norm + powers - (half1 + half2) * C.log1p(ratio * value)
