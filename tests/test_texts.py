"""The texts of the specification: steps that name rules, and tables that agree with the code."""

from __future__ import annotations

import re

import pytest
from command import TESTS

from conformance.base.classes import CLASSES
from conformance.base.levels import LEVELS
from conformance.base.tolerances import TOLERANCES
from conformance.suite.chapters import ChapterError, read_spec
from conformance.suite.texts import ALGORITHMS, Text, read_steps, read_texts, steps_by_rule

TEXTS = {text.name: text for text in read_texts()}
STEPS = read_steps(TEXTS["algorithms"])


def rows(text: Text) -> dict[str, list[str]]:
    """The rows of all tables of a text, by their first cell."""
    lines = [line for line in text.prose.split("\n") if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_the_texts_come_in_reading_order() -> None:
    assert list(TEXTS)[:4] == ["conformance", "definitions", "data-model", "algorithms"]


def test_every_step_names_rules_that_exist_or_has_steps_of_its_own_that_do() -> None:
    rules = {rule.id for chapter in read_spec() for rule in chapter.rules}
    known = rules | {f"{rule.partition('-')[0]}-*" for rule in rules}
    for step in STEPS:
        assert set(step.references) <= known, step.name
    tested = {step.name for step in STEPS if step.references}
    operations = {step.operation for step in STEPS}
    for step in STEPS:
        within = any(name.startswith(f"{step.name}.") for name in tested)
        # A step that only carries out another operation is tested by that one's rules.
        text = step_text(step.line)
        called = any(re.search(rf"\b{name}\b", text) for name in operations - {step.operation})
        assert step.references or within or called, step.name


def step_text(line: int) -> str:
    return "\n".join(TEXTS["algorithms"].prose.split("\n")[line - 1 : line + 2])


def test_every_rule_names_a_step() -> None:
    found = steps_by_rule(STEPS, read_spec())
    assert [rule for rule, steps in found.items() if not steps] == []


def test_steps_are_numbered_as_a_reader_counts_them() -> None:
    names = [step.name for step in STEPS]
    assert {"Backward 7.2", "RunNode 5.3", "Save 1"} <= set(names)
    assert len(names) - len(set(names)) == names.count("Backward") - 1  # remarks below the steps


def test_the_tables_of_conformance_are_those_of_the_code() -> None:
    found = rows(TEXTS["conformance"])
    assert set(LEVELS) <= set(found)
    assert set(CLASSES) <= set(found)
    for names, (rtol, atol) in ((k, v) for k, v in found.items() if re.search(r"\d\d", k)):
        for dtype in names.split(", "):
            assert (float(rtol), float(atol)) == TOLERANCES[dtype]


def test_a_text_without_a_title(tmp_path) -> None:
    (tmp_path / "00-words.md").write_text("no title\n")
    with pytest.raises(ChapterError, match=r"00-words.md:1: the title"):
        read_texts(tmp_path)
    assert ALGORITHMS == "00-algorithms.md"


def test_the_steps_that_the_engine_names_exist() -> None:
    names = {step.name for step in STEPS}
    operations = "|".join({step.operation for step in STEPS if step.operation.isalpha()})
    quoted = re.compile(rf"\b(?:{operations}) \d+(?:\.\d+)?\b")
    found: dict[str, str] = {}
    for path in (TESTS.parent / "impl").rglob("*.py"):
        found |= {step: path.name for step in quoted.findall(path.read_text("utf-8"))}
    assert {step: file for step, file in found.items() if step not in names} == {}
    assert {"Backward 3", "Backward 6", "RunNode 4", "CheckInplace 2"} <= set(found)
