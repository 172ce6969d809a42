"""Shards: parts of the suite that run separately, for example on several CI machines."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

_SHARD = re.compile(r"([0-9]{1,5})/([0-9]{1,5})")


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
    found = _SHARD.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a shard; they are 1/N, 2/N and so on to N/N, such as 2/8"
        )
    return Shard(int(found[1]), int(found[2]))
