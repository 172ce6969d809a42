"""The command `conform versions`: which torch backends follow where versions of torch differ."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace

from conformance.base.escapes import printable
from conformance.base.outputs import write_text, writing
from conformance.base.torch_versions import minor, ranges
from conformance.commands.processes import prepare_processes
from conformance.execution.history import History
from conformance.execution.recorded import history
from conformance.history.fit import Fit, Question, fit, questions
from conformance.output.display import cut
from conformance.output.terminal import Terminal
from conformance.program.program import Program
from conformance.run.plan import WrongInput, check_writable, one_paragraph, select_programs
from conformance.run.sides import NONE, child
from conformance.settings.settings import Settings, read_settings

AREAS = ("sweep", "docstrings", "laws", "signatures")
"""Areas of which the history holds no versions."""

NO_VERSION = "no version"
NOT_RUN = "–"


def versions(options: argparse.Namespace) -> int:
    """Say which versions of torch the backends follow, and write tables of it; always 0."""
    prepare_processes()
    settings = read_settings(options)
    names = options.backends or ["impl"]
    for path in (options.json_file, options.table):
        check_writable(path)
    left_out = tuple(dict.fromkeys((*settings.selection.without, *AREAS)))
    settings = replace(settings, selection=replace(settings.selection, without=left_out))
    _, programs = select_programs(settings)
    with one_paragraph():
        if (past := history()) is None:
            raise WrongInput("the history of torch is not installed (reference/history).")
        asked = _asked(programs, past, settings, options.oracle)
        fits = {name: _fit(replace(settings, backend=name), asked) for name in names}
    for name, (title, found) in fits.items():
        for line in told(title if title != name else name, found, asked, settings):
            print(printable(line))
    if options.json_file:
        with writing(options.json_file):
            write_text(options.json_file, json.dumps(document(fits, asked), indent=1) + "\n")
        print(f"versions: {options.json_file}")
    if options.table:
        with writing(options.table):
            write_text(options.table, markdown(fits, asked))
        print(f"table: {options.table}")
    return 0


def _asked(
    programs: Sequence[Program], past: History, settings: Settings, oracle: str
) -> list[Question]:
    """The programs on which versions differ, among them the oracle's, if the history lacks it."""
    levels = settings.selection.levels
    if oracle == NONE:
        return questions(programs, past, levels)
    with child(replace(settings, backend=oracle)) as process:
        version = minor(process.identity().version)
        if version is None:
            raise WrongInput(f"{oracle!r} is no torch whose version is known.")
        if version in past.versions:
            return questions(programs, past, levels)
        return questions(programs, past, levels, (version, process.trace))


def _fit(settings: Settings, asked: Sequence[Question]) -> tuple[str, Fit]:
    """The backend's name and version, and the versions of torch that it follows."""
    with child(settings) as process, Terminal(sys.stderr).status("") as status:
        found = process.identity()
        if found.unavailable:
            raise WrongInput(f"{settings.backend}: {found.unavailable}")
        title = f"{settings.backend} {found.version}"
        counted = [level for level in settings.selection.levels if level in found.levels]
        if not counted:
            raise WrongInput(f"{settings.backend} claims none of the levels asked for.")
        return title, fit(
            asked,
            process.trace,
            counted,
            lambda done: status.update(f"{title}: {done:,} of {len(asked):,} programs"),
        )


def told(title: str, found: Fit, asked: Sequence[Question], settings: Settings) -> list[str]:
    """The result for one backend as lines of text."""
    levels = ", ".join(settings.selection.levels)
    lines = [f"{title}: {len(asked):,} programs on which versions of torch differ ({levels})"]
    for version, (right, of) in found.counts(asked).items():
        share = f"{right / of:6.1%}" if of else ""
        lines.append(f"  torch {version:5} {right:5,} of {of:5,} {share}".rstrip())
    best = found.best(asked)
    lines.append(f"best fit: {'torch ' + ranges(best) if best else NO_VERSION}")
    none = [name for name, followed in found.followed.items() if not followed]
    if none:
        lines.append(f"as no version: {len(none):,} programs, such as {', '.join(none[:5])}")
    lines += [f"{kind}: {count:,} programs" for kind, count in found.not_compared.items()]
    others = [
        (question, followed)
        for question in asked
        if (followed := found.followed.get(question.program.id)) and not set(best) <= set(followed)
    ]
    if others:
        lines.append("otherwise than the best fit:")
        lines += [
            f"  {question.program.id:24} torch {ranges(followed)}: {cut(question.program.sentence)}"
            for question, followed in others[:20]
        ]
        if len(others) > 20:
            lines.append(f"  ... and {len(others) - 20:,} more (--json FILE has all)")
    return lines


def document(fits: dict[str, tuple[str, Fit]], asked: Sequence[Question]) -> dict[str, object]:
    """The results of all backends as a JSON object."""
    return {
        "programs": {
            question.program.id: {
                "rule": question.program.rule,
                "sentence": question.program.sentence,
                "answers": [list(versions) for versions, _ in question.answers],
            }
            for question in asked
        },
        "backends": {
            name: {
                "title": title,
                "best": list(found.best(asked)),
                "counts": {v: list(count) for v, count in found.counts(asked).items()},
                "followed": {name: list(which) for name, which in found.followed.items()},
                "not_compared": dict(found.not_compared),
            }
            for name, (title, found) in fits.items()
        },
    }


def markdown(fits: dict[str, tuple[str, Fit]], asked: Sequence[Question]) -> str:
    """A table in Markdown: a row per program, a column per backend with the versions it follows."""
    titles = [_plain(title) for title, _ in fits.values()]
    rows = [
        ["program", "about", "torch", *titles],
        ["---"] * (3 + len(titles)),
        ["best fit", "", "", *(_versions(found.best(asked)) for _, found in fits.values())],
    ]
    for question in asked:
        name = question.program.id
        cells = [
            _versions(found.followed[name]) if name in found.followed else NOT_RUN
            for _, found in fits.values()
        ]
        if any(cell != NOT_RUN for cell in cells):
            ways = " / ".join(ranges(versions) for versions, _ in question.answers)
            rows.append([name, _plain(cut(question.program.sentence, 90)), ways, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _versions(found: Sequence[str]) -> str:
    return ranges(found) if found else NO_VERSION


def _plain(text: str) -> str:
    """Text for a cell: what came from a backend cannot end it, nor be markup."""
    return "".join(f"\\{char}" if char in "\\`*_[]|<>#" else char for char in printable(text))
