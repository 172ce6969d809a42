"""Builder of the specification's site: writes an index, chapter pages and a checklist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.base.levels import LEVELS
from conformance.base.outputs import writing
from conformance.execution.history import History, VersionView
from conformance.execution.recorded import Recorded
from conformance.execution.recordings import is_recorded
from conformance.history.changes import NOTED
from conformance.history.claims import claims
from conformance.history.steps import PLACES, Step, steps
from conformance.observe.fields import KINDS, compared_fields
from conformance.run_files.categories import CATEGORIES
from conformance.run_files.identity import torch_version
from conformance.run_files.qualified_claims import Claim, qualified_claims, texts
from conformance.run_files.run import Run
from conformance.suite.chapters import Chapter
from conformance.suite.metadata import STANDINGS, address
from conformance.suite.texts import Text
from reports.badge import Badge, badge, file_name, picture
from reports.categories import SYMBOLS, WORDS
from reports.folder import write_site
from reports.page import DRAWING_SCRIPTS, DRAWING_STYLES, STYLES, render
from reports.payload import json_text, packed
from reports.specification import indices
from reports.specification.parts import (
    PAGES,
    VERSIONS_PAGE,
    Part,
    Section,
    parts_of,
    prose_of,
    text_page,
)
from reports.specification.prose import Prose
from reports.specification.verdicts import ABSENT, Column, Counted, columns, counted, worst
from reports.specification.versions import (
    STATUS_SIGNS,
    STATUS_WORDS,
    neighbours,
    page_of,
    shifts,
)
from reports.summary import described
from reports.text import visible

SCRIPTS = {
    "torch": ("text.js", "theme.js", "specification/static.js"),
    "version": ("text.js", "theme.js", "specification/static.js"),
    "index": ("text.js", "unpack.js", "theme.js", "specification/search.js"),
    "checklist": ("text.js", "theme.js", "specification/checklist.js"),
    "text": ("text.js", "theme.js", "specification/static.js"),
    "names": ("text.js", "theme.js", "specification/filter.js"),
    "errors": ("text.js", "theme.js", "specification/filter.js"),
    "classes": ("text.js", "theme.js", "specification/static.js"),
    "chapter": (
        "text.js",
        "unpack.js",
        "values.js",
        "steps.js",
        *DRAWING_SCRIPTS,
        "theme.js",
        "specification/chapter.js",
    ),
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


@dataclass(frozen=True)
class Standing:
    """A run with the chapters that it covers completely, and the claims for these.

    `counted` has the counts behind the claim to each level.
    """

    column: Column
    whole: list[Part]
    counted: list[Counted]
    claims: list[Claim]

    @property
    def texts(self) -> list[str]:
        """The claims with their exceptions, those of levels with the same terms as one."""
        return [visible(text) for text in texts(self.claims)]

    @property
    def badges(self) -> list[Badge]:
        """A badge for each claim."""
        name = self.column.name
        return [
            badge(f"{file_name(name)}-{one.level}", name, one.level, f"{one.level}, {one.terms}")
            for one in self.claims
        ]


def build(
    chapters: Sequence[Chapter],
    recording: Recorded,
    runs: Iterable[Run],
    site: Path,
    tell: Callable[[str], None] = lambda _: None,
    texts: Sequence[Text] = (),
) -> list[str]:
    """Write the site into `site`; returns messages on programs without a trace in the recording.

    The output is a deterministic function of the input. If the recording is a version of the
    history, the pages also have the other versions. Raises OutputError if a file cannot be
    written, RecordingError for a damaged trace, ProgramError for a program that does not parse,
    MalformedNote for a note on a version that names none.
    """
    made = columns(runs)
    history = recording.history if isinstance(recording, VersionView) else None
    tell("reading the history")
    changed = steps(chapters, history) if history else []
    prose = prose_of(chapters, texts, changed)
    parts, missing = parts_of(chapters, texts, prose, recording, made, changed, tell)
    tell("writing the pages")
    files = _files(parts, texts, prose, recording, made, changed)
    with writing(site):
        write_site(site, files)
    return missing


def _files(
    parts: list[Part],
    texts: Sequence[Text],
    prose: Prose,
    recording: Recorded,
    made: list[Column],
    changed: list[Step],
) -> dict[str, str]:
    oracle = described(recording.oracle, exactly=True)
    common: dict[str, Any] = {
        "pages": (*PAGES, VERSIONS_PAGE) if changed else PAGES,
        "steps": changed,
        "page_of": page_of,
        "status_words": STATUS_WORDS,
        "status_signs": STATUS_SIGNS,
        "levels": LEVELS,
        "words": DRAWN,
        "symbols": SIGNS,
        "absent": ABSENT,
        "parts": parts,
        "texts": [(text_page(text), text.title) for text in texts],
        "address": address,
        "columns": made,
        "oracle": oracle,
        "worst": worst,
        "kinds": (*CATEGORIES, "not_applicable", ABSENT),
    }
    files = {
        part.page: _page("chapter", page=part.page, part=part, traces=_traces(part), **common)
        for part in parts
    }
    standings = [_standing(column, parts, recording) for column in made]
    for standing in standings:
        for made_badge in standing.badges:
            files[made_badge.file] = picture(made_badge)
    files["checklist.html"] = _page("checklist", page="checklist", **common)
    files["index.html"] = _page(
        "index",
        page="index",
        level_texts=LEVEL_TEXTS,
        fields={level: _fields(level) for level in LEVELS},
        standings=standings,
        claimed=_claimed(recording.oracle),
        recording=visible(_named(recording)),
        beside=BESIDE,
        index=packed(json_text(_index(parts))),
        **common,
    )
    files |= _text_pages(texts, prose, common) | _index_pages(parts, common)
    return files | _version_pages(parts, prose, changed, common)


def _text_pages(texts: Sequence[Text], prose: Prose, common: Mapping[str, Any]) -> dict[str, str]:
    """The pages without rules, each with links to the one before and the one behind."""
    names = [text_page(text) for text in texts]
    files = {}
    for at, text in enumerate(texts):
        prose.begin_page(terms=text.name != "definitions")
        files[names[at]] = _page(
            "text",
            page=names[at],
            title=text.title,
            prose=prose.markup(text.prose, anchored=True),
            before=texts[at - 1] if at else None,
            after=texts[at + 1] if at + 1 < len(texts) else None,
            text_page=text_page,
            **common,
        )
    return files


def _index_pages(parts: list[Part], common: Mapping[str, Any]) -> dict[str, str]:
    return {
        "names.html": _page("names", page="names", entries=indices.by_name(parts), **common),
        "errors.html": _page("errors", page="errors", entries=indices.by_error(parts), **common),
        "classes.html": _page(
            "classes",
            page="classes",
            classes=indices.by_class(parts),
            of_level=indices.by_level(parts),
            standings=STANDINGS,
            **common,
        ),
    }


def _version_pages(
    parts: list[Part], prose: Prose, changed: list[Step], common: Mapping[str, Any]
) -> dict[str, str]:
    """The pages of the versions, and the index of these; none without a history."""
    if not changed:
        return {}
    prose.begin_page(terms=False)
    beside = neighbours(changed)
    shared = {
        **common,
        "places": PLACES,
        "noted": NOTED,
        "shifts": shifts,
        "address_of": {section.rule.id: section.address for p in parts for section in p.sections},
        "programs": sum(len(part.chapter.programs) for part in parts),
    }
    files = {"torch.html": _page("torch", page="torch", **shared)}
    for step in changed:
        files[page_of(step.version)] = _page(
            "version",
            page=page_of(step.version),
            step=step,
            beside=beside[step.version],
            markup=prose.markup,
            **shared,
        )
    return files


def _named(recording: Recorded) -> str:
    """A recording's name in `--oracle recorded:NAME`."""
    if isinstance(recording, VersionView):
        return f"{recording.oracle['name']}-{recording.version}"
    return recording.path.name


def _page(name: str, **values: Any) -> str:
    return render(
        f"specification/{name}.html.j2",
        styles=(*STYLES, *DRAWING_STYLES, "specification/site.css"),
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


def _standing(column: Column, parts: list[Part], recording: Recorded) -> Standing:
    whole = [
        part for part in parts if all(entry.category != ABSENT for entry in part.entries(column))
    ]
    oracle = column.run.header["oracle"]
    if is_recorded(oracle["name"]) and oracle["version"] == recording.oracle["version"]:
        # A recording has its own name; the claim is about the recorded oracle.
        oracle = recording.oracle
    history = recording.history if isinstance(recording, VersionView) else None
    header = {**column.run.header, "oracle": oracle}
    if len(whole) < len(parts):
        areas = [part.chapter.area for part in whole]
        header["selection"] = {**header["selection"], "areas": areas}
    lines = [column.lines[program.id] for part in whole for program in part.chapter.programs]
    versions = _supported(header, lines, whole, history)
    counts = counted([entry for part in whole for entry in part.entries(column)], versions)
    name = "" if versions is not None else _claimed(oracle)
    return Standing(column, whole, counts, qualified_claims(header, lines, versions or {}, name))


def _supported(
    header: dict[str, Any],
    lines: list[dict[str, Any]],
    whole: list[Part],
    history: History | None,
) -> dict[str, list[str]] | None:
    """The versions of torch for which a run supports each level in these chapters.

    None where the oracle is not torch.
    """
    if torch_version(header) is None:
        return None
    programs = {program.id: program for part in whole for program in part.chapter.programs}
    return claims(header, lines, programs.get, history)


def _index(parts: list[Part]) -> list[Any]:
    """The search index: for each chapter its page and title, and its rules with their texts: ID,
    sentence, prose, and programs with the errors and warnings that they end in."""
    plain = Prose({}, {}).plain
    return [
        [
            part.page,
            part.chapter.title,
            [
                [
                    section.rule.id,
                    section.rule.sentence,
                    plain(section.rule.prose),
                    _programs(section),
                ]
                for section in part.sections
            ],
        ]
        for part in parts
    ]


def _traces(part: Part) -> str:
    """The parts of the traces from which the programs of a chapter are drawn, by their IDs."""
    examples = [one for section in part.sections for one in section.examples]
    return packed(json_text({one.program.id: one.drawn for one in examples if one.drawn}))


def _programs(section: Section) -> str:
    """The sources of a rule's programs, and the texts of their errors and warnings, each once."""
    texts = [one.program.source for one in section.examples]
    texts += [text for one in section.examples for text in one.said]
    return "\n".join(dict.fromkeys(texts))
