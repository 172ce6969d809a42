"""Deprecated reshapes: Tensor.resize and Tensor.resize_as, out of place."""

from __future__ import annotations

import math

from impl.core.sizes import sizes_of
from impl.core.warning import warn
from impl.dispatch.definition import function
from impl.dispatch.record import Function
from impl.tensor.tensor import Tensor


class Resize(Function):
    """A view of other sizes and as many elements (torch.autograd._functions.Resize)."""

    @staticmethod
    def forward(ctx, tensor, sizes):
        ctx.input_sizes = tensor.size()
        if math.prod(sizes) != tensor.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in "
                f"total), but the given tensor has a size of "
                f"{'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). autograd's "
                "resize can only change the shape of a given tensor, while preserving the number "
                "of elements. "
            )
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.contiguous().view(ctx.input_sizes), None


def _warned(name: str) -> None:
    warn(f"non-inplace {name} is deprecated")


@function(torch=False)
def resize(self, *sizes) -> Tensor:
    """The same elements in other sizes (torch.Tensor.resize, deprecated).

    Raises RuntimeError for another number of elements.
    """
    _warned("resize")
    return Resize.apply(self, sizes_of(sizes))


@function(torch=False)
def resize_as(self, tensor) -> Tensor:
    """The same elements in the sizes of another tensor (torch.Tensor.resize_as, deprecated)."""
    _warned("resize_as")
    return Resize.apply(self, tuple(tensor.size()))
