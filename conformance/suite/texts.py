"""Texts of the specification: its pages without rules, and the steps of its algorithms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from conformance.suite.chapters import Chapter, ChapterError, spec_directory, text_paths

ALGORITHMS = "00-algorithms.md"
ORDER = ("00-conformance.md", "00-definitions.md", "00-data-model.md", ALGORITHMS, "retired.md")
"""The texts in the order in which they are read; any others come behind."""

REFERENCE = re.compile(r"\b([A-Z][A-Z0-9]*)-(\d{2,}\b|\*)")
"""A rule (LEAF-01), or the rules of a chapter that no other step names (LEAF-*)."""


@dataclass(frozen=True)
class Text:
    """A page without rules: its title, and its Markdown below the title."""

    title: str
    prose: str
    path: Path

    @property
    def name(self) -> str:
        """The name of its page: `data-model`."""
        return page_name(self.path.name)


@dataclass(frozen=True)
class Step:
    """A numbered step of an abstract operation, with the rules that test it.

    `number` is that within the operation, `4.2` of a step within a step; empty for a remark on the
    whole operation.
    """

    operation: str
    number: str
    line: int
    references: tuple[str, ...]

    @property
    def name(self) -> str:
        """The step as it is quoted: `Backward 6`."""
        return f"{self.operation} {self.number}".strip()

    @property
    def anchor(self) -> str:
        """The part of its address behind `#`."""
        return self.name.replace(" ", "-")


def page_name(file: str) -> str:
    """The name of the page of a text's file: without its number and its ending."""
    return re.sub(r"^\d+-", "", file).removesuffix(".md")


def read_texts(directory: str | Path | None = None) -> list[Text]:
    """The texts in a folder of chapters, in reading order; without one, the project's own.

    Raises ChapterError for a text without a title, OSError if a file cannot be read.
    """
    where = spec_directory() if directory is None else Path(directory)
    paths = sorted(text_paths(where), key=_place)
    return [_read(path) for path in paths]


def _place(path: Path) -> tuple[int, str]:
    return (ORDER.index(path.name) if path.name in ORDER else len(ORDER), path.name)


def _read(path: Path) -> Text:
    title, _, prose = path.read_text(encoding="utf-8").partition("\n")
    if not title.startswith("# "):
        raise ChapterError(path, 1, "the title (# ...) is missing")
    return Text(title[2:].strip(), prose.strip(), path)


def read_steps(text: Text) -> list[Step]:
    """The steps of the abstract operations in a text, in order."""
    return list(numbered(MarkdownIt("commonmark").enable("table").parse(text.prose)))


def numbered(tokens: Iterable[Token]) -> Iterator[Step]:
    """The steps among the tokens of a text; each step's list item gets its anchor as its ID."""
    operation, counts, item = "", list[int](), list[Token]()
    heading = False
    for token in tokens:
        if token.type == "heading_open":
            heading = True
        elif token.type == "ordered_list_open":
            counts.append(0)
        elif token.type == "ordered_list_close":
            counts.pop()
        elif token.type == "list_item_open" and counts:
            counts[-1] += 1
            item.append(token)
        elif token.type == "list_item_close" and item:
            item.pop()
        elif token.type == "inline" and heading:
            operation, heading = token.content.partition("(")[0].strip(), False
        elif token.type == "inline" and operation:
            number = ".".join(str(count) for count in counts)
            found = tuple(match.group() for match in REFERENCE.finditer(token.content))
            line = token.map[0] + 1 if token.map else 0
            step = Step(operation, number, line, found)
            if item and "id" not in item[-1].attrs:
                item[-1].attrs["id"] = step.anchor
            if number or found:
                yield step


def steps_by_rule(steps: Iterable[Step], chapters: Iterable[Chapter]) -> dict[str, list[Step]]:
    """For each rule the steps that it tests: those that name it, or else those of its chapter."""
    rules = {rule.id: chapter for chapter in chapters for rule in chapter.rules}
    named: dict[str, list[Step]] = {}
    for step in steps:
        for reference in step.references:
            named.setdefault(reference, []).append(step)
    return {rule: named.get(rule) or _of_chapter(rule, named) for rule in rules}


def _of_chapter(rule: str, named: Mapping[str, list[Step]]) -> list[Step]:
    return named.get(f"{rule.partition('-')[0]}-*", [])
