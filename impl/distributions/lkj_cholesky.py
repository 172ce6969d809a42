"""The distribution of D. Lewandowski, D. Kurowicka and H. Joe of correlation matrices.

"Generating random correlation matrices based on vines and extended onion method", 2009.
"""

from __future__ import annotations

import math
from typing import Any

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import finished
from impl.distributions.beta import Beta
from impl.distributions.distribution import Distribution
from impl.distributions.utils import broadcast_all
from impl.factories.type_info import finfo
from impl.tensor.tensor import Tensor

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The LKJ distribution of lower Cholesky factors of correlation matrices.

    The density of a `dim` x `dim` correlation matrix is its determinant to the power
    `concentration` - 1. `dim` is an int, `concentration` a number or a floating tensor of the
    batch shape. Raises ValueError for a `dim` below 2 or a concentration that is not positive
    (torch.distributions.LKJCholesky).
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    concentration: Any

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        self._beta = _squared_radii(dim, self.concentration)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LKJCholesky, _instance)
        shape, dim = Size(batch_shape), self.dim
        new._beta = self._beta.expand(Size((*shape, dim)))
        new.concentration, new.dim = self.concentration.expand(shape), dim
        return finished(new, self, LKJCholesky, shape, self.event_shape)

    def sample(self, sample_shape=Size()) -> Tensor:
        """Cholesky factors by the onion method: below the diagonal each row is a point of a sphere
        times the root of a beta sample."""
        squares = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        points = C.randn(shape, dtype=squares.dtype, device=squares.device).tril(-1)
        points = points / points.norm(dim=-1, keepdim=True)
        points[..., 0, :].fill_(0.0)
        factor = C.sqrt(squares) * points
        rest = 1 - C.sum(factor**2, dim=-1)
        factor += C.diag_embed(C.clamp(rest, min=finfo(factor.dtype).tiny).sqrt())
        return factor

    def log_prob(self, value):
        """The log density of the factor, in which the Jacobian of the product is included."""
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = C.arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        return C.sum(powers * diagonal.log(), dim=-1) - self._log_normalizer()

    def _log_normalizer(self) -> Tensor:
        """The logarithm of the integral of the product of powers of the diagonal, by theorem 5 of
        the paper of Lewandowski, Kurowicka and Joe."""
        below = self.dim - 1
        alpha = self.concentration + 0.5 * below
        constant = 0.5 * below * math.log(math.pi)
        return constant + C.mvlgamma(alpha - 0.5, below) - C.lgamma(alpha) * below


def _squared_radii(dim: int, concentration: Any) -> Beta:
    """The distribution of the squared norm of each row below the diagonal."""
    marginal = concentration + 0.5 * (dim - 2)
    below = C.arange(dim - 1, dtype=concentration.dtype, device=concentration.device)
    below = C.cat([below.new_zeros((1,)), below])
    return Beta(below + 0.5, marginal.unsqueeze(-1) - 0.5 * below)
