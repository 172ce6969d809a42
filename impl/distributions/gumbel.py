"""The Gumbel (type I extreme value) distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.registry import C
from impl.distributions import constraints
from impl.distributions._parameters import reads, rebuilt, set_parameters, validated
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import AffineTransform, ExpTransform
from impl.distributions.uniform import Uniform
from impl.distributions.utils import _Number, euler_constant
from impl.factories.type_info import finfo
from impl.tensor.tensor import Tensor

__all__ = ["Gumbel"]

_STDDEV = math.pi / math.sqrt(6)
"""The standard deviation for a scale of 1."""


class Gumbel(TransformedDistribution):
    """The Gumbel distribution of maxima, with mode `loc` and scale `scale`.

    Both are numbers or floating tensors, broadcast to the batch shape. Draws are
    loc - scale log(-log u) for uniform u. Raises ValueError where `scale` is not positive
    (torch.distributions.Gumbel).
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    loc: Any
    scale: Any

    def __init__(self, loc, scale, validate_args: bool | None = None) -> None:
        set_parameters(self, loc=loc, scale=scale)
        limits = finfo(self.loc.dtype)
        bounds = (limits.tiny, 1 - limits.eps)
        if not (isinstance(loc, _Number) and isinstance(scale, _Number)):
            bounds = tuple(C.full_like(self.loc, bound) for bound in bounds)
        negative_log = (ExpTransform().inv, AffineTransform(loc=0, scale=-C.ones_like(self.scale)))
        affine = AffineTransform(loc=self.loc, scale=-self.scale)
        super().__init__(
            Uniform(*bounds, validate_args=validate_args),
            [*negative_log, ExpTransform().inv, affine],
            validate_args=validate_args,
        )

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, Gumbel, batch_shape, _instance, ("loc", "scale"))

    @validated
    def log_prob(self, value):
        deviation = (self.loc - value) / self.scale
        return (deviation - deviation.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    mode = reads("loc")

    @property
    def stddev(self) -> Tensor:
        return _STDDEV * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
