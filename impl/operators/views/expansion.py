"""Expansion: dimensions repeated by a stride of zero, without a copy."""

from __future__ import annotations

import numpy as np

from impl.core import messages, sizes
from impl.core.dtypes import WIDE
from impl.core.registry import tensor_ops
from impl.core.sizes import sizes_given
from impl.dispatch import view_operator
from impl.dispatch.definition import function
from impl.dispatch.vmap_rules import fronted, hide
from impl.tensor.geometry import Geometry


def _one_repeated(raw, size):
    """The kernel of expand, with a fast path for one element (the gradient of a full sum)."""
    if raw.ndim or raw.dtype not in WIDE or 0 in size:
        return expand_.kernel(raw, size)
    return np.ndarray(size, raw.dtype, np.asarray(raw), 0, (0,) * len(size))


@view_operator.view(node="ExpandBackward0", function=False, method=False, array=_one_repeated)
def expand_(self: Geometry, size) -> Geometry:
    shape, strides = self.shape, self.strides
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number "
            f"of dimensions in the tensor ({len(shape)})"
        )
    if not shape:
        sizes.check_resized(size)
        return Geometry(tuple(size), (0,) * len(size), self.offset)
    result = [*size]
    steps = [0] * len(size)
    for i in range(len(size) - 1, -1, -1):
        if i >= lead:
            have, step = shape[i - lead], strides[i - lead]
        else:
            have, step = 1, result[i + 1] * steps[i + 1]
        want = size[i]
        if want == -1:
            if i < lead:
                raise RuntimeError(_leading(want, i))
            want = have
        if want != have:
            if have != 1:
                raise RuntimeError(messages.not_expandable(i, have, want, shape, size))
            step = 0
        result[i], steps[i] = want, step
    sizes.check_resized(result)
    return Geometry(tuple(result), tuple(steps), self.offset)


def _leading(size: int, dim: int) -> str:
    return (
        f"The expanded size of the tensor ({size}) isn't allowed in a leading, non-existing "
        f"dimension {dim}"
    )


@expand_.batches
def _expand_of_batch(args, level):
    value, size = fronted(args[0], level), args[1]
    lead = len(size) - args[0]._raw.ndim
    if lead > 0:
        value = value.view(level.size, *(1,) * lead, *args[0]._raw.shape)
    return hide(tensor_ops.expand(value, (level.size, *size)), level)


expand_.gradient(self=lambda F, grad, self_shape: grad if self_shape else F.sum_all(grad))


@function("expand", torch=False)
def expand(self, *size, implicit=False, **named):
    """Dimensions of size one repeated, and new leading ones, without a copy (torch.Tensor.expand).

    Raises RuntimeError for a new size of a dimension whose size is not one.
    """
    size = sizes_given("size", size, named)
    check_dims(self, size)
    return tensor_ops.expand(self, size)


def check_dims(tensor, size) -> None:
    """Raise RuntimeError for fewer sizes than the tensor has dimensions."""
    if len(size) < tensor._raw.ndim:
        raise RuntimeError(messages.too_few_sizes(tensor.dtype, tensor._raw.shape, size))


@function("expand_as", torch=False)
def expand_as(self, other):
    """`self.expand(other.size())` (torch.Tensor.expand_as)."""
    return expand(self, other._raw.shape)


@function("broadcast_to")
def broadcast_to(input, *size, **named):
    """`input.expand(size)` (torch.broadcast_to)."""
    return expand(input, sizes_given("size", size, named))
