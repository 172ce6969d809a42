"""Reinterpretation of memory as another dtype: `Tensor.view(dtype)`."""

from __future__ import annotations

from impl.core import inference_mode
from impl.core.dtypes import dtype as element_type
from impl.core.state import STATE
from impl.tensor import lazy_conj
from impl.tensor.aliases import alias
from impl.tensor.batched_tensor import BatchedTensor, batched, moved
from impl.tensor.geometry import Geometry, geometry
from impl.tensor.tensor import Tensor


def reinterpreted(tensor: Tensor, dtype: element_type) -> Tensor:
    """The memory of `tensor` as elements of `dtype`; the last dimension is scaled by their sizes.

    The result shares storage and version counter but is not a view to autograd: it has no history
    and does not require grad (torch.Tensor.view). Raises RuntimeError where sizes, strides or
    offset are not divisible, and for a set conj or neg bit unless the dtype stays the same.
    """
    if type(tensor) is BatchedTensor:
        _require_last(tensor, dtype)
        front = moved(tensor._value, tensor._dim, 0)
        return batched(reinterpreted(front, dtype), 0, tensor._level)
    given = tensor.dtype
    if dtype is given:
        same = alias(tensor, geometry(tensor))
        if STATE.inference:  # torch makes no view in this case, but a new tensor
            inference_mode.mark(same)
            return same
        if tensor._inference:
            inference_mode.detached(same)._inference = False
        return same
    _require_plain(tensor)
    _require_last(tensor, dtype)
    shape, strides, offset = geometry(tensor)
    before, after = given.itemsize, dtype.itemsize
    if before != after:
        way = _way(given, dtype)
        if before < after:
            _require_multiple("self.size(-1)", shape[-1], after // before, way)
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {way}, but got {strides[-1]}")
        if before > after:
            times = before // after
            shape = (*shape[:-1], shape[-1] * times)
            strides, offset = (*(s * times for s in strides[:-1]), 1), offset * times
        else:
            times = after // before
            _require_multiple("self.storage_offset()", offset, times, way)
            for i, step in enumerate(strides[:-1]):
                _require_multiple(f"self.stride({i})", step, times, way)
            shape = (*shape[:-1], shape[-1] // times)
            strides, offset = (*(s // times for s in strides[:-1]), 1), offset // times
    result = alias(tensor, Geometry(shape, strides, offset), dtype.numpy)
    if STATE.inference:  # a new tensor, as above
        inference_mode.mark(result)
    return result


def _way(given: element_type, dtype: element_type) -> str:
    return f"to view {given.legacy} as {dtype.legacy} (different element sizes)"


def _require_last(tensor: Tensor, dtype: element_type) -> None:
    """Raise RuntimeError for a tensor without dimensions, unless the sizes of elements agree."""
    if not tensor._raw.ndim and tensor.dtype.itemsize != dtype.itemsize:
        raise RuntimeError(f"self.dim() cannot be 0 {_way(tensor.dtype, dtype)}")


def _require_plain(tensor: Tensor) -> None:
    kinds = ("conjugate view tensors", "tensors with negative bit set")
    for bit, kind in zip(lazy_conj.conj_neg_bits(tensor), kinds, strict=True):
        if bit:
            raise RuntimeError(
                f"torch.Tensor.view is not supported for {kind} when converting to a different "
                "dtype."
            )


def _require_multiple(name: str, value: int, times: int, way: str) -> None:
    if value % times:
        raise RuntimeError(f"{name} must be divisible by {times} {way}, but got {value}")
