"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from typing import Any

from impl.core.dtypes import bool_
from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import reads, set_parameters, validated
from impl.distributions.distribution import Distribution
from impl.distributions.utils import lazy_property
from impl.tensor.tensor import Tensor

__all__ = ["VonMises"]

# The polynomials 9.8.1 to 9.8.4 of M. Abramowitz and I. A. Stegun, "Handbook of Mathematical
# Functions", 1964: I0 and I1 for x up to 3.75 in (x / 3.75)**2, then in 3.75 / x.
_COEF_SMALL = [
    [1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2],
    [0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3],
]
_COEF_LARGE = [
    [
        0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2,
        -0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2,
    ],
    [
        0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1,
        0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2,
    ],
]  # fmt: skip
_BETWEEN = 3.75
"""Where one approximation of a Bessel function ends and the other begins."""

_I0_COEF_SMALL, _I1_COEF_SMALL = _COEF_SMALL
_I0_COEF_LARGE, _I1_COEF_LARGE = _COEF_LARGE


def _eval_poly(y, coef):
    """The polynomial of those coefficients, the constant one first, at `y` (Horner's rule)."""
    *rest, result = coef
    for coefficient in reversed(rest):
        result = coefficient + y * result
    return result


def _log_modified_bessel_fn(x, order=0):
    """The logarithm of the modified Bessel function of the first kind, of order 0 or 1, x > 0."""
    share = x / _BETWEEN
    small = _eval_poly(share * share, _COEF_SMALL[order])
    small = x.abs() * small if order else small
    scaled = _eval_poly(_BETWEEN / x, _COEF_LARGE[order])
    large = x - 0.5 * x.log() + scaled.log()
    return C.where(x < _BETWEEN, small.log(), large)


def _rejection_sample(loc, concentration, proposal_r, x):
    """`x` with draws in its elements; its shape is the one of the draws.

    The proposals are from a wrapped Cauchy distribution: D. J. Best and N. I. Fisher, "Efficient
    simulation of the von Mises distribution", Applied Statistics 28, 1979.
    """
    done = C.zeros(x.shape, dtype=bool_, device=loc.device)
    while not done.all():
        u1, u2, u3 = C.rand((3, *x.shape), dtype=loc.dtype, device=loc.device).unbind()
        z = C.cos(math.pi * u1)
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
        if accept.any():
            x = C.where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """The von Mises distribution on the circle, of mean direction `loc`, in radians.

    `loc` and `concentration` are floating tensors, broadcast to the batch shape. Draws are in
    [-pi, pi) and computed in float64; `variance` is the circular one. Raises
    ValueError where `concentration` is not positive (torch.distributions.VonMises).
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    loc: Any
    concentration: Any

    def __init__(self, loc, concentration, validate_args: bool | None = None) -> None:
        shape = set_parameters(self, loc=loc, concentration=concentration)
        super().__init__(shape, Size(), validate_args)

    @validated
    def log_prob(self, value):
        log_prob = self.concentration * C.cos(value - self.loc)
        norm = _log_modified_bessel_fn(self.concentration, order=0)
        return log_prob - math.log(2 * math.pi) - norm

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.double()

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.double()

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the proposals; by its expansion where the concentration is small."""
        kappa = self._concentration
        expansion = 1 / kappa + kappa
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return C.where(kappa < 1e-5, expansion, (1 + rho**2) / (2 * rho))

    @no_grad()
    def sample(self, sample_shape=Size()):
        """Angles in [-pi, pi), without gradients, drawn by rejection."""
        shape = self._extended_shape(sample_shape)
        x = C.empty(shape, dtype=self._loc.dtype, device=self.loc.device)
        drawn = _rejection_sample(self._loc, self._concentration, self._proposal_r, x)
        return drawn.to(self.loc.dtype)

    def expand(self, batch_shape, _instance=None):
        loc, concentration = self.loc.expand(batch_shape), self.concentration.expand(batch_shape)
        validate_args = vars(self).get("_validate_args")
        return type(self)(loc, concentration, validate_args=validate_args)

    mean = reads("loc")
    mode = reads("loc")

    @lazy_property
    def variance(self) -> Tensor:
        """1 minus the mean resultant length, which is a ratio of Bessel functions."""
        kappa = self.concentration
        log_length = _log_modified_bessel_fn(kappa, 1) - _log_modified_bessel_fn(kappa, 0)
        return 1 - log_length.exp()
