"""The device on which a factory makes its tensor, and how it makes one on the meta device."""

from __future__ import annotations

import inspect

from impl.core.devices import META, default_device
from impl.core.memory_formats import memory_format
from impl.core.meta_arrays import meta_strided
from impl.core.meta_functions import to_meta
from impl.factories.generator import Generator
from impl.tensor.allocation import meta_twin
from impl.tensor.tensor import Tensor, new


def place_of(given, source: Tensor | None):
    """The device of a factory's result: the one that is given, that of the tensor whose method it
    is or that the result is like, or the default one."""
    if given is not None:
        return given
    return default_device() if source is None else source.device


def made_on_meta(make, source: Tensor | None, sized: bool, args: tuple, named: dict) -> Tensor:
    """The result of a factory's maker on the meta device.

    The maker is called for no elements where it is given sizes, to see the dtype, and with a tensor
    of the meta device where the result is like one. It draws from no generator of the program's.
    """
    if "generator" in inspect.signature(make).parameters:
        named = {**named, "generator": Generator()}
    if source is not None:
        args = (new(meta_twin(source)), *args[1:])
    with META:
        if sized:
            return _sized(make, source is not None, args, named)
        return placed(make(*args, **named))


def _sized(make, place: int, args: tuple, named: dict) -> Tensor:
    size = args[place]
    order = named.pop("memory_format", None)
    made = make(*args[:place], (0,), *args[place + 1 :], **named)
    dtype = (made._raw if isinstance(made, Tensor) else made).dtype
    steps = order.strides(size) if isinstance(order, memory_format) else None
    return new(meta_strided(size, dtype, steps), steps)


def placed(made) -> Tensor:
    """An array or a tensor that a maker made as a tensor on the meta device."""
    if not isinstance(made, Tensor):
        return new(to_meta(made))
    return made if made.is_meta else new(meta_twin(made), made.stride())
