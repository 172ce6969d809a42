"""Random numbers within torch.func.vmap, which draws as its `randomness` says
(ATen/functorch/BatchRulesRandomness.cpp).

With "same" all examples share one draw; with "different" numbers are drawn as for a tensor with the
mapped dimension in front.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from impl.core.state import STATE
from impl.tensor.batched_tensor import innermost, with_dim, without_dim
from impl.tensor.tensor import Tensor

_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
_INPLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness. If this is necessary for your usage, please file an issue with "
    "functorch."
)
_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch"
)


def _levels() -> list:
    """The levels of `vmap` that run, from the outermost; RuntimeError where one draws nothing."""
    levels = [t for t in STATE.transforms if t.randomness is not None]
    if any(level.randomness == "error" for level in levels):
        raise RuntimeError(_ERROR)
    return levels


def sized(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that draws a tensor of the sizes in its first argument."""

    @functools.wraps(draw)
    def call(size, *args, **named):
        if not STATE.batched or named.get("out") is not None:
            return draw(size, *args, **named)
        levels = [level for level in _levels() if level.randomness == "different"]
        result = draw((*(level.size for level in levels), *size), *args, **named)
        for level in levels:
            result = without_dim(result, level, 0)
        return result

    return call


def like(draw: Callable[..., Tensor]) -> Callable[..., Any]:
    """Decorate a function that draws a tensor of the sizes of its first argument, whose elements it
    does not look at."""

    @functools.wraps(draw)
    def call(input, *args, **named):
        for level in reversed(_levels()) if STATE.batched else ():
            if level.randomness == "different":
                whole = call(with_dim(input, level, 0), *args, **named)
                return without_dim(whole, level, 0)
            batch = innermost((input,))
            if batch is not None and batch._level is level:
                return call(batch._value.select(batch._dim, 0), *args, **named)
        return draw(input, *args, **named)

    return call


def filling(fill: Callable[..., Tensor]) -> Callable[..., Any]:
    """Decorate a function that fills its first argument in place."""

    @functools.wraps(fill)
    def call(self, *args, **named):
        for level in reversed(_levels()) if STATE.batched else ():
            batch = innermost((self,))
            at_level = batch is not None and batch._level is level
            if level.randomness == "different":
                if not at_level:
                    raise RuntimeError(_INPLACE)
                call(with_dim(self, level, 0), *args, **named)
                return self
            if at_level:
                one = call(batch._value.select(batch._dim, 0).clone(), *args, **named)
                return self.copy_(one)
        return fill(self, *args, **named)

    return call


def of_values(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that draws for the elements of its tensors."""

    @functools.wraps(draw)
    def call(*args, **named):
        levels = _levels() if STATE.batched else []
        for level in reversed(levels):
            batch = innermost((*args, *named.values()))
            at_level = batch is not None and batch._level is level
            if level.randomness == "different":
                given = [with_dim(a, level, 0) if isinstance(a, Tensor) else a for a in args]
                found = call(*given, **named)
                several = isinstance(found, tuple)
                shown = [without_dim(r, level, 0) for r in (found if several else (found,))]
                return type(found)(shown) if several else shown[0]
            if at_level:
                raise RuntimeError(_SAME)
        return draw(*args, **named)

    return call
