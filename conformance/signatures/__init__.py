"""The area `signatures`: every public function in the spellings that torch accepts and refuses.

`torch.txt` has a line per signature, in the order in which torch tries them, and after a tab a call
that torch accepts, which is left out for functions that are out of scope. A program per signature
has the call in other spellings (positional, by keyword, by NumPy's names, with NumPy's numbers,
...), another one has calls that torch refuses. `python.txt` is the same for the functions, modules
and optimisers that torch writes in Python; a third program of these has arguments of wrong types.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.program.program import Program
from conformance.signatures.python import read_python_table
from conformance.signatures.refusals import mistyped_calls, refused_calls
from conformance.signatures.spellings import accepted_calls
from conformance.signatures.table import Signature, read_table, tensors_of

AREA = "signatures"


def programs() -> Iterator[Program]:
    """The programs of all signatures, in the table's order."""
    overloads: dict[str, int] = {}
    for signature in (*read_table(), *read_python_table()):
        number = overloads[signature.name] = overloads.get(signature.name, 0) + 1
        identity = f"sig/{signature.name}/{number}"
        yield _program(f"{identity}/accepted", signature, "accepts", accepted_calls(signature))
        calls = refused_calls(signature, first=number == 1)
        yield _program(f"{identity}/refused", signature, "refuses", calls)
        mistyped = [] if signature.parsed_in_c else mistyped_calls(signature)
        if mistyped:
            yield _program(f"{identity}/mistyped", signature, "refuses for a type", mistyped)


def _program(identity: str, signature: Signature, verb: str, calls: list[str]) -> Program:
    calls = [call + signature.use for call in calls]
    seed = [] if signature.parsed_in_c else ["torch.manual_seed(0)"]
    lines = ["import numpy as np", "import torch", *seed, *tensors_of(calls)]
    for number, call in enumerate(calls, 1):
        unspecified = "  # unspecified" if signature.uninitialised else ""
        lines.append(f"y{number} = {call}{unspecified}")
    return Program(
        id=identity,
        area=AREA,
        source="\n".join(lines) + "\n",
        sentence=f"{signature}: spellings that torch {verb}",
    )
