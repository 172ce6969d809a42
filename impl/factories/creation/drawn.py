"""Random tensors: rand, randn, randint, randperm."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import dtypes, inference_mode
from impl.core.messages import FORWARD_UNKNOWN
from impl.core.sizes import negative_size
from impl.core.state import STATE
from impl.dispatch import randomness
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import fill_out
from impl.factories.creation.constants import shaped_like
from impl.factories.creation.options import factory, listed, one_by_one, publish, type_of
from impl.factories.draws import draw_integers, draw_normal, draw_uniform
from impl.factories.generator import default_generator
from impl.tensor import write
from impl.tensor.forward_grad import has_tangent
from impl.tensor.tensor import Tensor, new
from impl.tensor.write import resize

_DEFAULT: Any = None, "generator"  # a generator that was not given


def _random(name: str, draw):
    @randomness.sized
    def drawn(size, *, generator=_DEFAULT, dtype=None, out=None) -> Tensor:
        given = generator is not _DEFAULT
        if not given:
            generator = None
        if out is None:
            result = new(np.empty(size, type_of(dtype)))
            draw(result, generator)
            return result
        if out._raw.shape != size:
            write.resize(out, size)
            if given or name == "randn":  # of which torch counts the resizing, too
                inference_mode.count(out)
        draw(out, generator)
        inference_mode.count(out)
        return out

    @randomness.like
    def like(input, *, generator=None, dtype=None, memory_format=None) -> Tensor:
        result = shaped_like(input, dtype, memory_format)
        draw(result, generator)
        return result

    drawn.__name__ = drawn.__qualname__ = name
    like.__name__ = like.__qualname__ = name + "_like"
    drawn.__doc__ = f"Random numbers of the given sizes (torch.{name})."
    like.__doc__ = f"Random numbers of the sizes, dtype and layout of `input` (torch.{name}_like)."
    publish(factory(like))
    return publish(factory(drawn, sized=one_by_one))


rand = _random("rand", lambda t, g: draw_uniform(t, 0, 1, g))
randn = _random("randn", lambda t, g: draw_normal(t, 0.0, 1.0, g))


def _bounds_and_sizes(low, high=None, size=None, **named):
    """Read the sizes of `randint`, which come last, and its bounds; the lower may not be given."""
    if isinstance(high, (tuple, list)):
        low, high, size = None, low, high
    elif high is None:
        low, high = None, low
    return listed(size, low, high, **named)


@publish
@factory(sized=_bounds_and_sizes)
@randomness.sized
def randint(size, low, high, *, generator=None, dtype=None, out=None) -> Tensor:
    """Random integers from low (0) up to but not including high (torch.randint).

    int64 unless a dtype is given. Raises RuntimeError for an empty range, before which `out` is
    resized.
    """
    if out is None:
        result = new(np.empty(size, (dtype or dtypes.int64).numpy))
    else:
        result = out
        if out._raw.shape != size:
            write.resize(out, size)
    draw_integers(result, int(low or 0), int(high), generator)
    if out is not None:
        inference_mode.count(out)
    return result


@publish
@factory
@randomness.like
def randint_like(
    input, low, high=None, *, generator=None, dtype=None, memory_format=None
) -> Tensor:
    """Random integers in the sizes and dtype of `input` (torch.randint_like)."""
    if high is None:
        low, high = 0, low
    if isinstance(high, Tensor) and high._raw.ndim:
        raise RuntimeError("high must be a scalar tensor and on CPU")
    if any(t.forward and t.wraps for t in STATE.transforms) and has_tangent(input):
        raise NotImplementedError(FORWARD_UNKNOWN.format("randint_like"))
    result = shaped_like(input, dtype, memory_format)
    draw_integers(result, int(low), int(high), generator)
    return result


# The largest permutation that is drawn as floating-point numbers, of which each is exact.
_EXACT = {
    dtypes.float16: (2**11 + 1, "2049"),
    dtypes.float32: (2**24 + 1, "2^24+1"),
    dtypes.float64: (2**53 + 1, "2^53+1"),
}


@publish
@factory
@randomness.repeated
def randperm(n, *, generator=None, dtype=None, out=None):
    """The integers below `n` in a random order (torch.randperm).

    Raises RuntimeError for integers that the dtype does not hold, NotImplementedError for bool and
    complex dtypes.
    """
    d = (dtype or dtypes.int64) if out is None else out.dtype
    if n < 0:
        raise negative_size([n]) if out is None else RuntimeError(f"n must be non-negative, got{n}")
    if d.category == dtypes.INTEGRAL and n - 1 > np.iinfo(d.numpy).max:
        raise RuntimeError(f"value cannot be converted to type {d.name}_t without overflow")
    if out is not None:
        resize(out, (n,))
    if d.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise not_implemented("randperm", d)
    limit, shown = _EXACT.get(d, (n, ""))
    if n > limit:
        raise RuntimeError(f"n cannot be greater than {shown} for {d.legacy} type.")
    drawn = (generator or default_generator).permutation(n).astype(d.numpy)
    if out is None:
        return drawn
    fill_out(out, drawn)
    return out
