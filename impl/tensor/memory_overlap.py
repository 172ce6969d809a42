"""Checks of memory overlap between the operands of a write (ATen/MemoryOverlap.h)."""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY, result_dtype
from impl.core.sizes import broadcast_shapes
from impl.core.strides import has_zero_strides, is_dense
from impl.core.warning import warn
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.tensor import Tensor


def check_memory(
    target: Tensor, operands, overlaps=False, disjoint: bool | str = False, resolves: bool = True
) -> None:
    """Raise RuntimeError if `target` cannot be written while the operands are read.

    Args:
        target: the tensor to be written.
        operands: the tensors to be read; other values are ignored.
        overlaps: internal overlap of the target is allowed (True), allowed with a deprecation
            warning (the name and example of its text), or an error (False).
        disjoint: whether full overlap with an operand is an error too, not only partial overlap.
        resolves: whether the operator resolves the conj and neg bits: a tensor with such a bit is
            then copied, so that it overlaps with nothing.
    """
    resolved = resolves and isinstance(target, LazyConjTensor)
    if resolved or not overlaps:
        check_overlap(target)
    elif overlaps is not True and _is_expanded(target):
        _warn_expanded(*overlaps)
    for operand in () if resolved else operands:
        if not isinstance(operand, Tensor) or (resolves and isinstance(operand, LazyConjTensor)):
            continue
        if operand._storage.buffer is target._storage.buffer:
            if disjoint:
                check_disjoint(target, operand)
            else:
                _check_partial_overlap(target, operand)


def check_fits(target: Tensor, value) -> None:
    """Check that an array can be written to `target`.

    Raises RuntimeError if the shape would change, and if the dtype cannot be cast.
    """
    check_shape(target._raw.shape, np.shape(value))
    check_cast(value.dtype, target._raw.dtype)


def check_shape(shape, made) -> None:
    """Raise RuntimeError unless a result that is written to a `shape` has it."""
    if made != shape:
        raise RuntimeError(messages.OUTPUT_SHAPE.format([*shape], [*made]))


def check_written(target, *operands) -> None:
    """Check that a result of the target (a raw value) and `operands` can be written to it.

    Raises RuntimeError if they do not broadcast, as `check_fits` otherwise.
    """
    check_shape(target.shape, broadcast_shapes(target.shape, *(o.shape for o in operands)))
    check_cast(result_dtype((target, *operands)).numpy, target.dtype)


def check_overlap(target: Tensor) -> None:
    """Raise RuntimeError for internal overlap of `target`, an expanded tensor."""
    if _is_expanded(target):
        raise RuntimeError(messages.OVERLAP)


def _warn_expanded(name: str, example: str) -> None:
    warn(
        f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
        f"performing this operation. This also applies to advanced indexing e.g. {example}",
    )


def check_cast(source, target) -> None:
    """Raise RuntimeError if a result of NumPy dtype `source` cannot be cast to `target`."""
    a, b = BY_NUMPY[source], BY_NUMPY[target]
    if a.category > b.category:
        raise RuntimeError(
            f"result type {a.legacy} can't be cast to the desired output type {b.legacy}"
        )


def _check_partial_overlap(target: Tensor, operand: Tensor) -> None:
    if operand is not target and _overlap(target, operand) == "partial":
        raise RuntimeError(messages.PARTIAL_OVERLAP)


def _overlap(a: Tensor, b: Tensor) -> str | None:
    """The overlap of two tensors: "full", "partial", or None (ATen's get_overlap_status).

    Only dense tensors are compared, by their address ranges; for others ATen answers "too hard",
    which counts as None.
    """
    if a._storage.buffer is not b._storage.buffer or not (a._raw.size and b._raw.size):
        return None
    if not (is_dense(a._raw.shape, a.stride()) and is_dense(b._raw.shape, b.stride())):
        return None
    (start, end), (first, last) = _range(a), _range(b)
    if start == first and end == last:
        same = a.stride() == b.stride() and a.element_size() == b.element_size()
        return "full" if same else "partial"
    return "partial" if start < last and first < end else None


def is_same_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have the same elements in the same memory, with the same bits."""
    return a is b or (
        a._storage.buffer is b._storage.buffer
        and a._offset == b._offset
        and a._raw.shape == b._raw.shape
        and a._raw.dtype == b._raw.dtype
        and a.stride() == b.stride()
        and a.is_conj() == b.is_conj()
        and a.is_neg() == b.is_neg()
    )


def share_memory(a: Tensor, b) -> bool:
    """Whether a tensor has some memory that another one, or a value that is none, has too."""
    return (
        isinstance(b, Tensor)
        and a._storage.buffer is b._storage.buffer
        and not isinstance(b, LazyConjTensor)
        and np.shares_memory(a._array(), b._array())
    )


def _range(tensor: Tensor) -> tuple[int, int]:
    """The range of bytes of its storage that a dense tensor covers, the end excluded."""
    size = tensor.element_size()
    return size * tensor._offset, size * (tensor._offset + tensor._raw.size)


def is_disjoint(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are not the same and share no memory."""
    return a is not b and _overlap(a, b) is None


def check_disjoint(target: Tensor, operand: Tensor) -> None:
    """Raise RuntimeError for any overlap of an operand with the tensor to be written."""
    if not is_disjoint(target, operand):
        raise RuntimeError(messages.PARTIAL_OVERLAP)


def _is_expanded(target: Tensor) -> bool:
    return target._strides is not None and has_zero_strides(target._raw.shape, target._strides)
