"""as_strided, and alias: the whole tensor as a view."""

from __future__ import annotations

from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.sizes import check_resized
from impl.core.strides import may_overlap
from impl.dispatch.definition import OfArguments, written
from impl.dispatch.facts import SavedAs
from impl.dispatch.view_operator import view
from impl.dispatch.vmap_rules import fronted, hide
from impl.tensor.geometry import Geometry, check_offset
from impl.tensor.tensor import Tensor


@view(
    node="AsStridedBackward0",
    inplace_node="AsStridedBackward1",
    inplace=True,
    saved_as=SavedAs(parts=()),
    bounded=True,
)
def as_strided(self: Geometry, size, stride, storage_offset=None) -> Geometry:
    """A view with any sizes, strides and offset (in elements) over the storage."""
    offset = self.offset if storage_offset is None else storage_offset
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(stride)}"
        )
    check_offset(offset)
    if any(n < 0 for n in size):
        if 0 not in size:
            raise RuntimeError(_overflow(size, stride))
        check_resized(size)
    return Geometry(tuple(size), tuple(stride), offset)


@as_strided.batches
def _as_strided_of_batch(args, level):
    batch, size, stride, *offset = args
    value = fronted(batch, level)
    steps = (value.stride(0), *stride)
    return hide(as_strided(value, (level.size, *size), steps, *offset), level)


def _overflow(size, stride) -> str:
    """torch computes with a negative size as if it were a very large one."""
    if any(n < 0 and step for n, step in zip(size, stride, strict=True)):
        return (
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    return "numel: integer multiplication overflow"


def _writes(self, size, *_):
    """How often its gradient is written: also to divide it, where elements share memory."""
    divided = self._raw.size > 0 and 0 not in size and may_overlap(self._raw.shape, self.stride())
    return lambda arrived, made: 1 + divided


FUNCTIONS["as_strided_"] = Tensor.as_strided_  # torch has no other in-place view as a function
as_strided.gradient(
    self=written(
        lambda F, grad, self_layout, size, stride, storage_offset: F.as_strided_backward(
            grad, self_layout, size, stride, storage_offset
        ),
        OfArguments(_writes),
    )
)


@view(node="AliasBackward0", function=False, method=False)
def alias_(self: Geometry) -> Geometry:
    return self


alias_.gradient(self=lambda F, grad: grad).forward(lambda F, self_t: self_t)


def alias_view(tensor: Tensor) -> Tensor:
    """A view of the whole tensor, recorded as an operation (`x[...]`)."""
    return alias_(tensor)


tensor_ops.alias_view = alias_view
