"""Mutation test of the suite: mistakes put into `impl`, and what `conform mutants` says of them."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command import SPEC, conform
from html_page import Page

from conformance import backends
from conformance.commands.mutants import selected
from conformance.mutation import examine
from conformance.mutation.examine import Examiner, Ground
from conformance.mutation.mutant import CatalogueError, find_catalogue
from conformance.run_files.reading import read_run
from conformance.suite.suite import read_suite
from mutants.catalogue import FOLDER, KINDS, catalogue, read
from mutants.edits import Edit, EditError
from mutants.five import MISTAKES
from reports.mutants import page
from reports.run import ReportError

# Subjects with at least five mutants each, by the file that they are in.
SUBJECTS = (
    *("offsets", "pairs", "module_hooks", "optimisers", "schedulers", "clipping", "losses"),
    *("precision", "boundaries", "leaves", "printing", "random", "third_derivatives", "layouts"),
    *("refusals", "signatures", "dispatch", "module_state", "sparse", "serialisation"),
    "distributions",
)


def names() -> list[str]:
    return [mutant.name for mutant in catalogue()]


def test_the_catalogue_is_large_and_spread() -> None:
    areas = Counter(mutant.area for mutant in catalogue())
    assert areas.total() >= 450
    assert all(areas[subject] >= 5 for subject in SUBJECTS)
    assert {mutant.kind for mutant in catalogue()} <= set(KINDS)
    for path in FOLDER.glob("[a-z]*.md"):
        assert len(path.read_text("utf-8").splitlines()) <= 400, path


def test_mutants_name_rules_areas_or_operators_that_there_are() -> None:
    programs = read_suite().programs
    known = {name for p in programs for name in (p.rule, p.area, p.operator)}
    unknown = {m.name: set(m.breaks) - known for m in catalogue() if set(m.breaks) - known}
    assert not unknown


def test_every_rule_chapter_has_mutants() -> None:
    broken = {name.partition("-")[0] for mutant in catalogue() for name in mutant.breaks}
    # The rules about accelerators have no programs that impl runs: a device with faults shows them.
    chapters = {
        p.rule.partition("-")[0]: p.area
        for p in read_suite().programs
        if p.rule is not None and not p.needs_accelerator
    }
    assert not {rules for rules, area in chapters.items() if not {rules, area} & broken}


@pytest.fixture(scope="module")
def examiner() -> Any:
    ground = Ground({}, {}, "impl", lambda: backends.find("impl").namespace, 30.0)
    one = Examiner(ground)
    yield one
    one.close()


def test_the_lines_that_mutants_replace_stand_in_their_files() -> None:
    broken = []
    for mutant in catalogue():
        sources: dict[str, str] = {}
        for edit in mutant.apply.args[0]:  # type: ignore[attr-defined]
            source = sources.get(edit.file) or (FOLDER.parent / edit.file).read_text()
            try:
                sources[edit.file] = edit.apply(source)
            except EditError as error:
                broken.append(f"{mutant.name}: {error}")
    assert not broken


@pytest.mark.slow
@pytest.mark.parametrize("area", sorted({mutant.area for mutant in catalogue()}))
def test_each_mutant_is_shown_by_its_program(area: str, examiner: Examiner) -> None:
    findings = [examiner.examine(m, suite=False) for m in catalogue() if m.area == area]
    broken = {f.mutant: f.reason for f in findings if f.outcome == examine.BROKEN}
    assert not broken


KILLED = [
    ("first_index_ties_in_amax", "TIES-13", "values"),
    ("grad_overwritten", "ACCUM-02", "values"),
    ("detach_copies", "ALIAS-01", "memory"),
    ("no_version_check", "INPLACE-13", "values"),
]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The findings about the mutants of KILLED, by one command: it reads all rules first."""
    folder = tmp_path_factory.mktemp("killed")
    asked = [word for mutant, _, _ in KILLED for word in ("--mutant", mutant)]
    done = conform("mutants", *asked, "--json", "out.json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found: list[dict[str, Any]] = json.loads((folder / "out.json").read_text())["mutants"]
    assert len(found) == len(KILLED)
    return found


@pytest.mark.parametrize(("mutant", "rule", "level"), KILLED)
def test_a_mutant_is_killed_by_its_rule(
    mutant: str, rule: str, level: str, killed: list[dict[str, Any]]
) -> None:
    (finding,) = [one for one in killed if one["mutant"] == mutant]
    assert (finding["outcome"], finding["helpful"]) == ("killed", "names the rule")
    (kill,) = finding["kills"]
    assert (kill["rule"], kill["level"]) == (rule, level)


def test_a_mutant_is_a_backend_of_the_suite_too(tmp_path: Path) -> None:
    options = ("--backend", "mutants:grad_overwritten", "--oracle", "impl")
    done = conform("show", "ACCUM-02.1", *options, cwd=tmp_path)
    assert done.returncode == 1 and "diverges" in done.stdout


# -- the command, on a catalogue of tests -----------------------------------------------------


def examined(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    out = tmp_path / "out.json"
    done = conform(
        *("mutants", "--catalogue", "made_mutants", "--oracle", "impl", "--spec", SPEC),
        *("--timeout", "5", "--json", out, *arguments),
        cwd=tmp_path,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, json.loads(out.read_text()), done.stdout


def by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["mutant"]: finding for finding in document["mutants"]}


def test_mutants_that_cannot_be_applied_or_change_nothing_are_broken(tmp_path: Path) -> None:
    code, document, shown = examined(tmp_path, "--mutant", "same", "--mutant", "absent", "--check")
    found = by_name(document)
    assert code == 1
    assert "changes nothing" in found["same"]["reason"]
    assert "the lines are not there" in found["absent"]["reason"]
    assert "2 broken" in shown


def test_a_crash_and_a_hang_are_shown_by_the_programs(tmp_path: Path) -> None:
    code, document, _ = examined(tmp_path, "--mutant", "dies", "--mutant", "hangs", "--check")
    assert code == 0
    assert all(finding["outcome"] != "broken" for finding in document["mutants"])


def test_a_mutant_that_no_program_notices_survives(tmp_path: Path) -> None:
    report = tmp_path / "page.html"
    code, document, shown = examined(
        tmp_path, "--mutant", "unseen", "-n", "2", "--all", "--report", str(report)
    )
    assert code == 1
    assert by_name(document)["unseen"]["outcome"] in ("survived", "killed by a whole program only")
    assert "unseen" in shown and "kills no mutant alone" in shown
    assert "unseen" in report.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--mutant", "copy"), "has no mutant 'copy'. Did you mean copies"),
        (("--area", "ties"), "has no area 'ties'"),
        (("--shard", "7/7"), "no mutant in this selection"),
        (("--catalogue", "no.such"), "no.such"),
        (("--backend", "torch", "--catalogue", ""), "no catalogue of mutants for 'torch'"),
    ],
)
def test_wrong_usage_says_what_to_do(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = conform(
        *("mutants", "--catalogue", "made_mutants", "--oracle", "impl", "--spec", SPEC, *arguments),
        cwd=tmp_path,
    )
    assert done.returncode == 2 and says in done.stderr


def test_ten_numbers_select_every_mutant_once() -> None:
    chosen = argparse.Namespace(mutant=None, area=None, shard=None)
    seen: Counter[str] = Counter()
    for number in range(3, 13):
        chosen.tenth = number
        seen.update(mutant.name for mutant in selected(catalogue(), chosen))
    assert seen == Counter(mutant.name for mutant in catalogue())


def test_a_number_selects_a_tenth(tmp_path: Path) -> None:
    done = conform(
        *("mutants", "--catalogue", "made_mutants", "--oracle", "impl", "--spec", SPEC),
        *("--check", "--tenth", "10", "--json", "out.json"),
        cwd=tmp_path,
    )
    of_number = argparse.Namespace(mutant=None, area=None, shard=None, tenth=10)
    names = [mutant.name for mutant in selected(find_catalogue("made_mutants"), of_number)]
    assert sorted(by_name(json.loads((tmp_path / "out.json").read_text()))) == sorted(names), done


# -- edits and their catalogue ----------------------------------------------------------------


def test_an_edit_replaces_whole_lines_that_stand_there_once() -> None:
    edit = Edit("impl/core/dims.py", "a = 1\n", "a = 2\n")
    assert edit.module == "impl.core.dims"
    assert edit.apply("x = 0\na = 1\nba = 1\n") == "x = 0\na = 2\nba = 1\n"
    for source in ("x = 0\n", "a = 1\na = 1\n"):
        with pytest.raises(EditError):
            edit.apply(source)


SECTION = """# A subject

## name: RULE-01, other; check

The mistake, in a sentence.

```diff
impl/core/dims.py
 context
-old
+new
```

```python
x = 1
```
"""


def test_a_section_is_a_mutant(tmp_path: Path) -> None:
    path = tmp_path / "subject-part.md"
    path.write_text(SECTION)
    (mutant,) = read(path)
    assert (mutant.name, mutant.area, mutant.kind) == ("name", "subject", "check")
    assert mutant.breaks == ("RULE-01", "other")
    assert (mutant.mistake, mutant.shows) == ("The mistake, in a sentence.", "x = 1\n")
    (edit,) = mutant.apply.args[0]  # type: ignore[attr-defined]
    assert (edit.old, edit.new) == ("context\nold\n", "context\nnew\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [("; check", ""), ("check", "taste"), ("```python", "```text"), ("+new", "new")],
)
def test_a_malformed_section_is_refused(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "subject.md"
    path.write_text(SECTION.replace(old, new))
    with pytest.raises(CatalogueError, match=r"subject\.md"):
        read(path)


# -- the page ---------------------------------------------------------------------------------


def finding(name: str, outcome: str, **more: Any) -> dict[str, Any]:
    kill = {"program": "SEED-01.1", "stage": "rule", "rule": "SEED-01", "sentence": "A seed."}
    kill |= {"level": "values", "shown": "line 3, <i>x</i>: expected 1, got \u202e2"}
    kills = [kill] if outcome.startswith("killed") else []
    helpful = "names the rule" if kills else None
    made = {"mutant": name, "area": "seeds", "kind": "check", "mistake": "A `seed` <b>is</b> lost."}
    made |= {"breaks": ["SEED-01"], "outcome": outcome, "reason": None, "helpful": helpful}
    return {**made, "programs": 1, "seconds": 0.5, "kills": kills, **more}


def made_document(**more: Any) -> dict[str, Any]:
    findings = [finding(f"m{i}", outcome) for i, outcome in enumerate(examine.OUTCOMES)]
    return {
        **{"schema": 1, "suite": "0", "backend": "impl", "oracle": "recorded:x", "all": True},
        **{"catalogue": "mutants.catalogue", "mutants": findings},
        "idle": [{"rule": "SEED-02", "sentence": "Another `seed`.", "kills": 0}],
        **more,
    }


def test_the_page_counts_by_area_and_kind_and_escapes() -> None:
    text = page(made_document())
    shown = Page(text)
    assert "2 mutants of 5 are noticed" in " ".join(shown.text.split())
    assert "2 of 5" in shown.text and "names the rule" in shown.text and "SEED-02" in shown.text
    assert all(tag not in ("b", "i") for tag, _ in shown.elements)
    assert "\u202e" not in text and "\\u202e" in shown.text


def test_the_policy_of_the_page_is_strict() -> None:
    shown = Page(page(made_document()))
    (policy,) = (
        attributes["content"]
        for tag, attributes in shown.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None and policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not any("style" in attributes for _, attributes in shown.elements)
    assert not any(name.startswith("on") for _, attributes in shown.elements for name in attributes)
    for _, attributes in shown.elements:
        assert "src" not in attributes and (attributes.get("href") or "#").startswith("#")


def test_the_page_refuses_what_is_no_examination() -> None:
    with pytest.raises(ReportError):
        page({"schema": 7})
    with pytest.raises(ReportError):
        page(made_document(mutants=[finding("m", "vanished")]))


def test_port_with_five_mistakes_diverges_in_a_rule_of_each(tmp_path: Path) -> None:
    breaks = [mutant.breaks[-1] for mutant in catalogue() if mutant.name in MISTAKES]
    assert len(breaks) == len(MISTAKES) == 5
    rules = [option for rule in breaks for option in ("--rule", rule)]
    sides = ("--backend", "mutants.five:port", "--oracle", "recorded:torch-2.15")
    conform("run", *sides, *rules, "--run-file", "five.jsonl", cwd=tmp_path)
    lines = read_run(tmp_path / "five.jsonl").programs
    assert {line["rule"] for line in lines if line["outcome"] == "diverges"} == set(breaks)
