"""Random numbers within torch.func.vmap, which draws as its `randomness` says
(ATen/functorch/BatchRulesRandomness.cpp).

With "same" all examples share one draw; with "different" numbers are drawn as for a tensor with the
mapped dimension in front.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from impl.core import messages
from impl.core.registry import FUNCTIONS
from impl.core.state import STATE
from impl.dispatch import vmap_rules
from impl.tensor.batched_tensor import innermost, is_at, with_dim, without_dim
from impl.tensor.tensor import Tensor, new

_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
_UNSUPPORTED = "vmap: we do not yet support aten::{}. Please file an issue"
_INPLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness. If this is necessary for your usage, please file an issue with "
    "functorch."
)
_UNBATCHED = messages.UNBATCHED.format("inplace bernoulli", "in a vmap")
"""That of the only operator in place which draws for the elements of another tensor."""
_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch"
)


def _levels() -> list:
    """The levels of `vmap` that run, from the outermost; RuntimeError where one draws nothing."""
    if STATE.drawing or not STATE.batched:
        return []
    levels = [t for t in STATE.transforms if t.randomness is not None]
    if any(level.randomness == "error" for level in levels):
        raise RuntimeError(_ERROR)
    return levels


def refuse_slopes(inplace: bool) -> None:
    """Raise RuntimeError within `vmap`, for which torch does not have rrelu, nor the operator that
    it is composed of in a transform of differentiation."""
    if STATE.batched:
        name = "rrelu" if STATE.transforms[-1].randomness is not None else "rrelu_with_noise"
        raise RuntimeError(_UNSUPPORTED.format(name + "_" * inplace))


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


def repeated(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that draws without tensors or sizes: it draws once for each example."""

    @functools.wraps(draw)
    def call(*args, **named):
        levels = _levels()
        return _repeated(levels, lambda: draw(*args, **named))

    return call


def _repeated(levels: list, draw: Callable[[], Any]) -> Any:
    different = [level for level in levels if level.randomness == "different"]
    if not different:
        return draw()
    first, *rest = different
    rows = [_repeated(rest, draw) for _ in range(first.size)]
    rows = [row if isinstance(row, Tensor) else new(row) for row in rows]
    return without_dim(FUNCTIONS["stack"](rows), first, 0)


def like(draw: Callable[..., Tensor]) -> Callable[..., Any]:
    """Decorate a function that draws a tensor of the sizes of its first argument, whose elements it
    does not look at. It draws for each example whatever the `randomness` where it is given a
    generator: that is another overload, which has no rule."""

    @functools.wraps(draw)
    def call(input, *args, **named):
        if "generator" in named and not STATE.drawing:
            return _with_generator(call.__name__, draw, input, args, named)
        levels = _levels()
        return _like(levels, input, lambda tensor: draw(tensor, *args, **named))

    return call


def _with_generator(name: str, draw: Callable[..., Tensor], input, args, named) -> Tensor:
    """The tensor that a function draws with a generator that is given, for each example of a batch:
    by ATen's fallback, but not as a view."""

    def drawn(tensor):
        batch = innermost((tensor,))
        if batch is None:
            return draw(tensor, *args, **named)
        vmap_rules.warn_slow(f"{name}.{overload}")
        vmap_rules.require_examples(f"{name}.{overload}", batch._level)
        return vmap_rules.by_example(drawn, (tensor,), batch._level)

    between = len(args) > 1 or named.get("high") is not None  # two bounds of integers
    overload = "low_generator_dtype" if between else "generator"
    return drawn(input)


def _like(levels: list, input: Tensor, draw: Callable[[Tensor], Tensor]) -> Tensor:
    if not levels:
        return draw(input)
    *outer, level = levels
    if level.randomness == "different":
        return without_dim(_like(outer, with_dim(input, level, 0), draw), level, 0)
    return _like(outer, _one(input, level), draw)


def _one(value: Any, level) -> Any:
    """The first example of a tensor that is batched at a level; any other value as it is."""
    if is_at(value, level):
        return value._value.select(value._dim, 0)
    return value


def filling(fill: Callable[..., Tensor]) -> Callable[..., Any]:
    """Decorate a function that fills its first argument in place."""

    @functools.wraps(fill)
    def call(self, *args, **named):
        _fill(_levels(), (self,), lambda tensor: fill(tensor, *args, **named))
        return self

    return call


def filling_by_values(fill: Callable[..., Tensor]) -> Callable[..., Any]:
    """Decorate a function that fills its first argument with draws for the elements of a tensor,
    its second."""

    @functools.wraps(fill)
    def call(self, values, *args):
        _fill(_levels(), (self, values), lambda *tensors: fill(*tensors, *args))
        return self

    return call


def _fill(levels: list, tensors: tuple, fill: Callable[..., Tensor]) -> None:
    """Fill a tensor, the first one, by the values of the others."""
    if not levels:
        fill(*tensors)
        return
    *outer, level = levels
    target, *values = tensors
    if any(is_at(one, level) for one in values):
        if level.randomness == "same":
            raise RuntimeError(_SAME)
        if not is_at(target, level):
            raise RuntimeError(_UNBATCHED)
    if level.randomness == "different":
        if not is_at(target, level):
            raise RuntimeError(_INPLACE)
        rank = max(one._raw.ndim for one in tensors)
        _fill(outer, tuple(vmap_rules.padded(one, rank, level) for one in tensors), fill)
    elif is_at(target, level):
        example = _one(target, level)
        one = new(np.empty(example._raw.shape, example._raw.dtype))  # of no level outside, too
        _fill(outer, (one, *values), fill)
        target.copy_(one)
    else:
        _fill(outer, tensors, fill)


def of_values(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that draws for the elements of its tensors."""

    signature = inspect.signature(draw)

    @functools.wraps(draw)
    def call(*args, **named):
        levels = _levels()
        if levels and named:
            bound = signature.bind(*args, **named)
            args, named = bound.args, bound.kwargs
        return _of_values(levels, draw, args, named)

    return call


def _aligned(args: tuple, level) -> tuple:
    """Arguments that broadcast behind the dimension that a level maps; if none of the tensors is
    batched the first one is expanded."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    rank = max(a._raw.ndim for a in tensors)
    if not any(is_at(a, level) for a in tensors):
        shape = tensors[0]._raw.shape
        shape = (level.size, *(1,) * (rank - len(shape)), *shape)
        return tuple(a.expand(shape) if a is tensors[0] else a for a in args)
    return tuple(vmap_rules.padded(a, rank, level) for a in args)


def _of_values(levels: list, draw: Callable[..., Any], args: tuple, named: dict) -> Any:
    if not levels:
        STATE.drawing, before = True, STATE.drawing
        try:
            return draw(*args, **named)
        finally:
            STATE.drawing = before
    *outer, level = levels
    if level.randomness == "different":
        found = _of_values(outer, draw, _aligned(args, level), named)
        if isinstance(found, tuple):
            return type(found)([without_dim(result, level, 0) for result in found])
        return without_dim(found, level, 0)
    if any(is_at(a, level) for a in args):
        raise RuntimeError(_SAME)
    return _of_values(outer, draw, args, named)
