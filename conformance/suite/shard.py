"""Shards: parts of the suite that run separately, for example on several CI machines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """The part ``number`` (from 1) of ``of`` parts."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def take(self, selected: Sequence[T]) -> list[T]:
        """This part of the selection: every ``of``-th, so that neighbours, which take about as
        long as each other, are in different parts."""
        return list(selected[self.number - 1 :: self.of])


def shard(text: str) -> Shard:
    """The shard that `K/N` names; raises ArgumentTypeError for anything else."""
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a shard; they are 1/N, 2/N and so on to N/N, such as 2/8"
        )
    return Shard(int(number), int(of))
