"""The history of torch: recorded, read, and named by versions."""

import json
import lzma

import pytest
from command import TESTS, conform
from made_versions import IMPL, of_version, program

from conformance.base.torch_versions import newest_first, ranges
from conformance.execution import recorded as lookup
from conformance.execution.execute import trace
from conformance.execution.history import History, release
from conformance.execution.recordings import NotRecorded, fingerprint
from conformance.execution.trace_file import RecordingError
from conformance.history import check
from conformance.history.changes import changes
from conformance.history.recording import record_version
from conformance.isolation.process import Died, TimedOut
from conformance.program.program import Program


def content(history_folder) -> list[dict]:
    lines = lzma.decompress((history_folder / "rules.jsonl.xz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def test_each_distinct_trace_is_stored_once_with_its_versions(history_folder):
    header, line = content(history_folder)
    assert header["versions"] == {"2.15": "2.15.0", "2.14": "2.14.0", "2.13": "2.13.0"}
    assert [shown["versions"] for shown in line["traces"]] == [["2.15", "2.14"], ["2.13"]]


def test_recording_a_version_again_changes_nothing(history_folder):
    before = (history_folder / "rules.jsonl.xz").read_bytes()
    for version in ("2.13", "2.15"):
        again = record_version(
            history_folder, version, f"{version}.0", [program("X")], of_version(version)
        )
        assert (again.same, again.new) == (1, 0)
    assert (history_folder / "rules.jsonl.xz").read_bytes() == before


def test_a_version_that_does_something_else_now_is_moved(history_folder):
    record_version(history_folder, "2.13", "2.13.1", [program("X")], of_version("2.15"))
    header, line = content(history_folder)
    assert header["versions"]["2.13"] == "2.13.1"
    assert [shown["versions"] for shown in line["traces"]] == [["2.15", "2.14", "2.13"]]


def test_rounding_is_no_difference(history_folder):
    near = Program("MADE-02.1", "made", "torch.tensor(0.1)\n", "", rule="MADE-02")
    for version, source in (("2.15", "0.1"), ("2.14", "0.10000001")):
        run = of_version(version)
        record_version(
            history_folder,
            version,
            version,
            [near],
            lambda p, run=run, source=source: run(
                Program(p.id, p.area, f"torch.tensor({source})\n", "")
            ),
        )
    assert [shown["versions"] for shown in content(history_folder)[2]["traces"]] == [
        ["2.15", "2.14"]
    ]


def test_comments_are_no_part_of_a_program_but_unspecified_is():
    plain = program("X")
    assert fingerprint(plain) == fingerprint(program("X", "   # tensor(2.)"))
    below = Program("MADE-01.1", "made", "# one\nx = torch.tensor(X)\n# two\nx.sum()\n", "")
    assert fingerprint(plain) == fingerprint(below)
    assert fingerprint(plain) != fingerprint(program("X", "   # unspecified"))
    text = Program("T", "made", "x = '# one'  # two\ny = '''\n# three\n'''\n", "")
    assert text.code == "import torch\nx = '# one'\ny = '''\n# three\n'''\n"


def test_traces_have_the_lines_of_the_program_as_it_is_now(history_folder):
    below = Program(
        "MADE-01.1", "made", "# one\nx = torch.tensor(X)\n# two\nx.sum()\n", "", "MADE-01"
    )
    entry = History(history_folder).entry(below)
    assert [step.line for step in entry.shown[0].trace.steps] == [3, 5]


def test_another_text_of_a_program_drops_its_traces(history_folder):
    other = Program("MADE-01.1", "made", "torch.ones(1)\n", "", rule="MADE-01")
    assert History(history_folder).entry(other) is None
    record_version(history_folder, "2.15", "2.15.0", [other], lambda p: trace(p, IMPL))
    past = History(history_folder)
    assert past.entry(other).versions == ("2.15",)
    assert check.lagging([other], past) == {"2.14": ["MADE-01.1"], "2.13": ["MADE-01.1"]}
    with pytest.raises(NotRecorded, match=r"no trace of torch 2\.13 of this program"):
        past.view("2.13").trace(other)


def test_a_process_that_dies_is_recorded_and_one_that_hangs_is_not(history_folder):
    def dies(asked):
        raise Died("the process was killed by SIGSEGV (11); it printed:\nhere at 0x7f")

    def hangs(asked):
        raise TimedOut("no answer within 30 s")

    done = record_version(history_folder, "2.12", "2.12.0", [program("X")], dies)
    assert done.died == {"MADE-01.1": "the process was killed by SIGSEGV (11)"}
    assert content(history_folder)[1]["traces"][-1] == {
        "versions": ["2.12"],
        "died": "the process was killed by SIGSEGV (11)",
    }
    with pytest.raises(NotRecorded, match=r"torch 2\.12 dies of this program"):
        History(history_folder).view("2.12").trace(program("X"))
    assert record_version(history_folder, "2.11", "2.11.0", [program("X")], hangs).failed
    (change,) = [
        c
        for c in changes(program("X"), History(history_folder).entry(program("X")))
        if c.version == "2.13"
    ]
    assert change.divergences["values"].expected == "the process was killed by SIGSEGV (11)"


def test_changes_have_the_older_and_the_newer_value(history_folder):
    (change,) = changes(program("X"), History(history_folder).entry(program("X")))
    assert (change.version, change.before, change.kind) == ("2.14", "2.13", "changed")
    assert change.levels == ("values",)
    found = change.divergences["values"]
    assert (found.name, found.expected, found.got) == ("x", [3.0], [2.0])


def test_a_difference_that_a_port_may_have_is_a_change_of_torch_all_the_same(tmp_path):
    marked = program("X", "  # may differ: values, graph, memory")
    made = tmp_path / "history" / "cpu"
    for version in ("2.15", "2.14", "2.13"):
        record_version(made, version, version, [marked], of_version(version))
    assert [shown["versions"] for shown in content(made)[1]["traces"]] == [
        ["2.15", "2.14"],
        ["2.13"],
    ]
    (change,) = changes(marked, History(made).entry(marked))
    assert (change.version, change.levels) == ("2.14", ("values",))


def test_a_version_that_refuses_with_not_implemented_lacks_no_name(history_folder):
    refused = {"2.15": "NotImplementedError('no')", "2.14": "ValueError('no')", "2.13": "gone"}
    asked = Program("MADE-03.1", "made", "refuse()\n", "", rule="MADE-03")
    for version, error in refused.items():
        source = f"raise {error}\n" if "Error" in error else "torch.gone\n"
        run = Program("MADE-03.1", "made", source, "", rule="MADE-03")
        record_version(
            history_folder, version, version, [asked], lambda p, run=run: trace(run, IMPL)
        )
    entry = History(history_folder).entry(asked)
    new, changed = changes(asked, entry)
    assert (new.version, new.kind, changed.version) == ("2.14", "new", "2.15")
    assert changed.kind == "changed" and changed.divergences["values"].field == "error"


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
def test_a_damaged_file_is_named(history_folder, damage, message):
    path = history_folder / "rules.jsonl.xz"
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    path.write_bytes(lzma.compress("".join(f"{x}\n" for x in damage(lines)).encode()))
    with pytest.raises(RecordingError, match=message) as caught:
        History(history_folder).entry(program("X"))
    assert str(path) in str(caught.value)


def test_a_damaged_entry_is_named_with_its_line(history_folder):
    path = history_folder / "rules.jsonl.xz"
    text = lzma.decompress(path.read_bytes()).decode().replace('"steps"', '"stops"')
    path.write_bytes(lzma.compress(text.encode()))
    with pytest.raises(RecordingError, match=r"rules\.jsonl\.xz:2: no traces"):
        History(history_folder).entry(program("X"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RecordingError, match="cannot be read"):
        History(history_folder).entry(program("X"))


def test_a_version_is_named_by_its_minor_number(history_folder, monkeypatch):
    monkeypatch.setattr(lookup, "history", lambda device: History(history_folder))
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
