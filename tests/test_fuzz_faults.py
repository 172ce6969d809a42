"""Faults planted in common operators: random programs find each of them soon, as one cause."""

from __future__ import annotations

import pytest

from conformance.fuzz.origins import Origin, origins
from conformance.fuzz.share import shares
from conformance.fuzz.themes import THEMES
from conformance.fuzz.workers import Zygote
from conformance.settings.settings import Settings

PROGRAMS = 2000
FAULTS = (
    *("add", "sub", "div", "pow", "exp", "log", "sin", "abs", "sigmoid", "tanh", "maximum"),
    *("where", "clamp", "amax", "index_select", "gather", "cat", "stack", "expand", "transpose"),
    *("sum", "mul", "mean", "max", "min", "matmul", "cumsum", "softmax", "norm", "select"),
)
"""Operators of `miniature.planted`, but for the one that is tried each time."""

ASTRAY = {
    "div": ("gradient of Log",),
    "mul": ("gradient of Add, AsStrided, CopySlices", "at the end"),
    "select": ("gradient of Topk",),
    "sum": ("at the end",),
}
"""Faults of which one program more each shows only in the graph of another operator, where that
operator's own backward is differentiated, or where all statements have run: the beginnings of the
causes."""


def found_in(name: str) -> list[Origin]:
    """The findings of a search through so many programs, in equal parts of every theme."""
    # A process of its own: the fault changes `impl`.
    zygote = Zygote(Settings(backend=f"miniature.planted:{name}", oracle="impl"))
    findings = dict[object, Origin]()
    try:
        for share in shares(examples=PROGRAMS // len(THEMES)):
            for found in zygote.share(share).found:
                findings.setdefault(found.cause, Origin(share, found))
        for one in findings.values():
            found = one.found
            found.statements, found.cause = zygote.shrink(found.statements, found.cause)
    finally:
        zygote.close()
    return origins(list(findings.values()))


@pytest.mark.parametrize(
    "name", ["relu", *(pytest.param(name, marks=pytest.mark.slow) for name in FAULTS)]
)
def test_a_fault_in_a_common_operator_is_found_as_one_cause(name):
    causes = {str(one.found.cause): one.found.count for one in found_in(name)}
    astray = [cause for cause in causes if cause.startswith(ASTRAY.get(name, ("nothing",)))]
    assert [causes.pop(cause) for cause in astray] == [1] * len(astray)
    assert len(causes) == 1, causes
    assert next(iter(causes)).startswith("gradient of ")
