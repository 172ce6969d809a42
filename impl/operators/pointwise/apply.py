"""In-place application of a Python function to elements: apply_, map_, map2_; not recorded."""

from __future__ import annotations

import numpy as np

from impl.core.messages import tensor_type
from impl.core.registry import tensor_ops
from impl.dispatch.definition import function
from impl.factories.creation.literals import element_of
from impl.tensor.tensor import Tensor, requires_grad


def _check_gradients(name: str, tensors) -> None:
    if any(requires_grad(t) for t in tensors):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )


def _written(target: Tensor, others, call) -> Tensor:
    # As in ATen: the memory itself, whatever its conj or neg bit, one element after the other, and
    # without a new version.
    memory = target._array()
    rest = [tensor_ops.expand(t, memory.shape)._array() for t in others]
    for place in np.ndindex(memory.shape):
        made = call(*(array[place].item() for array in (memory, *rest)))
        memory[place] = element_of(made, target.dtype)
    return target


def _check_dtypes(name: str, target: Tensor, others: dict[str, Tensor]) -> None:
    """Raise TypeError for a tensor of another dtype than the one that is written."""
    for argument, other in others.items():
        if other.dtype is not target.dtype:
            wanted, given = tensor_type(target.dtype), tensor_type(other.dtype)
            raise TypeError(f"{name}: expected {wanted} for {argument} (got {given})")


@function(torch=False)
def apply_(self, callable):
    """Replace each element x by callable(x) (torch.Tensor.apply_).

    Raises RuntimeError for a tensor that requires grad.
    """
    _check_gradients("apply_", (self,))
    return _written(self, (), callable)


@function(torch=False)
def map_(self, other, callable):
    """Replace each element x by callable(x, y), y the element of `other`, which broadcasts
    (torch.Tensor.map_)."""
    _check_gradients("map_", (self, other))
    _check_dtypes("map_", self, {"'other'": other})
    return _written(self, (other,), callable)


@function(torch=False)
def map2_(self, x, y, callable):
    """`map_` with two other tensors, of a function of three elements (torch.Tensor.map2_)."""
    _check_gradients("map2_", (self, x, y))
    _check_dtypes("map2_", self, {"argument 'x'": x, "argument 'y'": y})
    return _written(self, (x, y), callable)
