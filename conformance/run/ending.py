"""The end of a run: its exit code, the files made of it, and its summary."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.base.outputs import reason
from conformance.compare.known import KnownDivergences
from conformance.execution.recorded import history
from conformance.execution.trace_file import RecordingError
from conformance.history.claims import claims
from conformance.output import junit, markdown
from conformance.output.causes import cause_lines
from conformance.run.plan import now
from conformance.run_files.causes import Cause, causes
from conformance.run_files.run import Run
from conformance.run_files.totals import exit_code, footer, is_failing, is_known, totals
from conformance.run_files.writing import RunWriter
from conformance.settings.settings import Settings
from conformance.suite.suite import Suite


@dataclass(frozen=True)
class Result:
    """The result of a run; ``exit`` is its exit code, ``files`` are those written."""

    header: Mapping[str, Any]
    lines: list[dict[str, Any]]
    stale: list[str]
    footer: dict[str, Any] | None
    exit: int
    settings: Settings
    files: Mapping[str, Path] = field(default_factory=dict)
    faults: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether every selected program was reached."""
        return self.footer is not None

    @property
    def run(self) -> Run:
        """The run as its file has it."""
        return Run(dict(self.header), self.lines, self.footer)

    @cached_property
    def causes(self) -> list[Cause]:
        """The causes of the run's divergences, in their order."""
        return causes(self.lines, self.settings.selection.levels)

    def code(self) -> int:
        """The command's exit code: 4 if a requested file was not written, and nothing diverges."""
        return 4 if self.faults and self.exit != 1 else self.exit


def ended(
    header: Mapping[str, Any],
    lines: list[dict[str, Any]],
    settings: Settings,
    suite: Suite,
    known: KnownDivergences,
    complete: bool,
    forgiven: bool = False,
    gone: Sequence[str] = (),
) -> Result:
    """Return the result of these lines; if ``forgiven``, a complete run always succeeds.

    ``gone`` are sentences about known divergences that are gone, beside those of the list.
    """
    levels = tuple(header["selection"]["levels"])
    stale = list(dict.fromkeys([*known.stale(lines, levels, suite.programs_of_rule()), *gone]))
    allowed = ("unsupported",) if settings.allow_unsupported else ()
    code = exit_code(lines, stale, allowed) if complete else 3
    if complete and forgiven:
        code = 0
    last = footer(lines, now(), code, stale) if complete else None
    if last is not None:
        last["claims"] = _claims(header, lines, suite)
    return Result(header, lines, stale, last, code, settings)


def _claims(
    header: Mapping[str, Any], lines: list[dict[str, Any]], suite: Suite
) -> dict[str, list[str]]:
    try:
        return claims(header, lines, suite.get, history())
    except RecordingError:
        return {}  # the programs say that the history is damaged


def written(result: Result, settings: Settings, writer: RunWriter | None) -> Result:
    """Write the run's files: end the run file, then those that ``settings`` ask for.

    A file that cannot be written is a fault of the result; the others are still written.
    """
    files: dict[str, Path] = {}
    faults = []
    makers: Sequence[tuple[str, Path | None, Callable[[Path], None]]] = (
        ("run file", writer.path if writer else None, lambda path: _end(writer, result.footer)),
        ("report", settings.report, lambda path: _report(result.run, path)),
        ("JUnit XML", settings.junit, lambda path: junit.write(result.run, path, settings)),
        ("summary", settings.summary, lambda path: markdown.write(result.run, path, settings)),
    )
    for what, path, make in makers:
        if path is None:
            continue
        try:
            make(path)
            files[what] = path
        except OSError as error:
            faults.append(f"the {what} {path} was not written: {reason(error)}")
        except Exception as error:
            faults.append(f"the {what} {path} was not written: {type(error).__name__}: {error}")
    return replace(result, files=files, faults=tuple(faults))


def _end(writer: RunWriter | None, footer: Mapping[str, Any] | None) -> None:
    assert writer is not None
    try:
        if footer is None:
            writer.abandon()
        else:
            writer.close(footer)
    except OSError as error:
        told = f"{reason(error)}; the lines that it has can be resumed (--resume)"
        raise OSError(error.errno, told) from None


def _report(run: Run, path: Path) -> None:
    importlib.import_module("reports.run").write(run, path)


def summary_lines(result: Result) -> list[str]:
    """The result of a run as plain lines: outcomes, causes, files, exit code."""
    counted = {name: n for name, n in totals(result.lines).items() if n}
    lines = [", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counted.items())]
    lines += cause_lines(result.causes, result.settings)
    lines += result.stale
    lines += [f"{what}: {path}" for what, path in result.files.items()]
    lines += result.faults
    lines.append(f"exit code {result.exit}: {meaning(result)}")
    return lines


def meaning(result: Result) -> str:
    """The meaning of a run's exit code, in words."""
    if not result.complete:
        return f"interrupted, {len(result.lines)} of {result.header['programs']} programs judged"
    if result.exit == 1:
        diverges = any(is_failing(line) for line in result.lines)
        return "something diverges" if diverges else "a known divergence is gone; remove its entry"
    if result.exit == 3:
        return "nothing diverges, but something was not compared"
    if any(line["outcome"] == "not_run" for line in result.lines):
        return "not run, and that was allowed (--if-available)"
    known = sum(1 for line in result.lines if is_known(line))
    but = f", but for {known} known divergences" if known else ""
    if lacking := sum(1 for line in result.lines if line["outcome"] == "unsupported"):
        return (
            f"everything compared conforms{but}; {lacking:,} programs are unsupported, and that "
            "was allowed (--allow-unsupported)"
        )
    if other := sum(1 for line in result.lines if line["outcome"] == "other_version"):
        return f"everything conforms, or shows another version of torch ({other:,} programs){but}"
    return f"everything conforms{but}"
