"""Choices: the random decisions of a program, all from one seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Choices:
    """Random decisions; the same seed decides the same, in every process and on every machine."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self._random.random() * len(options))]

    def integer(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self._random.random() * (high - low + 1))

    def chance(self, share: float) -> bool:
        """Whether an event happens that has this share of all cases."""
        return self._random.random() < share

    def weighted(self, options: Mapping[T, float]) -> T:
        """One of the options, each as often as its weight says."""
        at = self._random.random() * sum(options.values())
        for option, weight in options.items():
            at -= weight
            if at < 0:
                return option
        return next(reversed(list(options)))

    def sample(self, options: Sequence[Any], count: int) -> list[Any]:
        """Some of the options, in random order, none twice."""
        return self._random.sample(options, min(count, len(options)))
