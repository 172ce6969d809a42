"""Operator samples: a table of operators, and the programs made from it."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.program import Program

from .activations import ACTIVATIONS, SOFTMAX
from .arithmetic import ARITHMETIC
from .copies import COPIES
from .extrema import EXTREMA
from .indexing import INDEXING
from .losses import LOSSES
from .matrices import MATRICES
from .operator import Operator
from .reductions import NORMS, REDUCTIONS
from .selection import COMPARISONS, ROUNDING, SELECTION
from .transcendental import TRANSCENDENTAL
from .variants import programs_of
from .views import VIEWS

__all__ = ["OPERATORS", "programs"]

OPERATORS: tuple[Operator, ...] = (
    *ARITHMETIC,
    *ROUNDING,
    *COMPARISONS,
    *SELECTION,
    *TRANSCENDENTAL,
    *ACTIVATIONS,
    *SOFTMAX,
    *REDUCTIONS,
    *NORMS,
    *EXTREMA,
    *MATRICES,
    *VIEWS,
    *COPIES,
    *INDEXING,
    *LOSSES,
)


def programs() -> Iterator[Program]:
    """Every operator sample; the same ones, with the same values, each time."""
    for operator in OPERATORS:
        yield from programs_of(operator)
