"""as_strided, and alias: the whole tensor as a view."""

from __future__ import annotations

from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.sizes import check_resized
from impl.core.strides import extent, may_overlap
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
        if 0 in size:
            check_resized(size)
        elif any(n < 0 and step for n, step in zip(size, stride, strict=True)):
            raise RuntimeError(  # torch computes with a negative size as if it were a large one
                f"Storage size calculation overflowed with sizes={list(size)} and "
                f"strides={list(stride)}"
            )
    return Geometry(tuple(size), tuple(stride), offset)


@as_strided.batches
def _as_strided_of_batch(args, level):
    batch, size, stride, *offset = args
    value = fronted(batch, level)
    if len(size) != len(stride):
        raise RuntimeError(
            "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got "
            f"size {[*size]} and stride {[*stride]}"
        )
    if min((*size, *stride), default=0) >= 0:
        _check_example(value, size, stride, *offset)
    steps = (value.stride(0), *stride)
    return hide(as_strided(value, (level.size, *size), steps, *offset), level)


def _check_example(value: Tensor, size, stride, storage_offset=None) -> None:
    """Raise RuntimeError for a view of an example, by the first one of a batch, that reaches beyond
    its elements (checkBasicAsStridedValidForSlice)."""
    begin = value.storage_offset()
    offset = begin if storage_offset is None else storage_offset
    reach, end = extent(size, stride), extent(value.shape[1:], value.stride()[1:])
    if not reach or (end and offset + reach <= begin + end and begin <= offset):
        return
    found = (
        f"`result` can access some memory in range [{offset}, {offset + reach}], but `tensor` can "
        f"only access some memory in range [{begin}, {begin + end}]. "
        if end
        else "`tensor` has no storage but the passed-in (size, stride, storage_offset) imply a "
        "result with some storage. "
    )
    raise RuntimeError(
        f"result = tensor.as_strided({[*size]}, {[*stride]}, {offset}) can access memory outside "
        f"of `tensor`. {found}This is not supported inside of vmap, please try to rewrite the "
        "`as_strided` call as a sequence of PyTorch view operations"
    )


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
