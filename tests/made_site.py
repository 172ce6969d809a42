"""Runs over chapters, and the text of the pages of a site made of them."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import made_runs

from conformance.run_files.reading import read_run
from conformance.run_files.run import Run
from conformance.suite.chapters import Chapter


def run_of(folder: Path, chapters: list[Chapter], name: str = "run", **over: Any) -> Run:
    """A run of all the chapters' programs; `over` overrides fields of their lines, by ID."""
    lines = []
    for chapter in chapters:
        for program in chapter.programs:
            of_rule = {"rule": program.rule, "sentence": program.sentence}
            line = made_runs.line(program.id, chapter.area, source=program.paste(), **of_rule)
            lines.append({**line, **over.get(program.id, {})})
    return read_run(made_runs.run_file(folder / f"{name}.jsonl", lines))


def text(site: Path, page: str) -> str:
    body = (site / page).read_text("utf-8").partition('tabindex="-1">')[2].partition("</main>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())
