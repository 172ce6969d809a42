"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from impl.distributions import constraints
from impl.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution of `df` degrees of freedom: a gamma distribution of rate 1/2.

    `df` is a number or a floating tensor of the batch shape. Raises ValueError where it is not
    positive (torch.distributions.Chi2).
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(Chi2, _instance))

    @property
    def df(self) -> Any:
        return self.concentration * 2
