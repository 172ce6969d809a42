"""The specification's site: its contents for chapters, traces and runs."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import made_observations
import made_runs
import pytest
from command import SPEC, conform
from made_site import run_of, text

from conformance.base.levels import LEVELS
from conformance.execution.recorded import find_recording
from conformance.execution.recordings import Recording, record
from conformance.observe.trace import Step, Trace
from conformance.program.program import Program
from conformance.run_files.run import Run
from conformance.suite.chapters import Chapter, read_chapter, read_spec
from conformance.suite.texts import read_texts
from reports.specification.parts import page_names
from reports.specification.prose import Prose
from reports.specification.site import build
from reports.specification.source import highlighted
from reports.specification.traces import observed
from reports.specification.verdicts import ABSENT, columns, counted, worst

HEADER = {
    "suite": "0",
    "oracle": {"name": "torch", "version": "2.13.0+cpu", "device": "cpu"},
    "seed": 0,
    "default_dtype": "float32",
}


def trace(program: Program) -> Trace:
    """A made-up trace of the oracle: every statement makes one number."""
    return Trace(
        [
            Step(statement.index, statement.line, {"n": {"kind": "int", "value": statement.index}})
            for statement in program.statements
        ]
    )


def recording(folder: Path, chapters: list[Chapter], left_out: str = "") -> Recording:
    programs = [program for chapter in chapters for program in chapter.programs]
    record(
        folder / "made.jsonl",
        HEADER,
        [program for program in programs if program.id != left_out],
        trace,
    )
    return Recording(folder / "made.jsonl")


def written(site: Path) -> dict[str, bytes]:
    paths = (path for path in site.rglob("*") if path.is_file())
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def chapters() -> list[Chapter]:
    return read_spec(SPEC)


def test_every_rule_and_program_has_its_anchor_and_its_trace(
    tmp_path: Path, chapters: list[Chapter]
) -> None:
    assert build(chapters, recording(tmp_path, chapters), [], tmp_path / "site") == []
    for chapter, page in zip(chapters, page_names(chapters), strict=True):
        found = (tmp_path / "site" / page).read_text("utf-8")
        for rule in chapter.rules:
            assert found.count(f'id="{rule.id}"') == 1
            for program in rule.programs:
                assert found.count(f'id="{program.id}"') == 1
        assert found.count('<details class="fold trace-of">') == len(chapter.programs)
        assert "<table" not in found


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, chapters: list[Chapter]) -> None:
    made = recording(tmp_path, chapters)
    runs = [run_of(tmp_path, chapters)]
    for name in ("one", "other"):
        build(chapters, made, runs, tmp_path / name)
    assert written(tmp_path / "one") == written(tmp_path / "other")


def test_pages_of_chapters_that_are_gone_are_removed(
    tmp_path: Path, chapters: list[Chapter]
) -> None:
    made, site = recording(tmp_path, chapters), tmp_path / "site"
    build(chapters, made, [], site)
    (site / "notes.html").write_text("mine")
    build(chapters[:1], made, [], site)
    names = {path.name for path in site.iterdir()}
    pages = {f"{name}.html" for name in ("index", "checklist", "names", "errors", "classes")}
    assert names == {*pages, "leaves.html", "notes.html", "site.json"}


def test_a_program_without_a_trace_is_told_of(tmp_path: Path, chapters: list[Chapter]) -> None:
    program = chapters[0].programs[0]
    made = recording(tmp_path, chapters, left_out=program.id)
    assert build(chapters, made, [], tmp_path / "site") == [
        f"{program.id}: made.jsonl has no trace of this program"
    ]
    assert "No trace: made.jsonl has no trace of this program." in text(
        tmp_path / "site", "leaves.html"
    )


def test_a_table_says_how_every_run_stands_and_why(tmp_path: Path, chapters: list[Chapter]) -> None:
    first, second, *_ = [program for chapter in chapters for program in chapter.programs]
    diverging = made_runs.diverging("x", "leaves")
    over = {
        first.id: {name: diverging[name] for name in ("outcome", "levels", "divergences", "got")},
        second.id: {"outcome": "unsupported", "levels": {}, "reason": "lacks <b>torch.ones</b>"},
    }
    run = run_of(tmp_path, chapters, **over)
    build(chapters, recording(tmp_path, chapters), [run], tmp_path / "site")
    for page in ("leaves.html", "checklist.html"):
        found = text(tmp_path / "site", page)
        assert "✗ diverges" in found and "values, line 4, x.grad.values: expected" in found
        assert "⊘ unsupported" in found and "lacks <b>torch.ones</b>" in found
        assert "<b>torch.ones" not in (tmp_path / "site" / page).read_text("utf-8")


def test_nothing_is_believed_of_a_run_of_another_text(
    tmp_path: Path, chapters: list[Chapter]
) -> None:
    program, other = chapters[0].programs[:2]
    run = run_of(tmp_path, chapters, **{program.id: {"source": "import torch\nx = 1\n"}})
    (column,) = columns([run])
    entry = column.entry(program, None)
    assert (entry.category, entry.levels) == (ABSENT, {})
    assert entry.notes == ("the run had another text of this program",)
    assert worst([entry]) == ABSENT
    assert worst([entry, column.entry(other, None)]) == "conforms"


def test_a_level_that_is_not_applicable_has_its_reason(
    tmp_path: Path, chapters: list[Chapter]
) -> None:
    program = chapters[0].programs[0]
    levels = {**dict.fromkeys(LEVELS, "not_applicable"), "graph": "conforms"}
    (column,) = columns([run_of(tmp_path, chapters, **{program.id: {"levels": levels}})])
    assert column.entry(program, trace(program)).notes == (
        "not applicable: the program shows nothing of memory and diagnostics",
        "not applicable: the backend shows nothing of values",
    )


def test_runs_of_one_backend_are_told_apart(tmp_path: Path, chapters: list[Chapter]) -> None:
    run = run_of(tmp_path, chapters)
    other = Run({**run.header, "run": "other"}, run.programs, run.footer)
    names = [column.name for column in columns([run, other])]
    assert names[0] != names[1] and names[1].endswith(", run other")


@pytest.mark.parametrize(
    ("over", "held"),
    [
        ({}, LEVELS),
        ({"levels": {**dict.fromkeys(LEVELS, "conforms"), "graph": "diverges"}}, None),
        ({"outcome": "unsupported", "levels": {}, "reason": "lacks it"}, LEVELS),
        ({"outcome": "error", "levels": {}, "reason": "broke"}, ()),
        ({"outcome": "not_run", "levels": {}, "reason": "no device"}, ()),
    ],
)
def test_a_claim_rests_on_every_program(
    over: dict[str, Any], held: tuple[str, ...] | None, tmp_path: Path, chapters: list[Chapter]
) -> None:
    program = chapters[0].programs[0]
    (column,) = columns([run_of(tmp_path, chapters, **{program.id: over})])
    programs = [program for chapter in chapters for program in chapter.programs]
    found = counted([column.entry(program, None) for program in programs])
    expected = [level for level in LEVELS if level != "graph"] if held is None else list(held)
    assert [claim.level for claim in found if claim.holds] == expected
    if over.get("outcome") == "unsupported":
        assert found[0].text.endswith("; 1 unsupported")


def test_a_claim_names_the_chapters_that_the_run_has_whole(
    tmp_path: Path, chapters: list[Chapter]
) -> None:
    made = recording(tmp_path, chapters)
    lacking = {"outcome": "unsupported", "levels": {}, "reason": "lacks it"}
    run = run_of(tmp_path, chapters[:1], **{chapters[0].programs[0].id: lacking})
    build(chapters, made, [run], tmp_path / "site")
    found = text(tmp_path / "site", "index.html")
    assert "values, graph, memory and diagnostics, torch 2.13, in leaves; 1 unsupported" in found
    assert "“values and graph, torch 2.13”" in found


def test_a_trace_shows_what_changed() -> None:
    program = Program("P.1", "leaves", "x = torch.ones(1)\nx.grad\ndel x\n", "A sentence")
    x = made_observations.tensor([1.0], [1], requires_grad=True)
    grown = {**x, "version": 1, "grad": made_observations.gradient([2.0], [1])}
    found = observed(
        program,
        Trace(
            [
                Step(0, 2, {"x": x}),
                Step(1, 3, {"x": grown}),
                Step(2, 4, deleted=["x"], error={"type": "E", "message": "\u202eno"}),
            ]
        ),
    )
    rows = [[(row.name, row.level, row.text) for row in step.rows] for step in found]
    assert rows[0] == [
        ("x", "values", "tensor([1.0], float32)"),
        ("", "graph", "requires_grad  is_leaf"),
        ("", "memory", "storage=x  version=0  strides=[1]"),
    ]
    assert rows[1] == [
        ("x", "values", "grad=[2.0]"),
        ("", "memory", "grad.strides=[1]  grad: a new tensor  version=1"),
    ]
    assert rows[2][0] == ("raises", "values", "E")
    assert "\u202e" not in rows[2][1][2]
    assert rows[2][2] == ("x", "values", "deleted")


def test_prose_links_to_rules_and_to_nothing_dangerous() -> None:
    prose = Prose({"02-ties.md": "ties.html"}, {"TIES-03": "ties.html#TIES-03"})
    shown = prose.markup(
        "See TIES-03 and TIES-99, `TIES-03`, [ties](02-ties.md#TIES-03), [out](../secret.txt), "
        "[js](javascript:alert(1)), <script>alert(1)</script> ![i](http://a/b.png)"
    )
    assert shown.count('<a href="ties.html#TIES-03">') == 2
    assert "TIES-99," in shown and "<code>TIES-03</code>" in shown
    assert "out," in shown and "secret" not in shown
    assert "<script" not in shown and "<img" not in shown and 'href="javascript' not in shown
    assert prose.plain("A `b` *c*\n\nd") == "A b c d"


def test_source_keeps_its_text_and_is_escaped() -> None:
    source = "import torch\nx = '''a\n<b>'''  # </li>\n\nreturn None"
    lines = highlighted(source)
    plain = [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in lines]
    assert "\n".join(plain) == source
    assert '<span class="py-string">&lt;b&gt;' in lines[2]


def test_pages_have_names_of_their_own(tmp_path: Path) -> None:
    for prefix, name in (("A", "01-index.md"), ("B", "02-ties.md"), ("C", "03-ties.md")):
        (tmp_path / name).write_text(f"# T\n\n## {prefix}-01 S\n\n```python\n1\n```\n")
    found = page_names([read_chapter(path) for path in sorted(tmp_path.iterdir())])
    assert found == ["01-index.html", "ties.html", "03-ties.html"]


def test_the_command_makes_the_site_and_names_what_is_wrong(
    tmp_path: Path, chapters: list[Chapter]
) -> None:
    recording(tmp_path, chapters)
    run_of(tmp_path, chapters)
    options = ("--spec", SPEC, "--oracle", "recorded:made.jsonl")
    made = conform("spec", "site", *options, "--run", "run.jsonl", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "spec: site/index.html: 2 chapters, 1 runs" in made.stdout
    (tmp_path / "cut.jsonl").write_bytes((tmp_path / "run.jsonl").read_bytes()[:-30])
    for wrong, said in (
        (("--run", "cut.jsonl"), "cut.jsonl:"),
        (("--oracle", "torch"), "'torch' is no recording"),
        (("--oracle", "recorded:nobody"), "there is no recording 'nobody'"),
    ):
        found = conform("spec", "site", *options, *wrong, cwd=tmp_path)
        assert found.returncode == 2 and said in found.stderr


def test_a_claim_has_a_badge_with_its_exact_words(tmp_path: Path, chapters: list[Chapter]) -> None:
    program = chapters[0].programs[0]
    known = {
        **{k: made_runs.diverging("x", "leaves")[k] for k in ("outcome", "levels", "divergences")},
        "known": {"reason": "a reason", "link": None},
    }
    run = run_of(tmp_path, chapters, **{program.id: known})
    build(chapters, recording(tmp_path, chapters), [run], tmp_path / "site")
    (badge,) = (tmp_path / "site" / "badges").glob("*-values.svg")
    assert "torch 2.13, except 1 known divergence" in badge.read_text("utf-8")
    assert f'href="badges/{badge.name}"' in (tmp_path / "site" / "index.html").read_text("utf-8")


DEFINITIONS = """\
# Definitions

**leaf** A tensor without `grad_fn`.

**tie**, **kink** A place.
"""
ALGORITHMS = """\
# Algorithms

## Backward(roots)

1. A leaf. (LEAF-01)
2. Others. (LEAF-*)
"""
RULE = """\
## LEAF-0{} A rule

Of a leaf and its {}.

```python
x = torch.max(torch.ones(2))
```

"""


def test_texts_link_to_rules_and_rules_to_steps_and_definitions(tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    spec.mkdir()
    rules = RULE.format(1, "kinks") + RULE.format(2, "leaf")
    (spec / "01-leaves.md").write_text(f"# Leaves\n\n> class: complex\n\n{rules}")
    (spec / "00-definitions.md").write_text(DEFINITIONS)
    (spec / "00-algorithms.md").write_text(ALGORITHMS)
    chapters, texts = read_spec(spec), read_texts(spec)
    site = tmp_path / "site"
    build(chapters, recording(tmp_path, chapters), [], site, texts=texts)
    algorithms = (site / "algorithms.html").read_text("utf-8")
    assert '<li id="Backward-1">' in algorithms
    assert '<a href="leaves.html#LEAF-01">LEAF-01</a>' in algorithms
    assert '<a href="leaves.html">LEAF-*</a>' in algorithms
    leaves = (site / "leaves.html").read_text("utf-8")
    assert '<a href="algorithms.html#Backward-1">Backward 1</a>' in leaves
    assert '<a href="algorithms.html#Backward-2">Backward 2</a>' in leaves
    assert leaves.count('href="definitions.html#term-leaf"') == 1
    assert 'href="definitions.html#term-tie" class="term">kinks</a>' in leaves
    assert 'id="term-leaf"' in (site / "definitions.html").read_text("utf-8")
    assert "max Tensor.max" not in text(site, "names.html")
    assert "max torch.max" in text(site, "names.html")
    assert "complex complex tensors and their gradients 2 2 · 2 · ·" in text(site, "classes.html")


def test_the_index_of_errors_has_the_class_and_text_of_each(tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    spec.mkdir()
    (spec / "01-seeds.md").write_text(
        "# Seeds\n\n## SEED-01 A rule\n\n```python\n"
        "torch.ones(2).backward()  # raises RuntimeError\n```\n"
    )
    chapters = read_spec(spec)
    error = {"type": "RuntimeError", "message": "element 0 of tensors does not require grad"}
    header = HEADER
    record(
        tmp_path / "made.jsonl",
        header,
        chapters[0].programs,
        lambda program: Trace([Step(0, 2, {}, error=error)]),
    )
    build(chapters, Recording(tmp_path / "made.jsonl"), [], tmp_path / "site")
    assert "RuntimeError: element 0 of tensors does not require grad SEED-01" in text(
        tmp_path / "site", "errors.html"
    )


def test_programs_that_need_an_accelerator_show_what_was_recorded_on_one(tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "reference/spec"
    chapters = [read_chapter(next(folder.glob(f"*-{name}.md"))) for name in ("devices", "cuda")]
    missing = build(chapters, find_recording("recorded:torch-2.15"), [], tmp_path)
    assert not missing
    assert "No trace" not in text(tmp_path, "cuda.html")
    page = (tmp_path / "cuda.html").read_text("utf-8")
    examples = sum(len(rule.programs) for rule in chapters[1].rules)
    assert page.count("The trace of torch 2.11.0 (cuda)") == examples > 30
    assert 'class="strip' not in page
    page = (tmp_path / "devices.html").read_text("utf-8")
    assert "The trace of" not in page and 'class="strip' in page
