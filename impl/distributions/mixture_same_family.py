"""`MixtureSameFamily`, finite mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import finished, reads
from impl.distributions.categorical import Categorical
from impl.distributions.constraints import MixtureSameFamilyConstraint
from impl.distributions.distribution import Distribution
from impl.tensor.tensor import Tensor

__all__ = ["MixtureSameFamily"]


def _check_batches(mixture: Size, components: Size) -> None:
    """Raise ValueError for batches of weights and of mixtures that do not broadcast."""
    for size, other in zip(reversed(mixture), reversed(components), strict=False):
        if size != other and size != 1 and other != 1:
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixture}) is not compatible with "
                f"`component_distribution.batch_shape`({components})"
            )


class MixtureSameFamily(Distribution):
    """A finite mixture, Σ w_k p_k, of components of one family
    (torch.distributions.MixtureSameFamily).

    `mixture_distribution` is a `Categorical` of the weights; the last dimension of the batch of
    `component_distribution` indexes the components. Raises ValueError for other classes, other
    numbers of components, and batches that do not broadcast.
    """

    arg_constraints: dict[str, constraints.Constraint] = {}  # type: ignore[assignment]
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        batch_shape = component_distribution.batch_shape[:-1]
        _check_batches(mixture_distribution.batch_shape, batch_shape)
        weights = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if weights != components:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not"
                f" equal `component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = weights
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        shape = Size(batch_shape)
        vars(new).update(
            _num_component=self._num_component,
            _event_ndims=self._event_ndims,
            _mixture_distribution=self._mixture_distribution.expand(shape),
            _component_distribution=self._component_distribution.expand(
                Size((*shape, self._num_component))
            ),
        )
        return finished(new, self, MixtureSameFamily, shape, self._event_shape)

    @constraints.dependent_property
    def support(self):  # type: ignore[override]
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = reads(
        "_mixture_distribution", "The distribution of the component of a draw."
    )
    component_distribution = reads(
        "_component_distribution", "The components, along the last dimension of its batch."
    )

    def _averaged(self, of_components: Any) -> Tensor:
        """The weighted mean over the components of a tensor of batch and event dimensions."""
        weights = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return C.sum(weights * of_components, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._averaged(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The law of total variance: the mean of the components' variances and the variance of
        their means."""
        components: Any = self.component_distribution
        within: Any = self._averaged(components.variance)
        between = self._averaged((components.mean - self._pad(self.mean)).pow(2.0))
        return within + between

    def cdf(self, x: Any) -> Tensor:
        of_components: Any = self.component_distribution.cdf(self._pad(x))
        return C.sum(of_components * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        of_components: Any = self.component_distribution.log_prob(self._pad(x))
        log_weights = C.log_softmax(self.mixture_distribution.logits, dim=-1)
        return C.logsumexp(of_components + log_weights, dim=-1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen: Any = self.mixture_distribution.sample(sample_shape)
            shape = chosen.shape
            candidates = self.component_distribution.sample(sample_shape)
            chosen = chosen.reshape(shape + (1,) * (self._event_ndims + 1))
            chosen = chosen.repeat((1,) * (len(shape) + 1) + self.event_shape)
            return C.gather(candidates, dim, chosen).squeeze(dim)

    def _pad(self, x: Any) -> Any:
        """A value with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Any) -> Any:
        """Weights that broadcast to a tensor of the components' batch and event dimensions."""
        mixture_ndims = len(self.mixture_distribution.batch_shape)
        missing = 0 if mixture_ndims == 1 else len(self.batch_shape) - mixture_ndims
        shape = x.shape
        return x.reshape(shape[:-1] + (1,) * missing + shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self) -> str:
        parts = f"\n  {self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily({parts})"
