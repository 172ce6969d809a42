"""Seeds: the cotangents a backward starts from, given or implied, and the checks on them."""

from __future__ import annotations

import numpy as np

from impl.dtypes import BY_NUMPY, CATEGORY, COMPLEX
from impl.operator import new
from impl.tensor import Tensor


def as_tuple(grad_tensors, count: int) -> tuple:
    """The caller's seeds as a tuple: none for each of `count` roots, one tensor, or a sequence."""
    if grad_tensors is None:
        return (None,) * count
    if isinstance(grad_tensors, Tensor):
        return (grad_tensors,)
    return tuple(grad_tensors)


def cotangents(tensors, grads) -> list:
    """The seed of each root, implied (ones) where it is None and the root has one real element.

    None where a root that does not require grad has no seed. Raises RuntimeError when a seed has
    another shape than its root or is complex where it is real, when one cannot be implied, and
    when there are fewer seeds than roots; TypeError when one is no tensor
    (torch.autograd.backward).
    """
    result: list[Tensor | None] = []
    for out, cotangent in zip(tensors, grads, strict=False):
        if isinstance(cotangent, Tensor):
            _check_cotangent(grads, out, cotangent)
            result.append(cotangent)
        elif cotangent is None:
            result.append(_implicit(out) if out.requires_grad else None)
        else:
            raise TypeError(
                "gradients can be either Tensors or None, but got " + type(cotangent).__name__
            )
    # Cotangents in excess were dropped by the pairing, as torch drops them.
    if len(result) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(result)} gradients")
    return result


def _implicit(out: Tensor) -> Tensor:
    if out._raw.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    d = BY_NUMPY[out._raw.dtype]
    if not d.is_floating_point:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {d}"
        )
    return new(np.ones(out._raw.shape, out._raw.dtype))


def _check_cotangent(grads: tuple, out: Tensor, cotangent: Tensor) -> None:
    if cotangent._raw.shape != out._raw.shape:
        # torch finds the position by comparing tensors, which raises for any but the first.
        i = grads.index(cotangent)
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {cotangent.shape} and "
            f"output[{i}] has a shape of {out.shape}."
        )
    a, b = cotangent._raw.dtype, out._raw.dtype
    if (CATEGORY[a] == COMPLEX) != (CATEGORY[b] == COMPLEX):
        i = grads.index(cotangent)
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {BY_NUMPY[a]} and "
            f"output[{i}] has a dtype of {BY_NUMPY[b]}."
        )
