"""Layouts and memory formats: `torch.strided`, `torch.channels_last` (c10/core/MemoryFormat.h)."""

from __future__ import annotations

import numpy as np

from impl.core.named_types import FinalType
from impl.core.strides import element_strides, empty_strided, row_major, without_elements


class layout(metaclass=FinalType):
    """The layout of a tensor (torch.layout): `torch.strided`, or `torch.sparse_coo`."""

    __module__ = "impl"

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


class memory_format(metaclass=FinalType):
    """The strides of a copy (torch.memory_format): row-major, preserved, or channels innermost."""

    __module__ = "impl"

    def __init__(self, name: str, rank: int | None = None) -> None:
        self._name = name
        self._rank = rank  # of the tensors it applies to, for the channels-last formats

    def __reduce__(self) -> str:
        return self._name  # a global of the public module

    def strides(self, shape) -> tuple[int, ...] | None:
        """The strides of a tensor of that shape; None for row-major.

        Raises RuntimeError for a rank that the format does not support.
        """
        if self._rank is None:
            return None
        if len(shape) != self._rank:
            raise RuntimeError(f"required rank {self._rank} tensor to use {self._name} format")
        strides, step = [0] * self._rank, 1
        for dim in (1, *range(self._rank - 1, 1, -1), 0):
            strides[dim] = step
            step *= shape[dim]
        return tuple(strides)

    def describes(self, shape, strides) -> bool:
        """Whether strides are exactly those of this format; dimensions of size one are ignored."""
        wanted = self.strides(shape) if len(shape) == self._rank else None
        return wanted is not None and all(
            n == 1 or a == b for n, a, b in zip(shape, strides, wanted, strict=True)
        )

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def is_kept_by(self, shape, strides) -> bool:
        """Whether a tensor counts as being in this format (ATen's suggest_memory_format).

        Only the order of the strides counts; a tensor to which several formats apply is row-major.
        """
        if self is contiguous_format:
            formats = (channels_last, channels_last_3d)
            return not any(f.is_kept_by(shape, strides) for f in formats)
        if self._rank != len(shape) or 0 in shape or not strides[1]:
            return False
        least = 0
        for dim in (1, *range(len(shape) - 1, 1, -1), 0):
            if strides[dim] < least or (dim == 0 and least == strides[1]):
                return False
            least = strides[dim] * shape[dim]
        return True


strided = layout._make("strided")
sparse_coo = layout._make("sparse_coo")
contiguous_format = memory_format._make("contiguous_format")
preserve_format = memory_format._make("preserve_format")
channels_last = memory_format._make("channels_last", 4)
channels_last_3d = memory_format._make("channels_last_3d", 5)


def suggested(shape, strides) -> memory_format:
    """The memory format that the strides of a tensor suggest (ATen's suggest_memory_format)."""
    for candidate in (channels_last, channels_last_3d):
        if candidate.is_kept_by(shape, strides):
            return candidate
    return contiguous_format


def suggested_by(array: np.ndarray) -> memory_format:
    """`suggested` of an array."""
    return suggested(array.shape, element_strides(array))


def formatted(result: np.ndarray, format: memory_format) -> np.ndarray:
    """A copy of `result` in a memory format, in memory of its own."""
    strides = format.strides(result.shape)
    return row_major(result) if strides is None else laid_out(result, strides)


def laid_out(result: np.ndarray, strides) -> np.ndarray:
    """A copy of `result` with these strides, in memory of its own."""
    if 0 in result.shape:
        return without_elements(result.shape, strides, result.dtype)
    laid = empty_strided(result.shape, strides, result.dtype)
    owned = np.empty_like(laid)
    # A row-major array keeps strides of its own, in dimensions of size one, only as a view.
    if owned.strides == laid.strides and not owned.flags.c_contiguous:
        laid = owned
    laid[...] = result
    return laid


def formatted_as(result: np.ndarray, *sources: np.ndarray) -> np.ndarray:
    """A copy of `result` in the memory format suggested by the first of the `sources` that has its
    channels last; row-major if none has."""
    formats = (suggested_by(source) for source in sources)
    return formatted(result, next((f for f in formats if f._rank), contiguous_format))
