"""The page of the changes between versions of torch, docs/versions.md: its maker.

`python tools/versions_page.py` replaces all that stands below its mark, from the history and from
the notes in the chapters. tests/test_versions_page.py fails where the page is not up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.execution.recorded import history
from conformance.history.changes import NEW, NOTED, REMOVED
from conformance.history.steps import PLACES, ChangedRule, Step, steps
from conformance.output.markdown import code, plain
from conformance.suite.chapters import read_spec
from reports.specification.versions import Shift, shifts

NOTICED = (
    ("TIES-37", "2.14"),
    ("TIES-38", "2.14"),
    ("TIES-10", "2.14"),
    ("LOSS-19", "2.14"),
    ("FIND-06", "2.14"),
    ("KINK-16", "2.10"),
    ("KINK-03", "2.8"),
    ("HOOKS-21", "2.8"),
    ("RANDOM-16", "2.7"),
    ("LIMIT-31", "2.5"),
)
"""The changes at the top of the page: a rule and the version that changed it."""

PAGE = Path(__file__).resolve().parents[1] / "docs" / "versions.md"
MARK = "<!-- What stands below is made by tools/versions_page.py. -->"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text("utf-8"), made()), "utf-8")


def made() -> list[Step]:
    """The steps between the versions of the history, newest first."""
    past = history()
    assert past is not None, "there is no history: reference/history is missing"
    return steps(read_spec(), past)


def page(written: str, found: Sequence[Step]) -> str:
    """The page with the introduction of the one that is written."""
    introduction, mark, _ = written.partition(MARK)
    assert mark, f"{PAGE} has no line {MARK}"
    return "\n".join([introduction + MARK, "", *lines(found), ""])


def lines(found: Sequence[Step]) -> Iterator[str]:
    """Yield the lines below the mark."""
    yield "## Ten changes to know\n"
    yield "| in | rule | what changed | program | before | after |"
    yield "|---|---|---|---|---|---|"
    for changed, step in noticed(found):
        shift = next(shifts(changed.changes, NOTED))
        yield (
            f"| {step.version} | {link(changed)} | "
            f"{_in_cell(f'{changed.rule.sentence}. *{_note(changed)}*')} | "
            f"{shift.program.id}, {_in_cell(_where(shift))} | {_in_cell(code(shift.before, 60))} | "
            f"{_in_cell(code(shift.after, 60))} |"
        )
    yield "\n## How much changed\n"
    yield "Programs of rules, at each level at which they changed. New are those for which the"
    yield "version before lacks a name; of removed ones the version itself lacks one.\n"
    yield f"| version | release | rules | {' | '.join(PLACES)} |"
    yield f"|---|---|{'--:|' * (len(PLACES) + 1)}"
    for step in found:
        counts = " | ".join(str(step.counts[place] or "") for place in PLACES)
        anchor = re.sub(r"[^\w\- ]", "", _title(step).lower()).replace(" ", "-")
        yield (
            f"| [{step.before} to {step.version}](#{anchor}) | {step.release} | "
            f"{len(step.rules)} | {counts} |"
        )
    for step in found:
        yield ""
        yield from _version(step)


def noticed(found: Sequence[Step]) -> Iterator[tuple[ChangedRule, Step]]:
    """Yield the changes of NOTICED with their steps; raises LookupError where there is none."""
    of_version = {step.version: step for step in found}
    for name, version in NOTICED:
        rules = {one.rule.id: one for one in of_version[version].rules if one.place in NOTED}
        if name not in rules:
            raise LookupError(f"{name} did not change in {version}; correct NOTICED")
        yield rules[name], of_version[version]


def link(changed: ChangedRule) -> str:
    """The rule's ID as a link to its place in its chapter."""
    heading = f"{changed.rule.id} {changed.rule.sentence}".lower()
    anchor = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
    return f"[{changed.rule.id}](../reference/spec/{changed.chapter.path.name}#{anchor})"


def _title(step: Step) -> str:
    return f"Changes in {step.version}"


def _version(step: Step) -> Iterator[str]:
    """Yield the lines of a version: values with notes and programs, then the other levels."""
    yield f"## {_title(step)}\n"
    for changed in step.at("values"):
        yield f"- **{link(changed)}** {changed.rule.sentence}."
        if note := _note(changed):
            yield f"  *{step.version}:* {note}"
        shift = next(shifts(changed.changes, ("values",)))
        yield (
            f"  {shift.program.id}, {_where(shift)}: {code(shift.before, 80)} became "
            f"{code(shift.after, 80)}."
        )
    titles = {"graph": "Graph", "memory": "Memory", NEW: "New names", REMOVED: "Removed names"}
    for place, title in titles.items():
        for number, changed in enumerate(step.at(place)):
            if not number:
                yield f"\n{title}:\n"
            yield f"- {link(changed)} {_note(changed) or changed.rule.sentence}"
    if texts := step.at("diagnostics"):
        rules = "rule" if len(texts) == 1 else "rules"
        yield f"\nOf {len(texts)} {rules} only texts or names of nodes changed."


def _note(changed: ChangedRule) -> str:
    """The notes on the change, with links to other chapters as they are from this page."""
    return re.sub(r"\]\((\d\d-[\w-]+\.md)", r"](../reference/spec/\1", changed.text)


def _where(shift: Shift) -> str:
    return plain(shift.where.partition(", ")[2])


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\\\\|", "\\|")


if __name__ == "__main__":
    main()
