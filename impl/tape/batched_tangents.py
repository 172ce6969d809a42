"""Tangents of batched tensors: forward AD within `vmap`.

As the history, the tangent belongs to the physical tensor, the value in the batched tensors
(`impl.tensor.batched_tensor`); dimensions that these hide are ordinary ones of both. The tangent
may have more mapped dimensions than its primal: then it is a batched tensor over the others. Such a
primal is the same for all examples, and is repeated where it meets a tensor that is batched at that
level.
"""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import without_tangents
from impl.core.memory_formats import contiguous_format
from impl.core.registry import tensor_ops
from impl.core.strides import has_zero_strides
from impl.tape import dual_tensor
from impl.tensor import forward_grad
from impl.tensor.batched_tensor import (
    BatchedTensor,
    batched,
    explicit,
    hidden,
    in_front,
    is_within,
    levels_of,
    physical,
    with_dim,
)
from impl.tensor.nested import each
from impl.tensor.tensor import Tensor, requires_grad


def tangent_of(tensor: Tensor) -> Tensor | None:
    """The tangent of a tensor, batched as it is at least; None if it has none."""
    found = forward_grad.fw_grad(physical(tensor))
    if found is None:
        return None
    result = hidden(found, tensor)
    if type(found) is BatchedTensor and type(tensor) is BatchedTensor:
        return _in_order_of_levels(result)
    return result


def _in_order_of_levels(tangent: Tensor) -> Tensor:
    """A tangent whose mapped dimensions lie in memory from the outermost to the innermost, as torch
    computes it; one that is recorded, or expanded, stays as it is."""
    value = physical(tangent)
    if requires_grad(value) or has_zero_strides(value._raw.shape, value.stride()):
        return tangent
    levels = levels_of(tangent)
    made = physical(in_front(tangent)).clone(memory_format=contiguous_format)
    made._storage.version = value._storage.version
    for level in levels:
        made = batched(made, 0, level)
    return made


def dual(primal: Tensor, tangent: Tensor) -> Tensor:
    """A view of a primal, of which the view has the tangent; both may be batched, the tangent at
    more levels. Examples in the same memory are copied first, as each has a tangent of its own."""
    value = physical(primal)
    shared = has_zero_strides(value._raw.shape, value.stride())
    if shared and not has_zero_strides(primal._raw.shape, primal.stride()):
        value = value.clone(memory_format=contiguous_format)
    result = dual_tensor.unrelated(tensor_ops.alias_view(value))
    forward_grad.set_fw_grad(result, explicit(tangent, primal))
    return hidden(result, primal)


def lifted(value: Any, level) -> Any:
    """A tensor whose tangent is batched at a level, repeated to be batched there itself, as its
    tangent needs memory of the same layout; of a list each entry; any other value as it is."""
    return each(lambda one: _lifted(one, level), value) if forward_grad.is_used() else value


def _lifted(value: Any, level) -> Any:
    if not isinstance(value, Tensor):
        return value
    source = physical(value)
    found = forward_grad.tangents(source)
    if not any(is_within(tangent, level) for tangent in found.values()):
        return value
    with without_tangents():
        every = with_dim(source, level, 0).clone()
    forward_grad.at_each_level(_repeat, source, every, level)
    return hidden(batched(every, 0, level), value)


def _repeat(source: Tensor, every: Tensor, level) -> None:
    """Give a repeated tensor the tangent of its source at the current level, for each example."""
    tangent = forward_grad.fw_grad(source)
    if tangent is not None:
        forward_grad.set_fw_grad(every, with_dim(tangent, level, 0))
