"""Claims: the levels that a run supports, and the versions of torch that it does so for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import made_runs
import pytest
from command import MINIATURE, conform

from conformance import backends
from conformance.base.levels import LEVELS
from conformance.execution.execute import trace
from conformance.execution.history import History
from conformance.history.claims import claims
from conformance.history.recording import record_version
from conformance.program.program import Program
from conformance.run_files.qualified_claims import qualified_claims, texts, torch
from conformance.run_files.reading import read_run
from conformance.run_files.run import schema

SAME = Program("MADE-01.1", "made", "x = torch.ones(2)\nx + 1\n", "", rule="MADE-01")
VALUES = Program("MADE-02.1", "made", "x = torch.tensor(X)\n", "", rule="MADE-02")
MEMORY = Program("MADE-03.1", "made", "x = torch.zeros(2).WRITTEN(0)\n", "", rule="MADE-03")
NEW = Program("MADE-04.1", "made", "torch.NAME(1)\n", "", rule="MADE-04")
PROGRAMS = (SAME, VALUES, MEMORY, NEW)
VERSIONS = {
    "2.15": {"X": "2.0", "WRITTEN": "add", "NAME": "ones"},
    "2.14": {"X": "2.0", "WRITTEN": "add_", "NAME": "ones"},
    "2.13": {"X": "3.0", "WRITTEN": "add", "NAME": "newer"},
}
"""The texts of the programs in each version: values changed in 2.14, memory in 2.14 and in 2.15."""
ALL = ["2.15", "2.14", "2.13"]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Three versions of torch: 2.13 lacks a name, and computes another number."""
    folder = tmp_path_factory.mktemp("history") / "cpu"
    backend = backends.find("impl")
    for version, words in VERSIONS.items():

        def of_version(program: Program, texts: dict[str, str] = words) -> Any:
            source = program.source
            for name, value in texts.items():
                source = source.replace(name, value)
            return trace(Program(program.id, program.area, source, "", rule=program.rule), backend)

        record_version(folder, version, f"{version}.0", PROGRAMS, of_version)
    return History(folder)


def header(version: str = "2.15.0", **fields: Any) -> dict[str, Any]:
    oracle = {"name": "torch", "version": version, "device": "cpu"}
    return made_runs.header(oracle=oracle, **fields)


def line(program: Program, **fields: Any) -> dict[str, Any]:
    return made_runs.line(program.id, program.area, source=program.paste(), **fields)


def everywhere(*versions: str) -> dict[str, list[str]]:
    return {level: list(versions) for level in LEVELS}


def found(past: History | None, *lines: dict[str, Any], **of_header: Any) -> dict[str, list[str]]:
    programs: Callable[[str], Program | None] = {one.id: one for one in PROGRAMS}.get
    return claims(header(**of_header), lines, programs, past)


def test_what_conforms_is_claimed_for_every_version_that_shows_the_same(past: History) -> None:
    assert found(past, line(SAME)) == everywhere(*ALL)
    assert found(past, line(SAME), line(VALUES))["values"] == ["2.15", "2.14"]
    assert found(past, line(SAME), line(MEMORY)) == {
        **everywhere(*ALL),
        "memory": ["2.15", "2.13"],
    }
    made = found(past, *map(line, PROGRAMS))
    assert (made["values"], made["memory"]) == (["2.15", "2.14"], ["2.15", "2.13"])


def test_a_program_that_a_version_lacks_says_nothing_about_it(past: History) -> None:
    assert found(past, line(NEW))["values"] == ALL


def test_other_versions_are_claimed_where_every_program_shows_them(past: History) -> None:
    levels = {**dict.fromkeys(LEVELS, "conforms"), "values": "other_version"}
    other = line(VALUES, outcome="other_version", versions=["2.13"], levels=levels)
    made = found(past, line(SAME), other)
    assert made == {**everywhere(*ALL), "values": ["2.13"]}
    assert "values" not in found(past, {**other, "versions": ["2.12"]}, line(VALUES) | {"id": "A"})


@pytest.mark.parametrize("known", [None, {"reason": "because", "link": None}])
def test_a_level_with_a_divergence_is_not_claimed(past: History, known: Any) -> None:
    levels = {**dict.fromkeys(LEVELS, "conforms"), "graph": "diverges"}
    made = found(past, line(SAME), line(VALUES, outcome="diverges", levels=levels, known=known))
    assert "graph" not in made and made["values"] == ["2.15", "2.14"]


def test_what_is_unsupported_is_part_of_a_claim_and_what_was_not_run_ends_it(past: History) -> None:
    def missing(outcome: str) -> dict[str, Any]:
        return line(VALUES, outcome=outcome, levels={}, reason="because")

    assert found(past, line(SAME), missing("unsupported")) == everywhere(*ALL)
    assert found(past, missing("unsupported")) == {}
    assert found(past, line(SAME), missing("error")) == {}
    assert found(past, line(SAME), missing("not_run")) == {}


def test_a_level_at_which_nothing_was_compared_is_not_claimed(past: History) -> None:
    levels = {**dict.fromkeys(LEVELS, "not_applicable"), "values": "conforms"}
    assert found(past, line(SAME, levels=levels)) == {"values": ALL}
    selection = {"levels": ["graph"]}
    assert found(past, line(SAME), selection=selection) == {"graph": ALL}


def test_a_program_that_is_not_recorded_speaks_for_the_oracle_only(past: History) -> None:
    own = everywhere("2.15")
    assert found(past, line(SAME), made_runs.line("op/a", "operators")) == own
    assert found(past, line(SAME) | {"source": "import torch\nanother\n"}) == own
    assert found(None, line(SAME)) == own
    law = made_runs.line("law/linear", "laws")
    assert found(past, line(SAME), law) == everywhere(*ALL)


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"default_dtype": "float64"},
        {"oracle": {"name": "torch:cuda", "version": "2.15.0", "device": "cuda"}},
    ],
)
def test_the_history_says_nothing_of_other_settings(past: History, changed: Any) -> None:
    made = claims({**header(), **changed}, [line(SAME)], {SAME.id: SAME}.get, past)
    assert made == everywhere("2.15")


def test_an_oracle_that_is_no_torch_has_no_versions(past: History) -> None:
    oracle = {"name": "jax", "version": "0.4", "device": "cpu"}
    assert claims({**header(), "oracle": oracle}, [line(SAME)], {SAME.id: SAME}.get, past) == {}


def test_a_recorded_oracle_is_the_version_that_it_names(past: History) -> None:
    oracle = {"name": "recorded:torch-2.14", "version": "2.14.1", "device": "cpu"}
    made = claims({**header(), "oracle": oracle}, [line(VALUES)], {VALUES.id: VALUES}.get, past)
    assert made["values"] == ["2.15", "2.14"]


def test_an_oracle_newer_than_the_history_is_as_its_newest_but_for_what_changed(
    past: History,
) -> None:
    newer = found(past, line(SAME), version="2.16.0")
    assert newer == everywhere("2.16", *ALL)
    since = {"version": "2.15", "levels": ["values"]}
    made = found(past, line(SAME, since=since), version="2.16.0")
    assert made == {**everywhere("2.16", *ALL), "values": ["2.16"]}
    # The history begins later than this one.
    assert found(past, line(SAME), version="1.13.0") == everywhere("1.13")


def test_a_claim_in_words() -> None:
    assert torch(["2.15"]) == "torch 2.15"
    assert torch(["2.13", "2.15", "2.14"]) == "torch 2.15; also 2.13 to 2.14"


def test_the_footer_of_a_run_has_its_claims(tmp_path: Path) -> None:
    run = ("run", "--backend", "miniature.right:namespace", "--oracle", "impl", *MINIATURE)
    done = conform(*run, "--run-file", "r.jsonl", "-n", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    footer = read_run(tmp_path / "r.jsonl").footer
    assert footer is not None and footer["claims"] == {}
    validator = jsonschema.Draft202012Validator(schema())
    for claimed in ({}, everywhere("2.15", "2.14")):
        validator.validate({**footer, "claims": claimed})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**footer, "claims": {"values": ["<b>"]}})


def qualified(*lines: dict[str, Any], whole: Any = None, **selection: Any) -> list[str]:
    chosen = {"levels": ["values", "graph"], **selection}
    made = {**made_runs.header(), "selection": chosen}
    return texts(qualified_claims(made, lines, whole or {}))


GOOD = made_runs.line("TIES-01.1", "ties")
BAD = made_runs.diverging("SEED-01.1", "seeds", "values")
KNOWN = made_runs.diverging("SEED-02.1", "seeds", "values", known={"reason": "no ties"})
LACKING = made_runs.uncompared("SEED-03.1", "seeds", "unsupported", "no amax")
BROKEN = made_runs.uncompared("SEED-04.1", "seeds", "error", "it died")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([GOOD], ["values and graph, torch 2.13"]),
        ([GOOD, BAD], ["values, torch 2.13, in ties", "graph, torch 2.13"]),
        ([GOOD, KNOWN], ["values, torch 2.13, except 1 known divergence", "graph, torch 2.13"]),
        ([GOOD, LACKING], ["values and graph, torch 2.13; 1 unsupported"]),
        ([GOOD, BROKEN], ["values and graph, torch 2.13, in ties"]),
        ([BAD], ["graph, torch 2.13"]),
        ([BROKEN], []),
        ([LACKING], []),
        (
            [GOOD, made_runs.line("LEAF-01.1", "leaves"), BAD, KNOWN],
            ["values, torch 2.13, in all areas but seeds", "graph, torch 2.13"],
        ),
    ],
)
def test_a_claim_names_its_exceptions(lines: list[dict[str, Any]], said: list[str]) -> None:
    assert qualified(*lines) == said


def test_a_claim_is_of_what_was_selected() -> None:
    assert qualified(GOOD, areas=["ties"]) == ["values and graph, torch 2.13, in ties"]
    without = qualified(GOOD, BAD, without=["operators"])
    assert without == [
        "values, torch 2.13, in ties",
        "graph, torch 2.13, in all areas but operators",
    ]
    assert qualified(GOOD, rules=["TIES-01"]) == []


def test_a_claim_without_exception_has_its_versions() -> None:
    whole = {"values": ["2.15", "2.14"]}
    said = ["values, torch 2.15; also 2.14; 1 unsupported", "graph, torch 2.13; 1 unsupported"]
    assert qualified(GOOD, LACKING, whole=whole) == said


def of(line: dict[str, Any], *classes: str) -> dict[str, Any]:
    return {**line, "classes": list(classes)}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([GOOD, of(BAD, "complex")], "core, values, torch 2.13"),
        ([GOOD, of(LACKING, "sparse")], "core, values and graph, torch 2.13"),
        (
            [GOOD, of(GOOD, "complex"), of(BAD, "forward"), of(BROKEN, "complex", "forward")],
            "core and complex, values and graph, torch 2.13",
        ),
        ([GOOD, of(GOOD, "complex")], "values and graph, torch 2.13"),
        ([BAD, of(GOOD, "complex"), GOOD], "values, torch 2.13, in ties"),
    ],
)
def test_a_claim_names_the_classes_in_which_it_holds(
    lines: list[dict[str, Any]], said: str
) -> None:
    assert said in qualified(*lines)


def test_a_run_of_some_classes_claims_these_and_no_more() -> None:
    assert qualified(GOOD, classes=["core"]) == ["core, values and graph, torch 2.13"]
    run = (GOOD, of(GOOD, "complex"))
    assert qualified(*run, classes=["complex"]) == [
        "core and complex, values and graph, torch 2.13"
    ]
    assert qualified(BAD, GOOD, classes=["core"]) == ["core, graph, torch 2.13"]
