"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from impl.autograd.function import Function, once_differentiable
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import finished, validated
from impl.distributions.exp_family import ExponentialFamily
from impl.nn import functional as F
from impl.tensor.tensor import Tensor

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x, concentration, grad_output) -> Tensor:
    """The gradient of a sample `x` with respect to its concentration.

    An element's own concentration raises it at the expense of the others, in proportion to them.
    """
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = C._dirichlet_grad(x, concentration, total)
    return slope * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    """A sample as a differentiable function of its concentration."""

    @staticmethod
    def forward(ctx, concentration):
        x = C._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        sample, concentration = ctx.saved_tensors
        return _Dirichlet_backward(sample, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of vectors that are positive and sum to 1.

    `concentration` is a floating tensor of shape `batch_shape + (n,)` (the parameters alpha).
    Raises ValueError where it has no dimensions or is not positive (torch.distributions.Dirichlet).
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    concentration: Any

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Dirichlet, _instance)
        batch_shape = Size(batch_shape)
        new.concentration = self.concentration.expand(batch_shape + self.event_shape)
        return finished(new, self, Dirichlet, batch_shape, self.event_shape)

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return _Dirichlet.apply(self.concentration.expand(shape))

    @validated
    def log_prob(self, value):
        alpha = self.concentration
        powers = C.xlogy(alpha - 1.0, value).sum(-1)
        return powers + C.lgamma(alpha.sum(-1)) - C.lgamma(alpha).sum(-1)

    @property
    def mean(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration / total

    @property
    def mode(self) -> Tensor:
        """The value of the highest density, of shape `batch_shape + event_shape`.

        Where all concentrations are below 1 there is none: a corner of the simplex instead.
        """
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1)
        mode[flat] = F.one_hot(mode[flat].argmax(dim=-1), excess.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        rest = total - self.concentration
        return self.concentration * rest / (total.pow(2) * (total + 1))

    def entropy(self):
        alpha = self.concentration
        total = alpha.sum(-1)
        normalizer = C.lgamma(alpha).sum(-1) - C.lgamma(total)
        of_total = (alpha.size(-1) - total) * C.digamma(total)
        return normalizer - of_total - ((alpha - 1.0) * C.digamma(alpha)).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x):  # type: ignore[override]
        return x.lgamma().sum(-1) - C.lgamma(x.sum(-1))
