"""Random programs: findings, shrinking, storage and replay."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from made_searches import search, settings

from conformance import backends
from conformance.execution.execute import trace
from conformance.fuzz import findings as kept_findings
from conformance.fuzz.corpus import read_corpus, write_corpus
from conformance.fuzz.coverage import Coverage
from conformance.fuzz.findings import folder, keep, own_folder
from conformance.fuzz.programs import Source, named
from conformance.fuzz.share import Found, Report, Share, program_of, shares
from conformance.fuzz.shrinking import shrunk, simpler
from conformance.fuzz.themes import SHARE, THEMES
from conformance.fuzz.workers import Here
from conformance.program.operations import operator_of
from conformance.run.plan import WrongInput
from conformance.suite.suite import findings


def test_nothing_is_found_on_a_backend_that_is_right():
    result = search("miniature.right:namespace", 60)
    assert not result.found
    assert set(result.outcomes) == {"conforms"}


def of_relu(report: Report) -> Found:
    """The divergence whose program ends with relu; those that follow it with more show it, too."""
    return next(found for found in report.found if found.cause.operator == "gradient of relu")


def test_a_finding_is_shrunk_to_what_matters():
    here = Here(settings("miniature.kinks:relu"))
    found = of_relu(here.share(Share("pointwise", 3, 400, 400)))
    statements, cause = here.shrink(found.statements, found.cause)
    assert cause.field == "values"
    assert len(statements) < len(found.statements) or len(statements) <= 4
    assert "relu" in "".join(statements)


def test_a_tie_is_found_and_the_share_goes_on():
    result = search("miniature.kinks:maximum", 500)
    assert result.programs == 500
    assert "gradient of maximum" in {found.cause.operator for found in result.found}
    assert sum(found.count for found in result.found) > len(result.found)


def test_the_same_seed_finds_the_same_and_another_seed_draws_others():
    first, again = (search("miniature.kinks:relu").to_json() for _ in range(2))
    for report in (first, again):
        del report["reached"], report["seconds"]
    assert first == again
    assert search("miniature.kinks:relu", seed=1).to_json()["found"] != first["found"]


def test_a_name_that_the_backend_lacks_is_not_drawn_or_not_a_finding():
    result = search("miniature.kinks:without_relu", 200)
    assert not result.found
    assert result.outcomes["unsupported"] > 0
    assert result.lacking["torch.relu"] > 0
    lacking = backends.find("miniature.kinks:without_relu")
    drawn = Source(backends.find("impl"), lacking).operators
    assert not any("torch.relu" in s.spellings[:1] for s in drawn)


def test_a_finding_is_kept_once_per_cause_and_replayed(tmp_path):
    found = of_relu(search("miniature.kinks:relu"))
    program = program_of(found)
    path = keep(program, tmp_path)
    assert path.name == f"{program.id.removeprefix('fuzz/')}.json"
    other = dataclasses.replace(program, id="fuzz/0", source=program.source + "1\n")
    assert keep(other, tmp_path) == path
    (replayed,) = findings(tmp_path)
    assert replayed == program
    assert replayed.area == "fuzz"
    assert json.loads(path.read_text("utf-8"))["file"] is None


def test_the_identifier_is_the_hash_of_the_content():
    program = named(["x = torch.ones(2)"], "one")
    assert program.id == named(["x = torch.ones(2)"], "two").id
    assert program.id != named(["x = torch.ones(3)"], "one").id
    kind, digest = program.id.split("/")
    assert kind == "fuzz"
    assert len(digest) == 12
    assert int(digest, 16) >= 0


@pytest.mark.parametrize(
    ("source", "operator"),
    [
        ("y = torch.sum(x)", "sum"),
        ("y = x.sin().cos()", "cos"),
        ("y = x + 1", "Add"),
        ("x += 1", "Add="),
        ("x[0] = 1", "setitem"),
        ("y = x[0]", "getitem"),
        ("y = x.T", "T"),
        ("with torch.no_grad():\n    y = torch.exp(x)", "exp"),
        ("x.grad = None", "grad="),
    ],
)
def test_the_operator_of_a_statement(source, operator):
    assert operator_of(source) == operator


def test_shrinking_drops_statements_unwraps_blocks_and_simplifies_arguments():
    statements = [
        "x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)",
        "a = x * 1",
        "with torch.no_grad():\n    b = torch.sum(x, dim=0, keepdim=True)\n    c = b * 2",
    ]

    def still(tried: list[str]) -> bool:
        return "torch.sum(x" in "\n".join(tried) and "x = " in "\n".join(tried)

    small = shrunk(statements, still)
    assert small[1:] == ["b = torch.sum(x)"]
    assert list(simpler("def broken(")) == []


def test_coverage_counts_the_lines_that_a_program_reaches_first():
    coverage = Coverage("impl")
    program = named(["x = torch.ones(2, requires_grad=True)", "(x * 2).sum().backward()"], "")
    impl = backends.find("impl")
    with coverage.watched():
        trace(program, impl)
    first = len(coverage.reached)
    assert first > 50
    with coverage.watched():
        trace(program, impl)
    assert len(coverage.reached) < first / 5
    assert first < coverage.total()
    assert all(name.endswith(".py") for name, _ in coverage.lines)
    with Coverage("cmd: something").watched():
        pass


def test_a_corpus_is_written_small_and_read_back(tmp_path):
    lines = [("a.py", 1), ("a.py", 2)]
    reached = [(["x = 1"], lines[:1]), (["x = 2", "y = 3"], lines), (["x = 4"], lines[1:])]
    assert write_corpus(tmp_path, reached) == 1
    assert read_corpus(tmp_path) == [["x = 2", "y = 3"]]
    assert read_corpus(tmp_path / "new") == []
    assert read_corpus(None) == []


@pytest.mark.parametrize("content", [b"def (", b"", b"\xff\xfe", b"x = 1\n" * 20000])
def test_a_malformed_corpus_is_refused(tmp_path, content):
    (tmp_path / "odd.py").write_bytes(content)
    with pytest.raises(WrongInput, match=r"odd\.py: not a program of the corpus"):
        read_corpus(tmp_path)


def test_shares_add_up_and_do_not_depend_on_each_other():
    drawn = shares(["views", "writes"], SHARE * 2 + 50)
    assert [str(share) for share in drawn if share.theme == "views"] == [
        *("views-0", "views-1", "views-2")
    ]
    for theme in ("views", "writes"):
        assert sum(share.examples for share in drawn if share.theme == theme) == SHARE * 2 + 50
    assert shares(["views", "writes"], SHARE * 2) == [
        dataclasses.replace(share, total=SHARE * 2) for share in drawn if share.number < 2
    ]
    assert [str(share) for share in shares(examples=7)] == list(THEMES)


def test_findings_are_written_into_a_checkout_and_never_into_an_installed_package(monkeypatch):
    monkeypatch.setattr(kept_findings, "checkout", lambda: Path("/somewhere"))
    assert folder() == own_folder()
    monkeypatch.setattr(kept_findings, "checkout", lambda: None)
    assert folder() == Path("findings")
