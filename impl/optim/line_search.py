"""Line search for the strong Wolfe conditions.

J. Nocedal and S. Wright, Numerical Optimization, 2nd edition, algorithms 3.5 and 3.6; the cubic
interpolation is their equation 3.59.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from impl.tensor.tensor import Tensor


class _Point(NamedTuple):
    """A step size with the loss there, its gradient, and its slope along the direction."""

    size: Any
    loss: float
    gradient: Tensor
    slope: Any


def cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """The minimum within `bounds` of the cubic through two points `x` of losses `f`, slopes `g`."""
    if bounds is None:
        bounds = (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (bounds[0] + bounds[1]) / 2.0
    d2 = square.sqrt()
    if x1 <= x2:
        least = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        least = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(least, bounds[0]), bounds[1])


def _between(a: _Point, b: _Point, bounds=None):
    """The minimum within `bounds` of the cubic through two points with their slopes."""
    return cubic_interpolate(a.size, a.loss, a.slope, b.size, b.loss, b.slope, bounds)


def strong_wolfe(obj_func, x, t, d: Tensor, f, g: Tensor, gtd, c1=1e-4, c2=0.9,
                 tolerance_change=1e-9, max_ls=25):  # fmt: skip
    """Find a step size from `t` on that meets the conditions, or the best within `max_ls` tries.

    The loss `f`, its gradient `g` and its slope `gtd` are those at `x`, from where
    `obj_func(x, size, d)` goes along the direction `d` and returns loss and gradient. A bracket in
    which no parameter changes by `tolerance_change` is not divided. Returns loss, gradient, step
    size and the number of evaluations; raises IndexError for a loss of NaN at a point that is flat
    enough.
    """
    count = 0

    def point(size):
        nonlocal count
        count += 1
        value, made = obj_func(x, size, d)
        return _Point(size, value, made, made.dot(d))

    start = previous = _Point(0, f, g.clone(), gtd)
    here = point(t)

    def climbs(point: _Point, other: _Point, compare: bool) -> bool:
        enough = f + c1 * point.size * gtd
        return point.loss > enough or (compare and point.loss >= other.loss)

    bracket: list[_Point] = []
    done = False
    tries = 0
    while tries < max_ls:
        if climbs(here, previous, tries > 1):
            bracket = [previous, here]
            break
        if abs(here.slope) <= -c2 * gtd:
            bracket, done = [here], True
            break
        if here.slope >= 0:
            bracket = [previous, here]
            break
        near = here.size + 0.01 * (here.size - previous.size)
        following = _between(previous, here, (near, here.size * 10))
        previous, here = here, point(following)
        tries += 1
    if tries == max_ls:
        bracket = [start, here]
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    length = d.abs().max()
    stuck = False
    while not done and tries < max_ls:
        sizes = [p.size for p in bracket]
        if abs(sizes[1] - sizes[0]) * length < tolerance_change:
            break
        trial = _between(*bracket)
        margin = 0.1 * (max(sizes) - min(sizes))
        if min(max(sizes) - trial, trial - min(sizes)) < margin:
            if stuck or trial >= max(sizes) or trial <= min(sizes):
                nearer_end = abs(trial - max(sizes)) < abs(trial - min(sizes))
                trial = max(sizes) - margin if nearer_end else min(sizes) + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = point(trial)
        tries += 1
        if climbs(here, bracket[low], True):
            bracket[high] = here
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            if abs(here.slope) <= -c2 * gtd:
                done = True
            elif here.slope * (bracket[high].size - bracket[low].size) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = here
    best = bracket[low]
    return best.loss, best.gradient, best.size, count
