"""What a random program knows of its values: how large, how fine, finite or not, exact or not.

A comparison with tolerances says nothing where rounding decides: an element that ties on one
backend and not on the other, a step function at its step. So an operator that rounds is applied
once at most, in float64, and what jumps is applied before it. Nor does torch promise which zero an
operator returns that chooses between 0.0 and -0.0: it may be another in the last elements of a long
tensor; what tells them apart is not applied after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

MANTISSA = 2**22  # what float32 holds exactly, with room for a sum


@dataclass(frozen=True)
class Scale:
    """What is known of a tensor's finite values: multiples of 2**-places, none above `bound`.

    `finite` says that there is no NaN and no infinity. `exact` is false once an operator rounded,
    `signed` once the sign of a zero is open.
    """

    bound: float = 2.0
    places: int = 1
    finite: bool = True
    exact: bool = True
    signed: bool = True

    def times(self, other: Scale) -> Scale:
        """The scale of a product."""
        return self._with(other, self.bound * other.bound, self.places + other.places)

    def plus(self, other: Scale) -> Scale:
        """The scale of a sum, a difference, or a choice between the two."""
        return self._with(other, self.bound + other.bound, max(self.places, other.places))

    def to_the(self, count: int) -> Scale:
        """The scale of a product of `count` such values."""
        bound = max(1.0, self.bound) ** max(1, count)
        return self._with(self, bound, self.places * max(1, count))

    def chosen(self) -> Scale:
        """The scale of values among which an operator has chosen by comparing them."""
        return replace(self, signed=False)

    def rounded(self) -> Scale:
        """The scale of an inexact result, about which nothing more is known."""
        return Scale(math.inf, 0, False, False)

    def _with(self, other: Scale, bound: float, places: int) -> Scale:
        exact = self.exact and other.exact and bound * 2.0 ** min(places, 64) < MANTISSA
        signed = self.signed and other.signed
        return Scale(bound, places, self.finite and other.finite, exact, signed)
