"""The history of torch: recorded, read, held against chapters, and followed by backends."""

import json
import lzma
import re
import shutil
from pathlib import Path

import pytest
from command import TESTS, conform

from conformance.backends import find
from conformance.base.torch_versions import newest_first, ranges
from conformance.compare.known import KnownDivergences
from conformance.execution import recorded as lookup
from conformance.execution.execute import trace
from conformance.execution.history import History, release
from conformance.execution.recordings import NotRecorded, fingerprint
from conformance.execution.trace_file import RecordingError
from conformance.history import check
from conformance.history.changes import changes
from conformance.history.fit import fit, questions
from conformance.history.following import versions_of
from conformance.history.notes import notes
from conformance.history.recording import record_version
from conformance.isolation.child import Pending
from conformance.isolation.process import Died, TimedOut
from conformance.program.expectations import MalformedExpectation, read_former
from conformance.program.program import Program, ProgramError
from conformance.run import judge as judging
from conformance.run import sides
from conformance.run.judge import Judge
from conformance.run.sides import Here, Sides
from conformance.settings.settings import Settings
from conformance.suite.chapters import read_chapter

LEVELS = ("values", "graph", "memory", "diagnostics")
CHANGED = {"2.13": "3.0", "2.14": "2.0", "2.15": "2.0"}
"""The number in the place of X in the chapter's program, by version."""

CHAPTER = """# Made

## MADE-01 A number is a number

It is what it is.{note}

```python
x = torch.tensor(X)
x.sum()                  # tensor(2.)
{former}
```
"""


def program(value: str = "2.0", comment: str = "") -> Program:
    source = f"x = torch.tensor({value}){comment}\nx.sum()\n"
    return Program("MADE-01.1", "made", source, "A number is a number", rule="MADE-01")


def of_version(version: str, backend):
    """A torch of this version: it runs programs with the version's number."""

    def run(asked: Program):
        source = asked.source.replace("X", CHANGED[version])
        return trace(Program(asked.id, asked.area, source, "", rule=asked.rule), backend)

    return run


@pytest.fixture(scope="module")
def backend():
    from conformance import backends

    return backends.find("impl")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, backend):
    """The files of `folder`, recorded once: each compression takes 64 MiB of memory."""
    made = tmp_path_factory.mktemp("recorded") / "cpu"
    for version in ("2.15", "2.14", "2.13"):
        record_version(made, version, f"{version}.0", [program("X")], of_version(version, backend))
    return made


@pytest.fixture
def folder(tmp_path, recorded):
    """A history of three versions of one program, which changed in 2.14."""
    return Path(shutil.copytree(recorded, tmp_path / "history" / "cpu"))


def content(folder) -> list[dict]:
    lines = lzma.decompress((folder / "rules.jsonl.xz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def test_each_distinct_trace_is_stored_once_with_its_versions(folder):
    header, line = content(folder)
    assert header["versions"] == {"2.15": "2.15.0", "2.14": "2.14.0", "2.13": "2.13.0"}
    assert [shown["versions"] for shown in line["traces"]] == [["2.15", "2.14"], ["2.13"]]


def test_recording_a_version_again_changes_nothing(folder, backend):
    before = (folder / "rules.jsonl.xz").read_bytes()
    for version in ("2.13", "2.15"):
        again = record_version(
            folder, version, f"{version}.0", [program("X")], of_version(version, backend)
        )
        assert (again.same, again.new) == (1, 0)
    assert (folder / "rules.jsonl.xz").read_bytes() == before


def test_a_version_that_does_something_else_now_is_moved(folder, backend):
    record_version(folder, "2.13", "2.13.1", [program("X")], of_version("2.15", backend))
    header, line = content(folder)
    assert header["versions"]["2.13"] == "2.13.1"
    assert [shown["versions"] for shown in line["traces"]] == [["2.15", "2.14", "2.13"]]


def test_rounding_is_no_difference(folder, backend):
    near = Program("MADE-02.1", "made", "torch.tensor(0.1)\n", "", rule="MADE-02")
    for version, source in (("2.15", "0.1"), ("2.14", "0.10000001")):
        run = of_version(version, backend)
        record_version(
            folder,
            version,
            version,
            [near],
            lambda p, run=run, source=source: run(
                Program(p.id, p.area, f"torch.tensor({source})\n", "")
            ),
        )
    assert [shown["versions"] for shown in content(folder)[2]["traces"]] == [["2.15", "2.14"]]


def test_comments_are_no_part_of_a_program_but_unspecified_is():
    plain = program("X")
    assert fingerprint(plain) == fingerprint(program("X", "   # tensor(2.)"))
    below = Program("MADE-01.1", "made", "# one\nx = torch.tensor(X)\n# two\nx.sum()\n", "")
    assert fingerprint(plain) == fingerprint(below)
    assert fingerprint(plain) != fingerprint(program("X", "   # unspecified"))
    text = Program("T", "made", "x = '# one'  # two\ny = '''\n# three\n'''\n", "")
    assert text.code == "import torch\nx = '# one'\ny = '''\n# three\n'''\n"


def test_traces_have_the_lines_of_the_program_as_it_is_now(folder):
    below = Program(
        "MADE-01.1", "made", "# one\nx = torch.tensor(X)\n# two\nx.sum()\n", "", "MADE-01"
    )
    entry = History(folder).entry(below)
    assert [step.line for step in entry.shown[0].trace.steps] == [3, 5]


def test_another_text_of_a_program_drops_its_traces(folder, backend):
    other = Program("MADE-01.1", "made", "torch.ones(1)\n", "", rule="MADE-01")
    assert History(folder).entry(other) is None
    record_version(folder, "2.15", "2.15.0", [other], lambda p: trace(p, backend))
    past = History(folder)
    assert past.entry(other).versions == ("2.15",)
    assert check.lagging([other], past) == {"2.14": ["MADE-01.1"], "2.13": ["MADE-01.1"]}
    with pytest.raises(NotRecorded, match=r"no trace of torch 2\.13 of this program"):
        past.view("2.13").trace(other)


def test_a_process_that_dies_is_recorded_and_one_that_hangs_is_not(folder):
    def dies(asked):
        raise Died("the process was killed by SIGSEGV (11); it printed:\nhere at 0x7f")

    def hangs(asked):
        raise TimedOut("no answer within 30 s")

    done = record_version(folder, "2.12", "2.12.0", [program("X")], dies)
    assert done.died == {"MADE-01.1": "the process was killed by SIGSEGV (11)"}
    assert content(folder)[1]["traces"][-1] == {
        "versions": ["2.12"],
        "died": "the process was killed by SIGSEGV (11)",
    }
    with pytest.raises(NotRecorded, match=r"torch 2\.12 dies of this program"):
        History(folder).view("2.12").trace(program("X"))
    assert record_version(folder, "2.11", "2.11.0", [program("X")], hangs).failed
    (change,) = [
        c for c in changes(program("X"), History(folder).entry(program("X"))) if c.version == "2.13"
    ]
    assert change.divergences["values"].expected == "the process was killed by SIGSEGV (11)"


def test_changes_have_the_older_and_the_newer_value(folder):
    (change,) = changes(program("X"), History(folder).entry(program("X")))
    assert (change.version, change.before, change.kind) == ("2.14", "2.13", "changed")
    assert change.levels == ("values",)
    found = change.divergences["values"]
    assert (found.name, found.expected, found.got) == ("x", [3.0], [2.0])


def test_a_difference_that_a_port_may_have_is_a_change_of_torch_all_the_same(tmp_path, backend):
    marked = program("X", "  # may differ: values, graph, memory")
    made = tmp_path / "history" / "cpu"
    for version in ("2.15", "2.14", "2.13"):
        record_version(made, version, version, [marked], of_version(version, backend))
    assert [shown["versions"] for shown in content(made)[1]["traces"]] == [
        ["2.15", "2.14"],
        ["2.13"],
    ]
    (change,) = changes(marked, History(made).entry(marked))
    assert (change.version, change.levels) == ("2.14", ("values",))


def test_a_version_that_refuses_with_not_implemented_lacks_no_name(folder, backend):
    refused = {"2.15": "NotImplementedError('no')", "2.14": "ValueError('no')", "2.13": "gone"}
    asked = Program("MADE-03.1", "made", "refuse()\n", "", rule="MADE-03")
    for version, error in refused.items():
        source = f"raise {error}\n" if "Error" in error else "torch.gone\n"
        run = Program("MADE-03.1", "made", source, "", rule="MADE-03")
        record_version(folder, version, version, [asked], lambda p, run=run: trace(run, backend))
    entry = History(folder).entry(asked)
    new, changed = changes(asked, entry)
    assert (new.version, new.kind, changed.version) == ("2.14", "new", "2.15")
    assert changed.kind == "changed" and changed.divergences["values"].field == "error"


@pytest.mark.parametrize(
    ("note", "former", "problem"),
    [
        ("\n\n*Changed in 2.14:* it was 3 before.", "# before 2.14: tensor(3.)", None),
        ("\n\n*Fixed in 2.14:* it was 3 before.", "# before 2.14: tensor(3.)", None),
        ("", "", r"made\.md:3: MADE-01: no note says that it changed in 2\.14 \(MADE-01\.1 values"),
        ("\n\n*Changed in 2.15:* no.", "", r":7: MADE-01: the note says changed in 2\.15, where"),
        ("\n\n*New in 2.14.*", "", r":7: MADE-01: the note says new in 2\.14, where the program"),
        ("\n\n*Changed in spring:* no.", "", r":7: MADE-01: \*Changed in spring:\* names no ver"),
        (
            "\n\n*Changed in 2.14:* it was 3.",
            "# before 2.14: tensor(4.)",
            r"MADE-01\.1: torch 2\.13 does not do what the comment says",
        ),
    ],
)
def test_notes_and_comments_are_held_against_the_history(folder, tmp_path, note, former, problem):
    path = tmp_path / "01-made.md"
    path.write_text(CHAPTER.format(note=note, former=former))
    found = [str(one) for one in check.problems(read_chapter(path), History(folder))]
    if problem is None:
        assert found == []
    else:
        assert any(re.search(problem, one) for one in found), found


def test_a_comment_that_is_not_true_of_the_newest_version_is_a_problem(folder, tmp_path):
    path = tmp_path / "01-made.md"
    path.write_text(
        CHAPTER.format(note="\n\n*Changed in 2.14:* x.", former="").replace("2.)", "1.)")
    )
    found = [str(one) for one in check.problems(read_chapter(path), History(folder))]
    assert len(found) == 2 and all("expected: tensor(1.)" in one for one in found)
    assert ["torch 2.15" in found[0], "torch 2.14" in found[1]] == [True, True]


@pytest.mark.parametrize(
    ("note", "former", "problem"),
    [
        ("", "", None),
        ("\n\n*Changed in 2.14:* the message.", "# before 2.14: raises ValueError: 3.0", None),
        ("\n\n*New in 2.14.*", "", r":7: MADE-01: the note says new in 2\.14, where the program"),
        ("", "# before 2.14: raises ValueError: 4.0", r"MADE-01\.1: torch 2\.13 does not do what"),
    ],
)
def test_a_change_of_a_text_needs_no_note(tmp_path, backend, note, former, problem):
    made = Program("MADE-01.1", "made", "raise ValueError('X')\n", "", rule="MADE-01")
    for version in ("2.15", "2.14", "2.13"):
        record_version(tmp_path, version, version, [made], of_version(version, backend))
    path = tmp_path / "01-made.md"
    lines = CHAPTER.format(note=note, former=former).replace("x = torch.tensor(X)\n", "")
    comment = "raise ValueError('X')    # raises ValueError: 2.0"
    path.write_text(lines.replace("x.sum()                  # tensor(2.)", comment))
    found = [str(one) for one in check.problems(read_chapter(path), History(tmp_path))]
    if problem is None:
        assert found == []
    else:
        assert len(found) == 1 and re.search(problem, found[0]), found


def test_notes_name_several_versions_and_end_with_their_paragraph(tmp_path):
    path = tmp_path / "01-made.md"
    path.write_text(
        CHAPTER.format(
            note="\n\n*New in 2.1.* *Changed in 2.4, 2.6 and 2.9:* it\nwent up.\n\nMore.", former=""
        )
    )
    (rule,) = read_chapter(path).rules
    found = notes(rule, path.read_text().splitlines())
    assert [(note.kind, note.version, note.text) for note in found] == [
        ("New", "2.1", ""),
        ("Changed", "2.4", "it went up."),
        ("Changed", "2.6", "it went up."),
        ("Changed", "2.9", "it went up."),
    ]


def test_a_comment_on_older_versions_stands_below_its_statement():
    source = "x.sum()   # tensor(2.)\n# before 2.14: tensor(3.)\n# before 2.6: raises ValueError\n"
    (statement,) = Program("A", "made", "x = 1\n" + source, "").statements[1:]
    told = {
        v: [e.text for e in statement.expected(v)] for v in ("2.5", "2.6", "2.13", "2.14", None)
    }
    assert told == {
        "2.5": ["raises ValueError"],
        "2.6": ["tensor(3.)"],
        "2.13": ["tensor(3.)"],
        "2.14": ["tensor(2.)"],
        None: ["tensor(2.)"],
    }
    with pytest.raises(ProgramError, match="stands right below a statement"):
        Program("A", "made", "# before 2.14: tensor(3.)\nx = 1\n", "").statements  # noqa: B018
    with pytest.raises(MalformedExpectation, match="cannot be read"):
        read_former("before 2.14: something else")
    assert read_former("before noon: rest") is None


# -- other versions -------------------------------------------------------------------------------


class Shows(Here):
    """A backend that shows the trace of a function, whatever it is given."""

    def __init__(self, shown):
        super().__init__(find("impl"))
        self.shown = shown

    def begin(self, program, timeout=None):
        return Pending(None, self.shown)


@pytest.fixture
def judged(folder, monkeypatch):
    """A function that judges impl on the program with a number, against a view of the history."""
    monkeypatch.setattr(judging, "history", lambda: History(folder))
    monkeypatch.setattr(sides, "find_recording", lambda name: History(folder).view(name[-4:]))

    def judged(value: str, oracle: str, **settings) -> dict:
        made = Settings(oracle=f"recorded:torch-{oracle}", isolation=False, **settings)
        shows = Shows(lambda: trace(program(value), find("impl")))
        judge = Judge(made, KnownDivergences(), sides=Sides(made, backend=shows))
        return judge.line(program("X"))

    return judged


def test_what_another_version_shows_is_neither_conforming_nor_diverging(judged):
    line = judged("3.0", "2.15")
    assert (line["outcome"], line["versions"]) == ("other_version", ["2.13"])
    assert line["levels"]["values"] == "other_version" and line["levels"]["graph"] == "conforms"
    assert judged("2.0", "2.15")["outcome"] == "conforms"
    old = judged("2.0", "2.13")
    assert (old["outcome"], old["versions"]) == ("other_version", ["2.15", "2.14"])
    assert judged("4.0", "2.15")["outcome"] == "diverges"
    assert judged("3.0", "2.15", exact=True)["outcome"] == "diverges"


def test_what_another_version_refused_with_not_implemented_is_its_answer(
    tmp_path, backend, monkeypatch
):
    made, asked = tmp_path / "history" / "cpu", program("3.0")

    def shown(source: str):
        return trace(Program(asked.id, asked.area, source, "", rule=asked.rule), backend)

    refused = "raise NotImplementedError('no')\n"
    record_version(made, "2.14", "2.14.0", [asked], lambda p: shown(refused))
    record_version(made, "2.15", "2.15.0", [asked], lambda p: shown(p.source))
    monkeypatch.setattr(judging, "history", lambda: History(made))
    monkeypatch.setattr(sides, "find_recording", lambda name: History(made).view(name[-4:]))

    def line(source: str) -> dict:
        made = Settings(oracle="recorded:torch-2.15", isolation=False)
        shows = Shows(lambda: shown(source))
        return Judge(made, KnownDivergences(), sides=Sides(made, backend=shows)).line(asked)

    assert (line(refused)["outcome"], line(refused)["versions"]) == ("other_version", ["2.14"])
    # A name that the backend lacks, which no version lacked, stays a lack.
    assert line("torch.gone\n")["outcome"] == "unsupported"


def test_the_comments_of_an_older_oracle_are_not_checked(judged, monkeypatch):
    line = judged("3.0", "2.13")
    assert (line["outcome"], line["specification"]) == ("conforms", [])


def test_versions_agree_at_the_levels_that_count(folder, backend):
    entry, got = History(folder).entry(program("X")), trace(program("3.0"), backend)
    assert versions_of(entry, program("X"), got, LEVELS) == ("2.13",)
    assert versions_of(entry, program("X"), got, ("graph",)) == ("2.15", "2.14", "2.13")
    assert versions_of(entry, program("X"), got, ("values",), ("graph",)) == ()


def test_the_version_that_a_backend_follows(folder, backend):
    past = History(folder)
    asked = questions([program("X")], past, LEVELS)
    assert [versions for versions, _ in asked[0].answers] == [("2.15", "2.14"), ("2.13",)]
    found = fit(asked, lambda p: trace(program("3.0"), backend), LEVELS)
    assert found.best(asked) == ("2.13",)
    assert found.counts(asked) == {"2.15": (0, 1), "2.14": (0, 1), "2.13": (1, 1)}
    assert questions([program("X")], past, ("graph",)) == []
    nothing = fit(asked, lambda p: trace(program("4.0"), backend), LEVELS)
    assert nothing.followed == {"MADE-01.1": ()} and nothing.best(asked) == ()
    newer = ("2.16", lambda p: trace(program("4.0"), backend))
    assert questions([program("X")], past, LEVELS, newer)[0].versions[0] == "2.16"


def test_a_version_is_a_backend_too(folder, monkeypatch):
    monkeypatch.setattr(sides, "find_recording", lambda name: History(folder).view(name[-4:]))
    monkeypatch.setattr(judging, "history", lambda: History(folder))

    def line(backend: str) -> dict:
        settings = Settings(oracle="recorded:torch-2.15", backend=f"recorded:torch-{backend}")
        return Judge(settings, KnownDivergences()).line(program("X"))

    assert line("2.14")["outcome"] == "conforms"
    assert (line("2.13")["outcome"], line("2.13")["versions"]) == ("other_version", ["2.13"])

    def dies(asked):
        raise Died("the process was killed by SIGSEGV (11)")

    record_version(folder, "2.12", "2.12.0", [program("X")], dies)
    found = line("2.12")
    assert found["outcome"] == "error" and "torch 2.12 dies of this program" in found["reason"]


# -- files and names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: lines[:-1], "the history breaks off: of its 1 programs 1 are missing"),
        (lambda lines: ["{}", *lines[1:]], ":1: not the header of a history"),
        (lambda lines: [lines[0].replace('"schema":1', '"schema":7'), *lines[1:]], "format is 7"),
        (lambda lines: [lines[0], "rubbish"], ":2: no program of a history"),
    ],
)
def test_a_damaged_file_is_named(folder, damage, message):
    path = folder / "rules.jsonl.xz"
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    path.write_bytes(lzma.compress("".join(f"{x}\n" for x in damage(lines)).encode()))
    with pytest.raises(RecordingError, match=message) as caught:
        History(folder).entry(program("X"))
    assert str(path) in str(caught.value)


def test_a_damaged_entry_is_named_with_its_line(folder):
    path = folder / "rules.jsonl.xz"
    text = lzma.decompress(path.read_bytes()).decode().replace('"steps"', '"stops"')
    path.write_bytes(lzma.compress(text.encode()))
    with pytest.raises(RecordingError, match=r"rules\.jsonl\.xz:2: no traces"):
        History(folder).entry(program("X"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RecordingError, match="cannot be read"):
        History(folder).entry(program("X"))


def test_a_version_is_named_by_its_minor_number(folder, monkeypatch):
    monkeypatch.setattr(lookup, "history", lambda device: History(folder))
    found = lookup.find_recording("recorded:torch-2.14")
    assert found.oracle == {"name": "torch", "version": "2.14.0", "device": "cpu"}
    assert found.ids() == ["MADE-01.1"]
    with pytest.raises(RecordingError, match=r"carries: torch-2\.15, torch-2\.14, torch-2\.13\."):
        lookup.find_recording("recorded:torch-1.0")
    with pytest.raises(RecordingError, match="--seed 0, not 1"):
        found.check(1, "float32")


def test_versions_are_ordered_as_numbers():
    assert newest_first(["2.9", "2.10", "2.2"]) == ("2.10", "2.9", "2.2")
    assert ranges(["2.0", "2.1", "2.2", "2.9", "2.11", "2.10"]) == "2.0 to 2.2, 2.9 to 2.11"
    assert release("2.6.0+cu124") == ("2.6", "2.6.0")
    with pytest.raises(ValueError, match="no version of torch"):
        release("unknown")


# -- the history of the project --------------------------------------------------------------------


def test_the_chapters_agree_with_the_history_of_torch():
    done = conform("check", "--oracle", "none", "--allow-lagging", cwd=TESTS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_backend_is_asked_without_torch():
    done = conform("versions", "--area", "ties", "--level", "values", cwd=TESTS)
    assert done.returncode == 0, done.stderr
    assert "best fit: torch 2.15" in done.stdout
