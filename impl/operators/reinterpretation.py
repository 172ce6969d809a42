"""The same memory taken for elements of another dtype: `Tensor.view(dtype)`."""

from __future__ import annotations

from impl import pending
from impl.dtypes import dtype as element_type
from impl.geometries import Geometry, alias, geometry
from impl.tensor import Tensor


def reinterpreted(tensor: Tensor, dtype: element_type) -> Tensor:
    """The memory of `tensor` as elements of `dtype`, in which the last dimension counts.

    The result shares storage and version counter but is no view to autograd: it has no history and
    requires no grad (torch.Tensor.view). Raises RuntimeError where sizes, strides or offset do not
    divide, and for a pending conjugate or negative unless the dtype stays.
    """
    given = tensor.dtype
    if dtype is given:
        return alias(tensor, geometry(tensor))
    _require_plain(tensor)
    shape, strides, offset = geometry(tensor)
    before, after = given.itemsize, dtype.itemsize
    if before != after:
        way = f"to view {given.legacy} as {dtype.legacy} (different element sizes)"
        if not shape:
            raise RuntimeError(f"self.dim() cannot be 0 {way}")
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {way}, but got {strides[-1]}")
        if before > after:
            times = before // after
            shape = (*shape[:-1], shape[-1] * times)
            strides, offset = (*(s * times for s in strides[:-1]), 1), offset * times
        else:
            _require_whole(way, after // before, shape, strides, offset)
            times = after // before
            shape = (*shape[:-1], shape[-1] // times)
            strides, offset = (*(s // times for s in strides[:-1]), 1), offset // times
    return alias(tensor, Geometry(shape, strides, offset), dtype.numpy)


def _require_plain(tensor: Tensor) -> None:
    kinds = ("conjugate view tensors", "tensors with negative bit set")
    for bit, kind in zip(pending.bits(tensor), kinds, strict=True):
        if bit:
            raise RuntimeError(
                f"torch.Tensor.view is not supported for {kind} when converting to a different "
                "dtype."
            )


def _require_whole(way: str, times: int, shape, strides, offset: int) -> None:
    named = [("self.size(-1)", shape[-1])]
    named.append(("self.storage_offset()", offset))
    named += [(f"self.stride({i})", s) for i, s in enumerate(strides[:-1])]
    for name, value in named:
        if value % times:
            raise RuntimeError(f"{name} must be divisible by {times} {way}, but got {value}")
