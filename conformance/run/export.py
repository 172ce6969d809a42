"""Export: programs in the neutral form with the oracle's traces, for ports that have no Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.base import schemas
from conformance.base.json_lines import dumps
from conformance.base.outputs import replacing, write_text
from conformance.base.release import version
from conformance.base.tolerances import TOLERANCES
from conformance.compare.known import KnownDivergences
from conformance.neutral.compile import FORM, NotNeutral, neutral
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.run.plan import WrongInput, oracle_identity
from conformance.run.sides import NONE
from conformance.settings.settings import Settings
from conformance.suite.docstrings import is_made_by_torch

PROGRAMS = "programs.jsonl"
LEFT_OUT = "left-out.jsonl"


@dataclass
class Exported:
    """The result of an export; `left_out` and `without_trace` hold reasons by program ID."""

    folder: Path
    programs: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    without_trace: dict[str, str] = field(default_factory=dict)


def export(
    settings: Settings,
    programs: Sequence[Program],
    folder: Path,
    told: Callable[[str], None] = lambda text: None,
) -> Exported:
    """Write the programs, and the schemas of the files, to ``folder``.

    ``told`` is called with the progress. Files are replaced at the end. Raises WrongInput
    for an oracle that is not available here, OSError.
    """
    judge = Judge(settings, KnownDivergences())
    try:
        oracle, unavailable = oracle_identity(judge.sides)
    except WrongInput as error:
        raise WrongInput(f"{error} (--oracle none exports programs without traces)") from None
    if unavailable:
        raise WrongInput(f"the oracle is not available here: {unavailable}")
    exported = Exported(folder)
    told("compiling")
    forms = list(_forms(programs, exported))
    exported.programs = len(forms)
    header = {
        "type": "header",
        "form": FORM,
        "suite": version(),
        "oracle": None if settings.oracle == NONE else oracle,
        "default_dtype": settings.default_dtype,
        "seed": settings.seed,
        "programs": len(forms),
        "left_out": len(exported.left_out),
        "tolerances": {dtype: limits._asdict() for dtype, limits in TOLERANCES.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in schemas.NAMES:
        write_text(folder / f"{name}.schema.json", schemas.text(name))
    with _replaced(folder / PROGRAMS) as write:
        write(header)
        for done, (program, form) in enumerate(forms):
            told(f"{done} of {len(forms)} programs")
            expected = _expected(judge, program, exported)
            write({"type": "program", "program": form, "expected": expected})
    judge.close()
    with _replaced(folder / LEFT_OUT) as write:
        for identifier, reason in exported.left_out.items():
            write({"id": identifier, "reason": reason})
    return exported


def _forms(
    programs: Sequence[Program], exported: Exported
) -> Iterator[tuple[Program, dict[str, Any]]]:
    for program in programs:
        if is_made_by_torch(program):
            reason = "it stands for material of torch: samples of an operator, or a docstring"
            exported.left_out[program.id] = reason
            continue
        try:
            yield program, neutral(program)
        except NotNeutral as refusal:
            exported.left_out[program.id] = str(refusal)


def _expected(judge: Judge, program: Program, exported: Exported) -> dict[str, Any] | None:
    if judge.settings.oracle == NONE:
        return None
    try:
        return judge.expected(program).to_json()
    except Exception as error:
        exported.without_trace[program.id] = f"the oracle: {type(error).__name__}: {error}"
        return None


@contextmanager
def _replaced(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """The writer of the lines of a file that replaces another one when it is complete."""
    with replacing(path) as file:

        def write(line: dict[str, Any]) -> None:
            # A lone surrogate becomes its JSON escape.
            file.write(dumps(line).encode("utf-8", "backslashreplace") + b"\n")

        yield write
