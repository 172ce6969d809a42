"""Seeds: the cotangents a backward starts from, given or implied, and the checks on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import messages
from impl.core.devices import META
from impl.core.dtypes import BY_NUMPY, CATEGORY, COMPLEX, WIDE
from impl.core.memory_formats import preserve_format
from impl.core.meta_arrays import is_meta
from impl.core.meta_functions import to_meta
from impl.core.registry import tensor_ops
from impl.core.sizes import Size
from impl.core.state import STATE
from impl.graph.edge import GradientEdge
from impl.graph.input_metadata import device_of
from impl.tensor.tensor import DISPATCHING, Tensor, is_asked, new, requires_grad


def as_tuple(grad_tensors, count: int) -> tuple:
    """The caller's seeds as a tuple: none for each of `count` roots, one tensor, or a sequence."""
    if grad_tensors is None:
        return (None,) * count
    if isinstance(grad_tensors, Tensor):
        return (grad_tensors,)
    return tuple(grad_tensors)


def cotangents(tensors, grads, batched: bool = False) -> list:
    """The seed of each root, implied (ones) where it is None and the root has one real element.

    With `batched` a seed given is a batch of them, by its first dimension, and its first row is
    checked. None where a root that does not require grad has no seed. Raises RuntimeError when a
    seed has another shape than its root or is complex where it is real and when one cannot be
    implied; TypeError when one is no tensor (torch.autograd.backward).
    """
    result: list[Tensor | None] = []
    # Cotangents in excess are dropped by the pairing, as torch drops them.
    for out, cotangent in zip(tensors, grads, strict=False):
        if isinstance(out, GradientEdge):
            shape, dtype = out.node._shape_of(out.output_nr), out.node._dtype_of(out.output_nr)
        elif isinstance(out, Tensor):
            shape, dtype = out._raw.shape, out._raw.dtype
        else:
            raise AssertionError("Expected output to be a torch.Tensor")
        if isinstance(cotangent, Tensor):
            _check_cotangent(grads, out, shape, dtype, cotangent, batched)
            if not cotangent._raw.ndim and not STATE.batched:
                cotangent._array()  # memory, of which gradients may be views
            result.append(cotangent)
        elif cotangent is None:
            differentiable = isinstance(out, GradientEdge) or requires_grad(out)
            result.append(_implicit(out, shape, dtype) if differentiable else None)
        else:
            raise TypeError(
                "gradients can be either Tensors or None, but got " + type(cotangent).__name__
            )
    return result


def check_count(tensors, seeds: list) -> None:
    """Raise RuntimeError when there are fewer seeds than roots."""
    if len(seeds) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(seeds)} gradients")


def batch_size(seeds: list) -> int:
    """The first dimension that all seeds share; ValueError where one has none or another."""
    for seed in seeds:
        if seed is None:
            raise ValueError(messages.BATCHED_NONE)
        if not seed._raw.ndim:
            raise ValueError(messages.BATCHED_SCALAR)
    sizes = [len(seed) for seed in seeds]
    if len(set(sizes)) > 1:
        raise ValueError(messages.BATCH_SIZES.format(sizes))
    return sizes[0]


def _implicit(out, shape: tuple[int, ...], dtype: np.dtype) -> Tensor:
    if (STATE.dispatch_modes or DISPATCHING) and is_asked(out) and out.numel() == 1:
        options = {"pin_memory": False, "memory_format": preserve_format}
        return tensor_ops.dispatched_aten("ones_like", out, **options)
    on_meta = _is_on_meta(out)
    if not shape and dtype in WIDE and not on_meta:
        return new(dtype.type(1))
    if any(n != 1 for n in shape):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    d = BY_NUMPY[dtype]
    if not d.is_floating_point:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {d}"
        )
    ones = np.ones(shape, dtype) if shape else dtype.type(1)
    return new(to_meta(ones) if on_meta else ones)


def _is_on_meta(out) -> bool:
    """Whether a root is on the meta device."""
    if isinstance(out, GradientEdge):
        return device_of(out.node._input_meta(out.output_nr)) is META
    return is_meta(out._raw)


def _check_cotangent(grads: tuple, out, shape, dtype, cotangent: Any, batched: bool) -> None:
    first = cotangent[0] if batched else cotangent
    if first._raw.shape != shape:
        if batched and isinstance(out, GradientEdge):
            raise RuntimeError("Batched grads are not supported with GradientEdge")
        # torch finds the position by comparing tensors, which raises for any but the first.
        i = grads.index(cotangent)
        if batched:  # torch leaves the batch out twice
            raise RuntimeError(messages.BATCHED_SHAPE.format(i, first.shape[1:], i, Size(shape)))
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {cotangent.shape} and "
            f"output[{i}] has a shape of {Size(shape)}."
        )
    a = cotangent._raw.dtype
    if (CATEGORY[a] == COMPLEX) != (CATEGORY[dtype] == COMPLEX):
        i = grads.index(cotangent)
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {BY_NUMPY[a]} and "
            f"output[{i}] has a dtype of {BY_NUMPY[dtype]}."
        )
