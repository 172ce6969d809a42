"""The files around the code: packaging, the changelog, workflows, hooks before a commit, and pages.

Each states a fact that another file states as well. These tests hold the two together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from configparser import RawConfigParser
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("conformance", "frameworks", "impl", "mutants", "reference", "reports")
WORKFLOWS = ("quick", "nightly")
ACTION = "./.github/actions/tox"

MANUAL: dict[str, str] = {
    "mutation-tool": "some mutations change nothing: its survivors are for reading",
}
"""Environments of tox that no workflow runs, each with the reason."""


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


# -- packaging ----------------------------------------------------------------------------------


def test_the_licence_is_named_and_shipped():
    metadata = project()["project"]
    assert metadata["license"] == "BSD-3-Clause"
    assert metadata["license-files"] == ["LICENSE"]
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("BSD 3-Clause License\n")
    assert (ROOT / metadata["readme"]).is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_ships_its_data_and_its_annotations(package):
    """A file that is not Python reaches an installation only if a pattern names it."""
    folder = ROOT / package
    patterns = project()["tool"]["setuptools"]["package-data"][package]
    shipped = {file for pattern in patterns for file in folder.glob(pattern)}
    data = {
        file
        for file in folder.rglob("*")
        if file.is_file() and file.suffix not in (".py", ".pyc", ".pyi")
    }
    assert folder / "py.typed" in shipped
    assert data <= shipped, sorted(str(f.relative_to(ROOT)) for f in data - shipped)


def test_the_supported_pythons_are_those_that_are_tested():
    named = "Programming Language :: Python :: "
    classified = [
        text.removeprefix(named)
        for text in project()["project"]["classifiers"]
        if re.fullmatch(rf"{named}3\.\d+", text)
    ]
    tested = workflow("quick")["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert classified == tested
    assert project()["project"]["requires-python"].startswith(f">={tested[0]}")
    versions = workflow("nightly")["jobs"]["versions"]["strategy"]["matrix"]["include"]
    assert [each["python"] for each in versions] == tested
    for each in versions:
        factor = "py" + each["python"].replace(".", "")
        assert all(name.startswith(f"{factor}-") for name in each["env"].split(","))


# -- the changelog ------------------------------------------------------------------------------

SECTIONS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_has_this_version_and_a_place_for_the_next():
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    versions = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert versions[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", name) for name in versions[1:])
    assert versions[1].partition(" ")[0] == project()["project"]["version"]
    assert {line.removeprefix("### ") for line in lines if line.startswith("### ")} <= SECTIONS


# -- tox and the workflows ----------------------------------------------------------------------


@cache
def tox() -> RawConfigParser:
    config = RawConfigParser()
    config.read(ROOT / "tox.ini", "utf-8")
    return config


def generated(name: str) -> list[str]:
    """The environments that a name such as `py{311,312}-torch213` stands for."""
    pieces = re.split(r"\{([^}]*)\}", name)
    choices = [piece.split(",") if odd % 2 else [piece] for odd, piece in enumerate(pieces)]
    return ["".join(chosen) for chosen in product(*choices)]


def environments() -> set[str]:
    listed = [name.strip() for name in tox()["tox"]["env_list"].split(",")]
    sections = [name.removeprefix("testenv:") for name in tox().sections() if ":" in name]
    return {each for name in (*listed, *sections) for each in generated(name)}


@cache
def workflow(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text("utf-8"))


def combinations(job: dict[str, Any]) -> list[dict[str, str]]:
    """The values of a job's matrix, one mapping for each run of the job."""
    matrix = dict(job.get("strategy", {}).get("matrix", {}))
    if "include" in matrix:
        return matrix["include"]
    return [dict(zip(matrix, values, strict=True)) for values in product(*matrix.values())]


def environments_of(job: dict[str, Any]) -> Iterator[str]:
    """The environments of tox that a job runs."""
    for step in job["steps"]:
        if step.get("uses") != ACTION:
            continue
        for values in combinations(job):
            text = step["with"]["env"]
            for name, value in values.items():
                text = text.replace("${{ matrix." + name + " }}", value)
            yield from text.split(",")


def jobs() -> dict[tuple[str, str], list[str]]:
    """Every job, by its workflow and name, with its environments."""
    return {
        (name, job): list(environments_of(description))
        for name in WORKFLOWS
        for job, description in workflow(name)["jobs"].items()
    }


def test_the_scan_of_workflows_sees_all_of_them():
    assert {file.stem for file in (ROOT / ".github/workflows").iterdir()} == set(WORKFLOWS)
    assert all(jobs().values())
    assert jobs()["quick", "tests"] == ["tests"] * 4
    assert "py312-torch213" in jobs()["nightly", "versions"]


def test_workflows_run_every_environment_and_no_other():
    run = {name for names in jobs().values() for name in names}
    assert run - environments() == set()
    assert environments() - run == set(MANUAL)


def test_the_page_on_ci_lists_these_jobs():
    """A cell names its environments in code spans; `first` to `last` stands for a whole job."""
    page = (ROOT / "docs/ci.md").read_text("utf-8")
    rows = re.findall(r"^\| (quick|nightly) \| ([\w-]+) \| ([^|]+) \|", page, re.MULTILINE)
    described: dict[tuple[str, str], list[str]] = {}
    for name, job, cell in rows:
        named = re.findall(r"`([^`]+)`", cell)
        if " to " in cell:
            run = jobs()[name, job]
            assert named == [run[0], run[-1]]
            named = run
        described.setdefault((name, job), []).extend(named)
    assert described == {key: list(dict.fromkeys(names)) for key, names in jobs().items()}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read_and_ends(name):
    found = workflow(name)
    assert found["permissions"] == {"contents": "read"}
    assert found["concurrency"]["group"]
    assert all(job["timeout-minutes"] <= 180 for job in found["jobs"].values())
    # YAML 1.1, which the reader speaks, takes the key `on` for a truth value.
    events = set(found[True])
    assert events == ({"push", "pull_request"} if name == "quick" else {"schedule"}) | {
        "workflow_dispatch"
    }


def test_an_action_has_one_version_everywhere():
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / "docs/ci.md"]
    used: dict[str, set[str]] = {}
    for file in files:
        for action, version in re.findall(r"uses: ([\w/-]+)@(\S+)", file.read_text("utf-8")):
            used.setdefault(action, set()).add(version)
    assert {"actions/checkout", "actions/setup-python"} <= set(used)
    assert {action: v for action, v in used.items() if len(v) > 1} == {}


# -- before a commit ----------------------------------------------------------------------------


def pinned(text: str) -> dict[str, str]:
    """The exact versions among requirements, one a line, by distribution."""
    return dict(re.findall(r"^\s*([\w-]+)==(\S+)$", text, re.MULTILINE))


def hooks() -> list[dict[str, Any]]:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    return [hook for repository in config["repos"] for hook in repository["hooks"]]


def test_a_commit_runs_what_lint_runs():
    """With one difference: before a commit files are formatted, lint only checks that they are."""
    commands = [line.strip() for line in tox()["testenv:lint"]["commands"].strip().splitlines()]
    assert [hook["entry"] for hook in hooks()] == [c.removesuffix(" --check") for c in commands]
    assert all(hook["pass_filenames"] is False for hook in hooks())


def test_lint_has_the_same_versions_everywhere():
    wanted = pinned(tox()["testenv:lint"]["deps"])
    extra = project()["project"]["optional-dependencies"]["lint"]
    assert pinned("\n".join(extra)) == wanted
    named = [name for hook in hooks() for name in hook.get("additional_dependencies", ())]
    assert pinned("\n".join(named)) == wanted


# -- pages --------------------------------------------------------------------------------------

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/ci.md")


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("name", PAGES)
def test_the_links_of_a_page_lead_somewhere(name):
    page = ROOT / name
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_the_files_that_contributing_names_exist():
    """Files and folders in code spans that begin with a folder of the project."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    folders = "|".join((*PACKAGES, "docs", "tests"))
    named = set(re.findall(rf"`((?:{folders})/[\w./-]*)`", text)) - {"conformance/findings"}
    assert len(named) > 15
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_files_that_the_architecture_names_exist():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    here = set(re.findall(r"`((?:impl|conformance|reports|reference|tests)/[\w./-]*)`", text))
    # In the glossary and the prose, files of impl go without its name.
    layers = "core|graph|kernels|tensor|tape|engine|dispatch|factories"
    inner = set(re.findall(rf"`((?:{layers})/[\w./-]*)`", text))
    assert len(here) > 20 and len(inner) > 15
    assert [name for name in sorted(here) if not (ROOT / name).exists()] == []
    assert [name for name in sorted(inner) if not (ROOT / "impl" / name).exists()] == []
