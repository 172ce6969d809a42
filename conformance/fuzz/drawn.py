"""Programs made of drawn statements, each of which is parsed and compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from conformance.program.program import Program, ProgramError, Statement

ID = "fuzz/drawn"
"""The ID of all programs while they are drawn; those that are kept have one of their own."""


@lru_cache(maxsize=1 << 14)
def statement(text: str) -> Statement:
    """The statement of that text; raises ProgramError for anything else."""
    program = Program(ID, "fuzz", text, "")
    found = program.statements
    if len(found) != 1:
        raise ProgramError(None, 1, f"{len(found)} statements in the place of one")
    return found[0]


def drawn(statements: Sequence[str]) -> Program:
    """The program of these statements; raises ProgramError where one of them does not parse."""
    made, line = [], 1
    for index, text in enumerate(statements):
        one = statement(text)
        shift = line - 1
        made.append(replace(one, index=index, line=one.line + shift, end_line=one.end_line + shift))
        line += text.count("\n") + 1
    program = Program(ID, "fuzz", "\n".join(statements) + "\n", "")
    program.__dict__["statements"] = made  # in the place of the cached property
    return program
