"""Parameters of a distribution as its attributes: broadcast when given, expanded together."""

from __future__ import annotations

from collections.abc import Iterable
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
    super(cls, new).__init__(shape, validate_args=False)
    new._validate_args = distribution._validate_args
    return new


def rebuilt(distribution, cls: Any, batch_shape, instance) -> Any:
    """`distribution` expanded by `cls.expand`, where a transformed distribution does it itself."""
    new = distribution._get_checked_instance(cls, instance)
    return super(cls, distribution).expand(batch_shape, _instance=new)
