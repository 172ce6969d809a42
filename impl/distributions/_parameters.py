"""Parts of methods that several families share: parameters as attributes, which are broadcast when
they are given and expanded together, and checks of values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from impl.core.sizes import Size
from impl.distributions.utils import broadcast_all


def set_parameters(distribution, **parameters) -> Size:
    """Set parameters, broadcast against each other, as attributes; returns their shape.

    Numbers become tensors without dimensions. Raises ValueError for other types and RuntimeError
    for shapes that do not broadcast.
    """
    tensors = broadcast_all(*parameters.values())
    for name, tensor in zip(parameters, tensors, strict=True):
        setattr(distribution, name, tensor)
    return tensors[0].size()


def reads(path: str, doc: str | None = None) -> Any:
    """A property that is another attribute, such as a mean that is the parameter `loc`; of a path
    with dots, an attribute of an attribute."""
    return property(operator.attrgetter(path), doc=doc)


def validated(method: Callable) -> Any:
    """A method of a value, which raises ValueError for one outside the support if the distribution
    checks values."""

    @functools.wraps(method)
    def checking(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)

    return checking


def finished(new, distribution, cls: Any, batch_shape, event_shape=Size()) -> Any:
    """The end of `cls.expand`: `new`, whose parameters are set, gets its shapes without a check,
    and checks values if `distribution` does."""
    super(cls, new).__init__(batch_shape, event_shape, validate_args=False)
    new._validate_args = distribution._validate_args
    return new


def expanded(distribution, cls: Any, batch_shape, instance, names: Iterable[str]) -> Any:
    """`distribution` with a larger batch shape: its parameters of those names are expanded views.

    `cls` is the class whose `expand` this is. `instance` is filled where a subclass has made one;
    without it a subclass with a constructor of its own raises NotImplementedError. Names that are
    not among the attributes are left out: parameters that have not been computed.
    """
    new = distribution._get_checked_instance(cls, instance)
    shape = Size(batch_shape)
    for name in names:
        if name in vars(distribution):
            setattr(new, name, getattr(distribution, name).expand(shape))
    return finished(new, distribution, cls, shape)


def rebuilt(distribution, cls: Any, batch_shape, instance, names: Iterable[str] = ()) -> Any:
    """`distribution` expanded by `cls.expand`, where a transformed distribution does it itself, but
    for the parameters of those names."""
    new = distribution._get_checked_instance(cls, instance)
    for name in names:
        setattr(new, name, getattr(distribution, name).expand(batch_shape))
    return super(cls, distribution).expand(batch_shape, _instance=new)
