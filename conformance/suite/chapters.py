"""Chapters of the specification: Markdown files read as rules and their example programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from conformance.base.file_error import FileError
from conformance.base.kept import kept
from conformance.base.reference import reference_folder
from conformance.program.program import Program, ProgramError, shown_path
from conformance.suite.metadata import DEFAULTS, MalformedMetadata, Metadata, read_metadata
from conformance.suite.sources import sources

_HEADING = re.compile(r"(?P<prefix>[A-Z][A-Z0-9]*)-(?P<number>\d{2,}) +(?P<sentence>\S.*)")
_FILE_NUMBER = re.compile(r"\d+[-_]")


class ChapterError(FileError):
    """A chapter that cannot be read."""


@dataclass(frozen=True)
class Rule:
    """One sentence with its examples; `prose` is Markdown without examples and metadata.

    `line` is that of its heading, `end` that of its last line.
    """

    id: str
    sentence: str
    prose: str
    line: int
    end: int
    programs: tuple[Program, ...]
    metadata: Metadata = DEFAULTS


@dataclass(frozen=True)
class Chapter:
    """A chapter's title, the area that its programs belong to, and its rules in order."""

    title: str
    area: str
    rules: tuple[Rule, ...]
    path: Path
    prose: str = ""
    metadata: Metadata = DEFAULTS

    @property
    def programs(self) -> list[Program]:
        """All examples, in order."""
        return [program for rule in self.rules for program in rule.programs]


def read_chapter(path: str | Path) -> Chapter:
    """Return the chapter in the file `path`; raises ChapterError, and OSError if there is none."""
    chapter, problems = chapter_with_problems(Path(path))
    if problems:
        raise problems[0]
    return chapter


def read_spec(directory: str | Path | None = None) -> list[Chapter]:
    """Return the chapters in `directory`, by file name; without one, the project's own.

    Raises ChapterError for a malformed chapter, for an ID that two of them use, and where there is
    no chapter at all.
    """
    if directory is not None:
        return _read(Path(directory))
    where = spec_directory()
    return kept("chapters", list[Chapter], [*sources(), where], lambda: _read(where))


def _read(where: Path) -> list[Chapter]:
    paths = chapter_paths(where)
    if not paths:
        raise ChapterError(where, 1, "no chapter (*.md) is here")
    chapters = [read_chapter(path) for path in paths]
    if repeated := next(_repeated(chapters), None):
        raise repeated
    return chapters


def chapter_paths(where: Path) -> list[Path]:
    """The files of the chapters in a folder, by name."""
    texts = set(text_paths(where))
    return sorted(path for path in where.glob("*.md") if path not in texts)


def text_paths(where: Path) -> list[Path]:
    """The files in a folder of chapters that hold no rules: `00-...` and the retired rules."""
    return [path for path in where.glob("*.md") if path.name.startswith(("00-", "retired"))]


def spec_directory() -> Path:
    """Return the folder of the project's own chapters; raises ChapterError if it is missing."""
    if (spec := reference_folder("spec")) is not None:
        return spec
    raise ChapterError("reference/spec", 1, "the specification is not installed")


def _repeated(chapters: list[Chapter]) -> Iterator[ChapterError]:
    seen: dict[str, tuple[Chapter, Rule]] = {}
    prefixes: dict[str, Chapter] = {}
    for chapter in chapters:
        for rule in chapter.rules:
            if rule.id in seen:
                other, first = seen[rule.id]
                yield ChapterError(
                    chapter.path, rule.line, f"{rule.id} is used at {other.path}:{first.line}"
                )
            seen[rule.id] = (chapter, rule)
            prefix = rule.id.partition("-")[0]
            if prefixes.setdefault(prefix, chapter) is not chapter:
                yield ChapterError(
                    chapter.path, rule.line, f"{prefix}- belongs to {prefixes[prefix].path}"
                )


@dataclass
class _Fence:
    line: int  # of its first line of code
    source: str


@dataclass
class _Section:
    """A heading of level 2 and its content."""

    heading: str
    line: int
    end: int = 0
    fences: list[_Fence] = field(default_factory=list)
    hidden: list[tuple[int, int]] = field(default_factory=list)  # lines that are not prose
    metadata: Metadata | None = None
    broken: bool = False  # holds a fence that is not terminated


class _Reader:
    """One chapter while it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        self.problems: list[ChapterError] = []
        self.titles: list[str] = []
        self.intro_from = 0
        self.metadata = DEFAULTS
        self.sections: list[_Section] = []
        self.area = _FILE_NUMBER.sub("", path.stem, count=1)

    def problem(self, line: int, message: str) -> None:
        self.problems.append(ChapterError(self.path, line, message))

    def cut(self) -> None:
        """Cut the text into sections by its headings."""
        tokens = MarkdownIt("commonmark").parse(self.text)
        for at, token in enumerate(tokens):
            if token.map is None:
                continue
            if token.type == "heading_open":
                self._heading(token, tokens[at + 1].content)
            elif token.type == "fence":
                self._fence(token)
            elif token.type == "blockquote_open" and at and tokens[at - 1].type == "heading_close":
                self._metadata(token, tokens[at + 2].content)
        if self.sections:
            self.sections[-1].end = len(self.lines)

    def _heading(self, token: Token, content: str) -> None:
        first, last = token.map or (0, 0)
        if token.tag == "h1":
            self.titles.append(content)
            self.intro_from = last
            if len(self.titles) > 1:
                self.problem(first + 1, "a chapter has one title (# ...)")
        elif token.tag == "h2":
            if self.sections:
                self.sections[-1].end = first
            self.sections.append(_Section(content, first + 1))

    def _metadata(self, token: Token, content: str) -> None:
        """Read the quotation right below a heading: of a rule, or of the chapter."""
        first, last = token.map or (0, 0)
        try:
            found = read_metadata(content, self.metadata)
        except MalformedMetadata as error:
            self.problem(first + 1, str(error))
            return
        if self.sections:
            self.sections[-1].metadata = found
            self.sections[-1].hidden.append((first, last))
        else:
            self.metadata = found
            self.intro_from = last

    def _fence(self, token: Token) -> None:
        first, last = token.map or (0, 0)
        closing = self.lines[last - 1].strip() if last - 1 > first else ""
        mark = token.markup
        # A closing mark has nothing behind it, so a later fence's opening mark ends nothing.
        swallowed = any(line.lstrip().startswith(mark) for line in token.content.splitlines())
        if not closing or set(closing) != set(mark) or len(closing) < len(mark) or swallowed:
            self.problem(first + 1, f"the fence {mark}{token.info} is not terminated")
            if self.sections:
                self.sections[-1].broken = True
            return
        if token.info.split()[:1] != ["python"]:
            return
        if not self.sections:
            self.problem(first + 1, "an example belongs under a rule (## ID sentence)")
            return
        self.sections[-1].fences.append(_Fence(first + 2, token.content))
        self.sections[-1].hidden.append((first, last))

    def rules(self) -> list[Rule]:
        if not self.titles:
            self.problem(1, "the title (# ...) is missing")
        rules: list[Rule] = []
        seen: dict[str, int] = {}
        for section in self.sections:
            match = _HEADING.fullmatch(section.heading)
            if match is None:
                self.problem(section.line, f"not 'ID sentence': ## {section.heading}")
                continue
            rule_id = f"{match['prefix']}-{match['number']}"
            if rule_id in seen:
                self.problem(section.line, f"{rule_id} is used at line {seen[rule_id]} already")
                continue
            first = next(iter(seen), rule_id)
            if first.partition("-")[0] != match["prefix"]:
                self.problem(section.line, f"{rule_id} does not begin as {first} does")
            seen[rule_id] = section.line
            if not section.fences and not section.broken:
                self.problem(section.line, f"{rule_id} has no example (```python)")
            rules.append(self._rule(rule_id, match["sentence"].strip(), section))
        if not rules and not self.problems:
            self.problem(1, "no rule (## ID sentence) is here")
        return rules

    def _rule(self, rule_id: str, sentence: str, section: _Section) -> Rule:
        programs = []
        metadata = section.metadata or self.metadata
        for number, fence in enumerate(section.fences, start=1):
            program = Program(
                id=f"{rule_id}.{number}",
                area=self.area,
                source=fence.source,
                sentence=sentence,
                rule=rule_id,
                file=shown_path(self.path),
                line=fence.line,
                of_class=metadata.of_class,
                device=metadata.device,
                may_differ=metadata.may_differ,
            )
            try:
                if not program.statements:
                    self.problem(fence.line, f"{program.id} is empty")
            except ProgramError as error:
                self.problem(error.line or fence.line, f"{program.id}: {error.message}")
            programs.append(program)
        place = section.line, section.end
        return Rule(rule_id, sentence, self._prose(section), *place, tuple(programs), metadata)

    def _prose(self, section: _Section) -> str:
        hidden = {n for first, last in section.hidden for n in range(first, last)}
        kept = [self.lines[n] for n in range(section.line, section.end) if n not in hidden]
        return "\n".join(kept).strip()

    def intro(self) -> str:
        end = self.sections[0].line - 1 if self.sections else len(self.lines)
        return "\n".join(self.lines[self.intro_from : end]).strip()


def chapter_with_problems(path: Path) -> tuple[Chapter, list[ChapterError]]:
    """Return as much of a chapter as can be read, and its problems in the order of lines.

    Raises ChapterError for a file that is not UTF-8, and OSError if there is none.
    """
    try:
        reader = _Reader(path)
    except UnicodeDecodeError as error:
        raise ChapterError(path, 1, f"not UTF-8: {error}") from error
    reader.cut()
    rules = reader.rules()
    title = reader.titles[0] if reader.titles else ""
    chapter = Chapter(title, reader.area, tuple(rules), path, reader.intro(), reader.metadata)
    return chapter, sorted(reader.problems, key=lambda problem: problem.line or 1)
