"""Operator samples: a table of operators, and the programs made from it."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.program.program import Program
from conformance.samples.activations import ACTIVATIONS, SOFTMAX
from conformance.samples.arithmetic import ARITHMETIC
from conformance.samples.composed import COMPOSED
from conformance.samples.copies import COPIES
from conformance.samples.extrema import EXTREMA
from conformance.samples.forward import forward_programs_of
from conformance.samples.grids import GRIDS
from conformance.samples.indexing import INDEXING
from conformance.samples.layers import LAYERS
from conformance.samples.losses import LOSSES
from conformance.samples.matrices import MATRICES
from conformance.samples.operator import Operator
from conformance.samples.reductions import NORMS, REDUCTIONS
from conformance.samples.segments import SEGMENTS
from conformance.samples.selection import COMPARISONS, ROUNDING, SELECTION
from conformance.samples.sequences import SEQUENCES
from conformance.samples.systems import SYSTEMS
from conformance.samples.transcendental import TRANSCENDENTAL
from conformance.samples.utilities import UTILITIES
from conformance.samples.variants import programs_of
from conformance.samples.views import VIEWS

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
    *LAYERS,
    *SEQUENCES,
    *SYSTEMS,
    *COMPOSED,
    *UTILITIES,
    *SEGMENTS,
    *GRIDS,
)


def programs() -> Iterator[Program]:
    """Every operator sample; the same ones, with the same values, each time."""
    for operator in OPERATORS:
        yield from programs_of(operator)
        yield from forward_programs_of(operator)
