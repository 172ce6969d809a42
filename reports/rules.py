"""The prose of the rules that a run does not conform to, for the pages of its programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from conformance.run_files.categories import category
from conformance.run_files.identity import is_web_address
from conformance.suite.chapters import ChapterError, read_spec
from reports.page import fragment_value
from reports.specification.prose import Prose


def spec_site(address: str | None) -> str:
    """The address of a site of the specification without a slash at its end; "" for none."""
    return address.rstrip("/") if address and is_web_address(address) else ""


def chapter_page(line: Mapping[str, Any]) -> str:
    """The place of a program's rule in a site of the specification: `ties.html#TIES-13`; "" where
    the program has no rule."""
    if line["rule"] is None:
        return ""
    return f"{fragment_value(line['area'])}.html#{fragment_value(line['rule'])}"


def prose(lines: Sequence[dict[str, Any]]) -> dict[str, Markup]:
    """By rule, the prose of the project's chapters as markup, for programs that do not conform.

    A rule whose sentence is another in the run is left out: that run was of other chapters.
    """
    wanted = {line["rule"]: line["sentence"] for line in lines if category(line) != "conforms"}
    try:
        rules = {rule.id: rule for chapter in read_spec() for rule in chapter.rules}
    except (ChapterError, OSError):
        return {}
    within = {line["rule"] for line in lines} & rules.keys()
    made = Prose({}, {name: f"#?rule={fragment_value(name)}" for name in within})
    return {
        name: made.markup(rules[name].prose)
        for name, sentence in wanted.items()
        if name in within and rules[name].prose and rules[name].sentence == sentence
    }
