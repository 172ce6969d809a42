"""Notes on versions in the prose of rules: `*Changed in 2.14:* ...`, `*New in 2.5.*`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.suite.chapters import Rule

_NOTE = re.compile(r"\*(?P<kind>New|Changed|Fixed) in (?P<versions>[^*\n]*?)(?P<end>[.:])\*")
_VERSIONS = re.compile(r"\d+\.\d+(?:(?:, | and |, and )\d+\.\d+)*")


@dataclass(frozen=True)
class Note:
    """One note: its kind (New, Changed or Fixed), a version that it names, and its text.

    `line` is its line in the file; the text ends with the paragraph, or before the next note.
    """

    kind: str
    version: str
    text: str
    line: int


class MalformedNote(ValueError):
    """A note that names no version; `line` is its line in the file."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(
            f"{text} names no versions: write *Changed in 2.14:* or *Changed in 2.4 and 2.6:*"
        )
        self.line = line


def notes(rule: Rule, lines: list[str]) -> list[Note]:
    """The notes of a rule in their order; `lines` are those of its chapter.

    Raises MalformedNote.
    """
    found = []
    for number in range(rule.line, rule.end):
        for match in _NOTE.finditer(lines[number]):
            if not _VERSIONS.fullmatch(match["versions"]):
                raise MalformedNote(match[0], number + 1)
            text = _paragraph(lines, number, match.end(), rule.end)
            for version in re.findall(r"\d+\.\d+", match["versions"]):
                found.append(Note(match["kind"], version, text, number + 1))
    return found


def _paragraph(lines: list[str], number: int, column: int, end: int) -> str:
    """The text from a place to the next note or the end of the paragraph, on one line."""
    parts = [lines[number][column:]]
    for line in lines[number + 1 : end]:
        if not line.strip():
            break
        parts.append(line)
    text = " ".join(" ".join(parts).split())
    following = _NOTE.search(text)
    return text[: following.start()].strip() if following else text
