"""`torch.torch_version`: a version that compares by its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A version as text, which compares with texts and tuples of numbers
    (torch.torch_version.TorchVersion)."""

    __slots__ = ()

    def __eq__(self, other: Any) -> bool:
        return self._numbers() == _numbers(other)

    def __lt__(self, other: Any) -> bool:
        return self._numbers() < _numbers(other)

    def __gt__(self, other: Any) -> bool:
        return self._numbers() > _numbers(other)

    def __le__(self, other: Any) -> bool:
        return self._numbers() <= _numbers(other)

    def __ge__(self, other: Any) -> bool:
        return self._numbers() >= _numbers(other)

    __hash__ = str.__hash__

    def _numbers(self) -> tuple[int, ...]:
        return _numbers(str(self))


def _numbers(version: str | Iterable[Any]) -> tuple[int, ...]:
    """The release of a version, without trailing zeros, so that 2.13 is 2.13.0."""
    if isinstance(version, str):
        release = re.match(r"[v\s]*(\d+(?:\.\d+)*)", version)
        parts = [int(part) for part in release[1].split(".")] if release else []
    else:
        parts = [int(part) for part in version]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
