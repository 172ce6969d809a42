"""Chapters as parts of the site: rules, examples, traces, verdicts, and other versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from conformance.execution.history import VersionView
from conformance.execution.recorded import ACCELERATOR, Recorded, history, saved_of
from conformance.execution.recordings import NotRecorded
from conformance.history import steps as of_versions
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.suite.chapters import Chapter, Rule
from conformance.suite.texts import (
    ALGORITHMS,
    ORDER,
    Step,
    Text,
    page_name,
    read_steps,
    steps_by_rule,
)
from reports.specification.drawings import drawn
from reports.specification.prose import Prose, anchor, defined
from reports.specification.source import highlighted
from reports.specification.traces import Observed, observed
from reports.specification.verdicts import Column, Entry
from reports.specification.versions import Strip, page_of, strip
from reports.summary import described

PAGES = (
    ("index", "index.html", "Chapters"),
    ("names", "names.html", "Names"),
    ("errors", "errors.html", "Errors"),
    ("classes", "classes.html", "Classes"),
    ("checklist", "checklist.html", "Checklist"),
)
VERSIONS_PAGE = ("torch", "torch.html", "Versions of torch")


@dataclass(frozen=True)
class Example:
    """A program of a rule: its source, the oracle's trace, and its standing in every run.

    `said` are the texts of the errors and warnings in the trace; `drawn` is the part of the trace
    from which the program is drawn. `elsewhere` describes the oracle of a program that needs an
    accelerator, where one was recorded; it is empty for the others.
    """

    program: Program
    lines: list[Any]
    steps: list[Observed]
    missing: str
    entries: list[Entry]
    said: list[str]
    drawn: dict[str, Any] | None
    elsewhere: str = ""


@dataclass(eq=False)
class Section:
    """A rule on its page, with the previous and the next rule across chapters."""

    rule: Rule
    page: str
    prose: Any
    examples: list[Example]
    strip: Strip | None
    steps: list[Step]
    before: Section | None = None
    after: Section | None = None

    @property
    def address(self) -> str:
        """The rule's address, valid from every page of the site."""
        return f"{self.page}#{self.rule.id}"

    def entries(self, column: Column) -> list[Entry]:
        """The entries of the rule's programs in one run."""
        return [entry for one in self.examples for entry in one.entries if entry.column is column]


@dataclass(frozen=True)
class Part:
    """A chapter with its page and its rules."""

    chapter: Chapter
    page: str
    prose: Any
    sections: list[Section]

    def entries(self, column: Column) -> list[Entry]:
        """The entries of the chapter's programs in one run."""
        return [entry for section in self.sections for entry in section.entries(column)]


def page_names(chapters: Iterable[Chapter]) -> list[str]:
    """The file name of each chapter's page, by its area: stable targets of links to rules."""
    names: list[str] = []
    taken = {file for _, file, _ in (*PAGES, VERSIONS_PAGE)}
    taken |= {f"{page_name(file)}.html" for file in ORDER}
    for chapter in chapters:
        name = f"{chapter.area}.html"
        names.append(f"{chapter.path.stem}.html" if name.lower() in taken else name)
        taken.add(names[-1].lower())
    return names


def parts_of(
    chapters: Sequence[Chapter],
    texts: Sequence[Text],
    prose: Prose,
    recording: Recorded,
    made: list[Column],
    changed: list[of_versions.Step],
    tell: Callable[[str], None],
) -> tuple[list[Part], list[str]]:
    """The chapters as parts of the site, and messages on programs without a trace.

    Raises RecordingError for a damaged trace, ProgramError for a program that does not parse.
    """
    steps = steps_by_rule(
        [step for text in texts if text.path.name == ALGORITHMS for step in read_steps(text)],
        chapters,
    )
    of_cpu = recording.history if isinstance(recording, VersionView) else None
    of_rule: dict[str, list[of_versions.ChangedRule]] = {}
    for step in changed:
        for one in step.rules:
            of_rule.setdefault(one.rule.id, []).append(one)
    parts: list[Part] = []
    missing: list[str] = []
    for chapter, page in zip(chapters, page_names(chapters), strict=True):
        tell(f"reading {chapter.title}")
        prose.begin_page()
        intro = prose.markup(chapter.prose)
        sections = []
        for rule in chapter.rules:
            examples = [_example(program, recording, made) for program in rule.programs]
            missing += [
                f"{one.program.id}: {one.missing}"
                for one in examples
                # The history is of the CPU, on which the rules about accelerators do not run.
                if one.missing and one.program.runs_on("cpu")
            ]
            # The history of the CPU says nothing about a rule on accelerators.
            known = any(program.runs_on("cpu") for program in rule.programs)
            found = strip(rule, of_cpu, of_rule.get(rule.id, ())) if of_cpu and known else None
            markup = prose.markup(rule.prose)
            sections.append(Section(rule, page, markup, examples, found, steps[rule.id]))
        parts.append(Part(chapter, page, intro, sections))
    for before, after in pairwise(section for part in parts for section in part.sections):
        before.after, after.before = after, before
    return parts, missing


def prose_of(
    chapters: Sequence[Chapter], texts: Sequence[Text], changed: Iterable[of_versions.Step]
) -> Prose:
    """The renderer of prose for chapters, texts, and the versions in the steps."""
    places = list(zip(chapters, page_names(chapters), strict=True))
    pages = {chapter.path.name: page for chapter, page in places}
    pages |= {text.path.name: text_page(text) for text in texts}
    rules = {rule.id: f"{page}#{rule.id}" for chapter, page in places for rule in chapter.rules}
    rules |= {f"{rule.partition('-')[0]}-*": at.partition("#")[0] for rule, at in rules.items()}
    terms = {
        term: f"{text_page(text)}#term-{anchor(terms[0])}"
        for text in texts
        if text.name == "definitions"
        for terms in defined(text.prose)
        for term in terms
    }
    return Prose(pages, rules, {step.version: page_of(step.version) for step in changed}, terms)


def text_page(text: Text) -> str:
    """The file name of a text's page."""
    return f"{text.name}.html"


def _example(program: Program, recording: Recorded, made: list[Column]) -> Example:
    trace: Trace | None = None
    missing = ""
    elsewhere = _on_an_accelerator(recording) if program.needs_accelerator else None
    recording = elsewhere or recording
    try:
        trace = recording.trace(program)
    except NotRecorded as error:
        missing = str(error)
    return Example(
        program,
        highlighted(program.paste()),
        observed(program, trace) if trace else [],
        missing,
        [column.entry(program, trace) for column in made],
        list(_said(trace)) if trace else [],
        drawn(trace, saved_of(recording, program)) if trace else None,
        described(elsewhere.oracle, exactly=True) if elsewhere and trace else "",
    )


def _on_an_accelerator(recording: Recorded) -> Recorded | None:
    """The newest version that was recorded on an accelerator, beside a recording of the CPU."""
    found = history(ACCELERATOR) if isinstance(recording, VersionView) else None
    return found.view(found.versions[0]) if found is not None else None


def _said(trace: Trace) -> Iterator[str]:
    """The texts of a trace's errors and warnings."""
    for step in trace.steps:
        yield from (f"{one['category']}: {one['message']}" for one in step.warnings)
        if step.error is not None:
            yield f"{step.error['type']}: {step.error['message']}"
