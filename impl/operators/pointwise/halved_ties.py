"""Derivatives of the larger or the smaller of two values, where a tie is halved.

They are those of `maximum`, `minimum`, `fmax`, `fmin`, and of `clamp` by tensors.
"""

from __future__ import annotations

from operator import ge, gt, le, lt

from impl.dispatch.definition import written


def halved(F, grad, tied):
    """The gradient, and half of it at a tie."""
    return F.where(tied, F.div_scalar(grad, 2), grad)


def mean_tangent(F, first_t, second_t):
    """The tangent of two values that are tied."""
    return F.div_scalar(F.add(first_t, second_t), 2)


def _gradient(loses):
    def formula(F, grad, self, other):
        return F.fill_fresh(halved(F, grad, self == other), loses(F, self, other), 0)

    return written(formula)


def _tangent(wins):
    def formula(F, self_t, self, other_t, other):
        chosen = F.where(wins(F, self, other), self_t, other_t)
        return F.where(self == other, mean_tangent(F, self_t, other_t), chosen)

    return formula


def _less(F, self, other):
    return self < other


def _more(F, self, other):
    return self > other


larger_gradient, smaller_gradient = _gradient(_less), _gradient(_more)
larger_tangent, smaller_tangent = _tangent(_more), _tangent(_less)


def larger(op) -> None:
    """State the derivatives of the larger of `self` and `other`, NaN if one is."""
    op.gradient(self=larger_gradient, other=smaller_gradient).forward(larger_tangent)


def smaller(op) -> None:
    """State the derivatives of the smaller of `self` and `other`, NaN if one is."""
    op.gradient(self=smaller_gradient, other=larger_gradient).forward(smaller_tangent)


def _before_nan(op, wins, wins_or_ties) -> None:
    def self_wins(F, self, other):
        return F.logical_or(wins(self, other), F.isnan(other))

    def other_wins(F, self, other):
        return F.logical_not(F.logical_or(wins_or_ties(self, other), F.isnan(other)))

    op.gradient(self=_gradient(other_wins), other=_gradient(self_wins)).forward(_tangent(self_wins))


def larger_before_nan(op) -> None:
    """State the derivatives of the larger of `self` and `other`, the number if one is NaN."""
    _before_nan(op, gt, ge)


def smaller_before_nan(op) -> None:
    """State the derivatives of the smaller of `self` and `other`, the number if one is NaN."""
    _before_nan(op, lt, le)
