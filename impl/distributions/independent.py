"""`Independent`, distributions of arrays whose entries are independent."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import finished, reads
from impl.distributions.distribution import Distribution
from impl.distributions.utils import _sum_rightmost
from impl.tensor.tensor import Tensor

__all__ = ["Independent"]

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """A product of distributions: the last dimensions of a batch as dimensions of one event
    (torch.distributions.Independent).

    `reinterpreted_batch_ndims` dimensions of the batch of `base_distribution` become dimensions
    of events, over which `log_prob` and `entropy` are summed. Raises ValueError where the batch
    has fewer.
    """

    arg_constraints: dict[str, constraints.Constraint] = {}  # type: ignore[assignment]
    base_dist: D

    def __init__(
        self,
        base_distribution: D,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        shape = batch + event
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None):
        new = self._get_checked_instance(Independent, _instance)
        batch_shape = Size(batch_shape)
        ndims = self.reinterpreted_batch_ndims
        new.base_dist = self.base_dist.expand(batch_shape + self.event_shape[:ndims])
        new.reinterpreted_batch_ndims = ndims
        return finished(new, self, Independent, batch_shape, self.event_shape)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):  # type: ignore[override]
        support = self.base_dist.support
        ndims = self.reinterpreted_batch_ndims
        return constraints.independent(support, ndims) if ndims else support

    mean = reads("base_dist.mean")
    mode = reads("base_dist.mode")
    variance = reads("base_dist.variance")

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
