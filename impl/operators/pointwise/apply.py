"""In-place application of a Python function to elements: apply_, map_, map2_; not recorded."""

from __future__ import annotations

import numpy as np

from impl.dispatch.definition import function
from impl.factories.creation.literals import element_of
from impl.tensor.tensor import Tensor, requires_grad


def _written(name: str, target: Tensor, others, call) -> Tensor:
    if any(requires_grad(t) for t in (target, *others)):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    # As in ATen: the memory itself, whatever its conj or neg bit, one element after the other, and
    # without a new version.
    memory = target._array()
    rest = [np.broadcast_to(t._array(), memory.shape) for t in others]
    for place in np.ndindex(memory.shape):
        made = call(*(array[place].item() for array in (memory, *rest)))
        memory[place] = element_of(made, target.dtype)
    return target


@function(torch=False)
def apply_(self, callable):
    """Replace each element x by callable(x) (torch.Tensor.apply_).

    Raises RuntimeError for a tensor that requires grad.
    """
    return _written("apply_", self, (), callable)


@function(torch=False)
def map_(self, tensor, callable):
    """Replace each element x by callable(x, y), y the element of `tensor`, which broadcasts
    (torch.Tensor.map_)."""
    return _written("map_", self, (tensor,), callable)


@function(torch=False)
def map2_(self, x, y, callable):
    """`map_` with two other tensors, of a function of three elements (torch.Tensor.map2_)."""
    return _written("map2_", self, (x, y), callable)
