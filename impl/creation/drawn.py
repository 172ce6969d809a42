"""Random tensors: rand, randn, randint, randperm."""

from __future__ import annotations

import numpy as np

from impl import dtypes, inference, inplace, random
from impl.creation.constants import shaped_like
from impl.creation.options import check_options, finish, publish, require, size_of, type_of
from impl.operator import new
from impl.sizes import sizes_of
from impl.tensor import Tensor


def _random(name: str, draw):
    def factory(
        *size,
        generator=None,
        dtype=None,
        requires_grad=False,
        device=None,
        pin_memory=False,
        layout=None,
        out=None,
        **named,
    ) -> Tensor:
        shape = size_of(name, size, named.pop("size", None))
        check_options(device, pin_memory)
        if out is not None:
            if out._raw.shape != shape:
                inplace.resize(out, shape)
            draw(out, generator)
            inference.count(out)
            return out
        result = new(np.empty(shape, type_of(dtype)))
        draw(result, generator)
        return require(result, requires_grad, name)

    def like(
        input,
        *,
        generator=None,
        dtype=None,
        requires_grad=False,
        device=None,
        layout=None,
        memory_format=None,
        pin_memory=False,
    ) -> Tensor:
        result = shaped_like(input, dtype, memory_format)
        draw(result, generator)
        return require(result, requires_grad, name + "_like")

    factory.__name__, like.__name__ = name, name + "_like"
    factory.__doc__ = f"Random numbers of the given sizes (torch.{name})."
    like.__doc__ = f"Random numbers of the sizes, dtype and layout of `input` (torch.{name}_like)."
    publish(like)
    return publish(factory)


rand = _random("rand", lambda t, g: random.draw_uniform(t, 0, 1, g))
randn = _random("randn", lambda t, g: random.draw_normal(t, 0.0, 1.0, g))


@publish
def randint(
    low,
    high=None,
    size=None,
    *,
    generator=None,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
) -> Tensor:
    """Random integers from low (0) up to but not including high (torch.randint).

    int64 unless a dtype is given. Raises RuntimeError for an empty range.
    """
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            "randint(): argument 'size' (position 2) must be tuple of ints, not "
            f"{type(high if size is None else size).__name__}"
        )
    check_options(device, pin_memory)
    result = new(np.empty(sizes_of((size,)), (dtype or dtypes.int64).numpy))
    random.draw_integers(result, int(low), int(high), generator)
    return require(result, requires_grad, "randint")


@publish
def randint_like(input, low, high=None, *, dtype=None, requires_grad=False, device=None) -> Tensor:
    """Random integers in the sizes and dtype of `input` (torch.randint_like)."""
    if high is None:
        low, high = 0, low
    result = shaped_like(input, dtype)
    random.draw_integers(result, int(low), int(high), None)
    return require(result, requires_grad, "randint_like")


@publish
def randperm(
    n,
    *,
    generator=None,
    dtype=None,
    requires_grad=False,
    device=None,
    pin_memory=False,
    layout=None,
) -> Tensor:
    """The integers below `n` in a random order (torch.randperm)."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    check_options(device, pin_memory)
    order = (generator or random.default_generator).permutation(n)
    return finish(order.astype((dtype or dtypes.int64).numpy), requires_grad, None, "randperm")
