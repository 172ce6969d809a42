"""The names of layouts and memory formats: `torch.strided`, `torch.contiguous_format`."""

from __future__ import annotations

import numpy as np

from impl.storage import element_strides, empty_strided


class layout:
    """How a tensor keeps its elements; here always `torch.strided`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


class memory_format:
    """Which strides a copy gets: row-major, those of its source, or with the channels innermost."""

    def __init__(self, name: str, rank: int | None = None) -> None:
        self._name = name
        self._rank = rank  # of the tensors that can have their channels, dimension 1, innermost

    def strides(self, shape) -> tuple[int, ...] | None:
        """The strides of a tensor of that shape; None for row-major.

        Raises RuntimeError for a rank that the format is not made for.
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
        """Whether a tensor has the strides of this format; those of sizes of one do not matter."""
        wanted = self.strides(shape) if len(shape) == self._rank else None
        return wanted is not None and all(
            n == 1 or a == b for n, a, b in zip(shape, strides, wanted, strict=True)
        )

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def is_kept_by(self, shape, strides) -> bool:
        """Whether a tensor counts as being in this format, so that a conversion to it does nothing.

        Only the order of the strides counts; a tensor that may be both is row-major (ATen's
        suggest_memory_format).
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


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", 4)
channels_last_3d = memory_format("channels_last_3d", 5)


def suggested(shape, strides) -> memory_format:
    """The format that a tensor's own layout suggests for results of its shape."""
    for candidate in (channels_last, channels_last_3d):
        if candidate.is_kept_by(shape, strides):
            return candidate
    return contiguous_format


def suggested_by(array: np.ndarray) -> memory_format:
    """The format that an array's own layout suggests for results of its shape."""
    return suggested(array.shape, element_strides(array))


def formatted_as(result: np.ndarray, source: np.ndarray) -> np.ndarray:
    """An array in the format that the source's layout suggests."""
    strides = suggested_by(source).strides(result.shape)
    if strides is None:
        return np.ascontiguousarray(result)
    laid = empty_strided(result.shape, strides, result.dtype)
    laid[...] = result
    return laid
