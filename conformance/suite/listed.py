"""Programs in a list that is kept between processes: each is read when it is asked for.

Most runs are of a few areas. The heads, by which programs are selected, are read at once, in a
third of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import msgspec

from conformance.base.kept import packed, unpacked
from conformance.program.program import Program


class Written(msgspec.Struct, array_like=True, gc=False):
    """The head of a program, and the whole program as it is kept."""

    id: str
    area: str
    rule: str | None
    operator: str | None
    dtype: str | None
    whole: msgspec.Raw


def written(program: Program) -> Written:
    """The program as it is kept."""
    whole = msgspec.Raw(packed(program))
    head = (program.id, program.area, program.rule, program.operator, program.dtype)
    return Written(*head, whole)


class Listed(Sequence[Program]):
    """A sequence of programs; `heads` are theirs, or the programs themselves."""

    def __init__(self, programs: Iterable[Program | Written]) -> None:
        self.heads = list(programs)

    def __len__(self) -> int:
        return len(self.heads)

    @overload
    def __getitem__(self, place: int) -> Program: ...

    @overload
    def __getitem__(self, place: slice) -> list[Program]: ...

    def __getitem__(self, place: int | slice) -> Program | list[Program]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        found = self.heads[place]
        if isinstance(found, Written):
            found = self.heads[place] = unpacked(found.whole, Program)
        return found
