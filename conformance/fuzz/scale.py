"""The scale of a random program's values: bound, granularity, finite or not, exact or not.

A comparison with tolerances fails where rounding decides: an element that ties on one
backend and not on the other, a step function at its step. So an operator that rounds is applied
once at most, in float64, and discontinuous ones before it. Nor does torch define which zero an
operator returns that chooses between 0.0 and -0.0: it may differ in the last elements of a long
tensor; operators that distinguish the two are not applied after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

MANTISSA = 2**22  # integers that float32 holds exactly, with room for a sum


@dataclass(frozen=True)
class Scale:
    """Bounds on a tensor's finite values: multiples of 2**-places, none above `bound`.

    `finite` excludes NaN and infinities. `exact` is false once an operator has rounded,
    `signed` once the sign of a zero is undefined.
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
        """The scale of an inexact result: no bound, no granularity."""
        return Scale(math.inf, 0, False, False)

    def _with(self, other: Scale, bound: float, places: int) -> Scale:
        exact = self.exact and other.exact and bound * 2.0 ** min(places, 64) < MANTISSA
        signed = self.signed and other.signed
        return Scale(bound, places, self.finite and other.finite, exact, signed)
