"""`ExponentialFamily`, the base of distributions that belong to an exponential family."""

from __future__ import annotations

from typing import Any

from impl.autograd import grad
from impl.distributions.distribution import Distribution
from impl.tensor.tensor import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions of density exp(t(x)·θ - F(θ) + k(x)) (torch.distributions.ExponentialFamily).

    θ are the natural parameters, t the sufficient statistics, F the log normalizer and k the
    carrier measure. A subclass defines `_natural_params`, `_log_normalizer` and
    `_mean_carrier_measure`, from which the entropy and divergences of the family follow.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The natural parameters θ, tensors of shape `batch_shape` + those of the statistics."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """The log normalizer F at natural parameters, of shape `batch_shape`."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        """The expected value of the carrier measure k."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy F(θ) - θ·∇F(θ) - E[k(x)], of shape `batch_shape`.

        F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential families", ICIP 2010.
        """
        entropy: Any = -self._mean_carrier_measure
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        gradients = grad(normalizer.sum(), parameters, create_graph=True)
        entropy += normalizer
        for parameter, gradient in zip(parameters, gradients, strict=True):
            entropy -= (parameter * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return entropy
