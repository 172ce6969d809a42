"""Builder of the specification's site: writes an index, chapter pages and a checklist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from conformance.base.levels import LEVELS
from conformance.execution.recordings import NotRecorded, Recording, is_recorded
from conformance.observe.fields import KINDS, compared_fields
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.run_files.categories import CATEGORIES
from conformance.run_files.run import Run
from conformance.suite.chapters import Chapter, Rule
from reports.categories import SYMBOLS, WORDS
from reports.folder import write_site
from reports.page import STYLES, render
from reports.payload import json_text, packed
from reports.specification.prose import Prose
from reports.specification.source import highlighted
from reports.specification.traces import Observed, observed
from reports.specification.verdicts import ABSENT, Claim, Column, Entry, claims, columns, worst
from reports.summary import described
from reports.text import listed, visible

PAGES = (("index", "index.html", "Chapters"), ("checklist", "checklist.html", "Checklist"))
SCRIPTS = {
    "index": ("text.js", "unpack.js", "theme.js", "specification/search.js"),
    "checklist": ("text.js", "theme.js", "specification/checklist.js"),
    "chapter": ("text.js", "theme.js", "specification/chapter.js"),
}
DRAWN = {**WORDS, ABSENT: "not in the run"}
SIGNS = {**SYMBOLS, ABSENT: "·"}

LEVEL_TEXTS = {
    "values": "What is computed, and what is refused. A port that meets it gets the same numbers.",
    "graph": "What is recorded: which tensors require a gradient, are leaves, and keep theirs.",
    "memory": "What is shared and written: storages, versions, strides, views, and whether `.grad` "
    "is added to in place.",
    "diagnostics": "What a user reads when something is wrong: the names of nodes and edges, and "
    "the texts of errors and warnings.",
}
BESIDE: dict[str, list[str]] = {
    "values": ["whether a statement raises", "the error's class"],
    "diagnostics": ["the error's text", "warnings"],
}
"""Aspects of a statement, rather than of a value, that are compared, by level."""


class SiteError(Exception):
    """The site cannot be written; the message names the file and the error."""


@dataclass(frozen=True)
class Example:
    """A program of a rule: its source, the oracle's trace, and its standing in every run."""

    program: Program
    lines: list[Any]
    steps: list[Observed]
    missing: str
    entries: list[Entry]


@dataclass(eq=False)
class Section:
    """A rule on its page, with the previous and the next rule across chapters."""

    rule: Rule
    page: str
    prose: Any
    examples: list[Example]
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


@dataclass(frozen=True)
class Standing:
    """A run with the chapters that it covers completely, and the claims for these.

    `oracle` is the name in a claim, `torch 2.13`.
    """

    column: Column
    whole: list[Part]
    claims: list[Claim]
    oracle: str

    @property
    def text(self) -> str:
        """The levels of the claim, `values and graph`; empty where there is none."""
        return listed([claim.level for claim in self.claims if claim.holds])

    @property
    def unsupported(self) -> int:
        """The number of programs that the claim has to except."""
        entries = [entry for part in self.whole for entry in part.entries(self.column)]
        return sum(entry.category == "unsupported" for entry in entries)

    @property
    def areas(self) -> str:
        """The areas to which the claim is restricted."""
        return visible(listed([part.chapter.area for part in self.whole]))


def build(
    chapters: Sequence[Chapter],
    recording: Recording,
    runs: Iterable[Run],
    site: Path,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Write the site into `site`; returns messages on programs without a trace in the recording.

    The output is a deterministic function of the input. Raises SiteError if a file cannot be
    written, RecordingError for a damaged trace, ProgramError for a program that does not parse.
    """
    made = columns(runs)
    parts, missing = _parts(chapters, recording, made, tell)
    tell("writing the pages")
    files = _files(parts, recording, made)
    try:
        write_site(site, files)
    except OSError as error:
        raise SiteError(f"{site}: cannot be written: {error.strerror or error}.") from None
    return missing


def page_names(chapters: Iterable[Chapter]) -> list[str]:
    """The file name of each chapter's page, by its area: stable targets of links to rules."""
    names: list[str] = []
    taken = {file for _, file, _ in PAGES}
    for chapter in chapters:
        name = f"{chapter.area}.html"
        names.append(f"{chapter.path.stem}.html" if name.lower() in taken else name)
        taken.add(names[-1].lower())
    return names


def _parts(
    chapters: Sequence[Chapter],
    recording: Recording,
    made: list[Column],
    tell: Callable[[str], None],
) -> tuple[list[Part], list[str]]:
    pages = page_names(chapters)
    places = list(zip(chapters, pages, strict=True))
    prose = Prose(
        {chapter.path.name: page for chapter, page in places},
        {rule.id: f"{page}#{rule.id}" for chapter, page in places for rule in chapter.rules},
    )
    parts: list[Part] = []
    missing: list[str] = []
    for chapter, page in places:
        tell(f"reading {chapter.title}")
        sections = []
        for rule in chapter.rules:
            examples = [_example(program, recording, made) for program in rule.programs]
            missing += [f"{one.program.id}: {one.missing}" for one in examples if one.missing]
            sections.append(Section(rule, page, prose.markup(rule.prose), examples))
        parts.append(Part(chapter, page, prose.markup(chapter.prose), sections))
    for before, after in pairwise(section for part in parts for section in part.sections):
        before.after, after.before = after, before
    return parts, missing


def _example(program: Program, recording: Recording, made: list[Column]) -> Example:
    trace: Trace | None = None
    missing = ""
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
    )


def _files(parts: list[Part], recording: Recording, made: list[Column]) -> dict[str, str]:
    oracle = described(recording.oracle, exactly=True)
    common: dict[str, Any] = {
        "pages": PAGES,
        "levels": LEVELS,
        "words": DRAWN,
        "symbols": SIGNS,
        "absent": ABSENT,
        "parts": parts,
        "columns": made,
        "oracle": oracle,
        "worst": worst,
        "kinds": (*CATEGORIES, "not_applicable", ABSENT),
    }
    files = {part.page: _page("chapter", page=part.page, part=part, **common) for part in parts}
    files["checklist.html"] = _page("checklist", page="checklist", **common)
    files["index.html"] = _page(
        "index",
        page="index",
        level_texts=LEVEL_TEXTS,
        fields={level: _fields(level) for level in LEVELS},
        standings=[_standing(column, parts, recording) for column in made],
        claimed=_claimed(recording.oracle),
        recording=visible(recording.path.name.removesuffix(".xz").removesuffix(".jsonl")),
        beside=BESIDE,
        index=packed(json_text(_index(parts))),
        **common,
    )
    return files


def _page(name: str, **values: Any) -> str:
    return render(
        f"specification/{name}.html.j2",
        styles=(*STYLES, "specification/site.css"),
        scripts=SCRIPTS[name],
        **values,
    )


def _fields(level: str) -> list[str]:
    """The names of the fields compared at a level, as in traces."""
    kinds = dict.fromkeys(("tensor", "grad", *KINDS))
    names = [
        f"grad.{field.name}" if of == "grad" else field.name
        for of in kinds
        for field in compared_fields(of)
        if field.level == level
    ]
    return list(dict.fromkeys(names))


def _claimed(oracle: dict[str, Any]) -> str:
    """An oracle's name in a claim, without the parts of its version that leave behaviour alike."""
    version = ".".join((oracle["version"] or "").split(".")[:2])
    return visible(f"{oracle['name']} {version}".strip())


def _standing(column: Column, parts: list[Part], recording: Recording) -> Standing:
    whole = [
        part for part in parts if all(entry.category != ABSENT for entry in part.entries(column))
    ]
    found = claims([entry for part in whole for entry in part.entries(column)])
    oracle = column.run.header["oracle"]
    if is_recorded(oracle["name"]) and oracle["version"] == recording.oracle["version"]:
        # A recording has its own name; the claim is about the recorded oracle.
        oracle = recording.oracle
    return Standing(column, whole, found, _claimed(oracle))


def _index(parts: list[Part]) -> list[Any]:
    """The search index: for each chapter its page and title, and its rules with their texts."""
    plain = Prose({}, {}).plain
    return [
        [
            part.page,
            part.chapter.title,
            [
                [section.rule.id, section.rule.sentence, plain(section.rule.prose)]
                for section in part.sections
            ],
        ]
        for part in parts
    ]


__all__ = ["SiteError", "build"]
