"""Folded distributions: of the absolute value of a variable symmetric about 0, `base_dist`."""

from __future__ import annotations

import math

from impl.distributions._parameters import validated

LOG_2 = math.log(2)


@validated
def cdf(self, value):
    """The probability that the base is within -`value` and `value`."""
    return 2 * self.base_dist.cdf(value) - 1


def icdf(self, prob):
    """The base's quantile at the middle between `prob` and 1."""
    return self.base_dist.icdf((prob + 1) / 2)


def entropy(self):
    """The base's entropy, less the bit that says the sign."""
    return self.base_dist.entropy() - LOG_2
