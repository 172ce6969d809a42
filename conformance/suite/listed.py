"""Programs in a list that is kept between processes: each is read when it is asked for.

Most runs are of a few areas. What selects programs is read at once, in a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import msgspec

from conformance.base.kept import packed, unpacked
from conformance.program.program import Program


class Written(msgspec.Struct, array_like=True, gc=False):
    """What a program is selected by, and the whole program as it is kept."""

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
    """A sequence of programs; `heads` have what they are selected by."""

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
