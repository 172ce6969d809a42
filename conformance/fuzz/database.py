"""The operator database of an oracle as a source of programs: the sweep's samples, as text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from conformance.backends import Backend
from conformance.fuzz.draft import Draft
from conformance.sweep.entries import table
from conformance.sweep.sample import Sample

DTYPES = ("float64", "float32", "float32", "complex128", "int64", "bool", "float16", "bfloat16")
LARGEST = 64  # elements of a tensor: its values stand in the program's text
KEPT = 24  # samples of an entry


class Database:
    """The samples of an oracle's operator database; an oracle may have none."""

    def __init__(self, oracle: Backend) -> None:
        self.oracle = oracle
        self._loaded = False

    def load(self) -> bool:
        """Import the oracle's database, which takes seconds; False if that was done before."""
        if self._loaded:
            return False
        name, dtypes = _entries()[0]
        self._read(name, dtypes[0], 1)
        self._loaded = True
        return True

    def draw(self, draft: Draft) -> bool:
        """Add one sample of the database to the draft; False where there is none."""
        choices = draft.choices
        name, dtypes = choices.pick(_entries())
        dtype = choices.pick([d for d in DTYPES if d in dtypes] or dtypes)
        place = choices.integer(0, KEPT - 1)
        found = self._read(name, dtype, place + 1)
        if not found:
            return False
        sample = found[place % len(found)]
        for argument in sample.arguments:
            draft.attempt(argument.given().source())
        statement = sample.forward().split("\n")[0]
        if not draft.attempt(statement):
            draft.refuse(statement)
        return True

    def _read(self, name: str, dtype: str, count: int) -> list[Sample]:
        """The first samples of an entry; the database makes each of them anew, which takes time."""
        found: list[Sample] = []
        try:
            small = (s for s in self.oracle.samples(name, dtype) if _is_small(s))
            found.extend(islice(small, count))
        except Exception:  # an entry that this version of the database lacks
            return []
        return found


def _is_small(sample: Sample) -> bool:
    return all(argument.array.size <= LARGEST for argument in sample.arguments)


@lru_cache(maxsize=1)
def _entries() -> Sequence[tuple[str, Sequence[str]]]:
    """The entries of the database, each with the dtypes that it has samples of."""
    return tuple(table().items())
