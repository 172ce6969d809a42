"""A port with five mistakes at once, as a backend: `conform run --backend mutants.five:port`.

They are mutants of the catalogue that an author may well make in a first version, for a report of
many divergences with few causes.
"""

from __future__ import annotations

from types import ModuleType

from mutants.catalogue import catalogue, edits_of
from mutants.edits import edited

MISTAKES = (
    "grad_overwritten",
    "detach_counts_alone",
    "first_index_ties_in_amax",
    "relu_slope_one_at_zero",
    "no_version_check",
)
"""A gradient that replaces the one before, a lone version counter, two conventions at ties and
kinks, and a check that is missing."""


def __getattr__(name: str) -> ModuleType:
    """`port`, the namespace of the implementation with the mistakes."""
    if name != "port":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    chosen = [mutant for mutant in catalogue() if mutant.name in MISTAKES]
    return edited([edit for mutant in chosen for edit in edits_of(mutant)])
