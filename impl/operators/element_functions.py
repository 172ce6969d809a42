"""Python functions applied to elements in place: apply_, map_, map2_; nothing is recorded."""

from __future__ import annotations

import numpy as np

from impl import inplace
from impl.operator import function
from impl.tensor import Tensor, requires_grad


def _written(name: str, target: Tensor, others, call) -> Tensor:
    if any(requires_grad(t) for t in (target, *others)):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    raws = [np.broadcast_to(t._raw, target._raw.shape) for t in (target, *others)]
    values = [call(*elements) for elements in zip(*(r.ravel().tolist() for r in raws), strict=True)]
    result = np.array(values).astype(target._raw.dtype).reshape(target._raw.shape)
    inplace.write(target, result)
    return target


@function(torch=False)
def apply_(self, callable):
    """Each element replaced by what a function makes of it (torch.Tensor.apply_).

    Raises RuntimeError for a tensor that requires grad.
    """
    return _written("apply_", self, (), callable)


@function(torch=False)
def map_(self, tensor, callable):
    """Each element replaced by what a function makes of it and another tensor's, which broadcasts
    (torch.Tensor.map_)."""
    return _written("map_", self, (tensor,), callable)


@function(torch=False)
def map2_(self, x, y, callable):
    """`map_` of two other tensors (torch.Tensor.map2_)."""
    return _written("map2_", self, (x, y), callable)
