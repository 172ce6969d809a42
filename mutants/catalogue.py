"""The catalogue of mutants: the Markdown files of this folder, one area each, or a part of one.

A mutant is a section: a heading with its name, the rules (or areas, or operators) that it breaks
and the kind of mistake; a sentence that says the mistake; the change, as one or more blocks `diff`
whose first line names the file; and a program that shows it.
"""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path

from markdown_it import MarkdownIt

from conformance.mutation.mutant import CatalogueError, Mutant
from mutants.edits import Edit, edited, prepare

FOLDER = Path(__file__).parent
KINDS = ("formula", "check", "order", "state", "sharing", "dtype", "boundary", "text")
"""Kinds of mistakes, which docs/mutants.md describes."""

_HEADING = re.compile(r"(?P<name>[a-z][a-z0-9_]*): (?P<breaks>[^;]+); (?P<kind>[a-z]+)")


@cache
def catalogue() -> tuple[Mutant, ...]:
    """All mutants, by file and in the order of each; raises CatalogueError for a malformed one."""
    prepare()
    found = [mutant for path in sorted(FOLDER.glob("[a-z]*.md")) for mutant in read(path)]
    names = [mutant.name for mutant in found]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise CatalogueError(f"mutants: the name {min(repeated)} is used twice.")
    return tuple(found)


def read(path: Path) -> list[Mutant]:
    """The mutants in one file, whose name begins with their area; raises CatalogueError."""
    sections: list[tuple[str, list[str], list[tuple[str, str]]]] = []
    tokens = MarkdownIt("commonmark").parse(path.read_text("utf-8"))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before is not None:
            if before.type == "heading_open" and before.tag == "h2":
                sections.append((token.content, [], []))
            elif before.type == "paragraph_open" and sections:
                sections[-1][1].append(" ".join(token.content.split()))
        elif token.type == "fence" and sections:
            sections[-1][2].append((token.info, token.content))
    return [_mutant(path, *section) for section in sections]


def _mutant(path: Path, heading: str, prose: list[str], fences: list[tuple[str, str]]) -> Mutant:
    parts = _HEADING.fullmatch(heading)
    if parts is None:
        raise CatalogueError(f"{path.name}: {heading!r} is not `name: RULE, ...; kind`.")
    programs = [text for info, text in fences if info == "python"]
    edits = [_edit(path, parts["name"], text) for info, text in fences if info == "diff"]
    if parts["kind"] not in KINDS or len(programs) != 1 or len(prose) != 1 or not edits:
        raise CatalogueError(
            f"{path.name}: {parts['name']} needs a kind of {', '.join(KINDS)}, one paragraph, "
            "one program and a diff."
        )
    return Mutant(
        name=parts["name"],
        area=path.stem.partition("-")[0],
        kind=parts["kind"],
        mistake=prose[0],
        breaks=tuple(part.strip() for part in parts["breaks"].split(",")),
        shows=programs[0],
        apply=partial(edited, edits),
    )


def edits_of(mutant: Mutant) -> list[Edit]:
    """The edits that a mutant of the catalogue makes."""
    applied = mutant.apply
    assert isinstance(applied, partial)
    return list(applied.args[0])


def _edit(path: Path, name: str, text: str) -> Edit:
    file, *lines = text.splitlines()
    if bad := [line for line in lines if line and line[0] not in "+- "]:
        raise CatalogueError(
            f"{path.name}: {name}: a line of a diff begins with +, - or a space: {bad[0]}"
        )
    old = [line[1:] for line in lines if line[:1] != "+"]
    new = [line[1:] for line in lines if line[:1] != "-"]
    return Edit(file.strip(), *("".join(f"{line}\n" for line in part) for part in (old, new)))
