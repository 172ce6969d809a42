"""The names of layouts and memory formats: `torch.strided`, `torch.contiguous_format`."""

from __future__ import annotations


class layout:
    """How a tensor keeps its elements; here always `torch.strided`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


class memory_format:
    """Which strides a copy gets: row-major, or those of its source."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
