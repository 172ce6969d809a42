"""Recordings: an oracle's traces in a file, and comparisons with them."""

import json
import lzma

import pytest
from command import MINIATURE, TESTS
from command import conform as run

from conformance.compare.known import KnownDivergences
from conformance.execution.recorded import find_recording
from conformance.execution.recordings import (
    NotRecorded,
    Recording,
    record,
    settled,
)
from conformance.execution.trace_file import RecordingError
from conformance.observe.texts import text
from conformance.observe.trace import Step, Trace
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.settings.settings import Settings

pytestmark = pytest.mark.usefixtures("copied")

ORACLE = ("--oracle", "impl")


def conform(*arguments: str):
    return run(*arguments, cwd=TESTS)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("recordings") / "impl.jsonl.xz"
    done = conform("record", str(path), *MINIATURE, *ORACLE)
    assert done.returncode == 0, done.stderr
    return path


def lines(path) -> list[str]:
    return lzma.decompress(path.read_bytes()).decode().splitlines()


def written(path, content: list[str]):
    path.write_text("".join(f"{line}\n" for line in content))
    return path


def test_a_backend_is_compared_with_a_recording(recorded, tmp_path):
    against = ("--oracle", f"recorded:{recorded}")
    same = conform("run", *MINIATURE, *against, "--backend", "impl")
    assert same.returncode == 0, same.stdout
    other = conform("run", *MINIATURE, *against, "--backend", "miniature.wrong:values")
    assert other.returncode == 1, other.stdout


def test_a_recording_is_a_backend_too(recorded, tmp_path):
    as_backend = ("--backend", f"recorded:{recorded}", "--run-file", str(tmp_path / "run.jsonl"))
    against = ("--oracle", "miniature.wrong:values", "-n", "0")
    other = conform("run", *MINIATURE, *as_backend, *against)
    assert other.returncode == 1, other.stdout
    assert '"name":"recorded:' in (tmp_path / "run.jsonl").read_text()
    same = conform("run", *MINIATURE, *as_backend[:2], "--oracle", f"recorded:{recorded}")
    assert same.returncode == 0, same.stdout
    missing = conform("run", "--area", "programs", *as_backend[:2], "--oracle", "none", "-n", "0")
    assert missing.returncode == 3 and "has no trace of this program" in missing.stdout
    nowhere = conform("run", *MINIATURE, "--backend", "recorded:nowhere", "--oracle", "impl")
    assert nowhere.returncode == 2 and "there is no recording 'nowhere'" in nowhere.stderr


def test_the_same_traces_give_the_same_bytes(recorded, tmp_path):
    again = tmp_path / "again.jsonl.xz"
    assert conform("record", str(again), *MINIATURE, *ORACLE).returncode == 0
    assert again.read_bytes() == recorded.read_bytes()
    ids = [json.loads(line)["id"] for line in lines(recorded)[1:]]
    assert ids == sorted(ids) and len(ids) == json.loads(lines(recorded)[0])["programs"]


def test_what_a_program_calls_unspecified_is_recorded_as_zeros(tmp_path):
    source = "a = torch.empty(2)  # unspecified\nb = torch.ones(2)\na + b  # unspecified\n"
    program = Program("T-01.1", "leaves", source, "")
    path = tmp_path / "one.jsonl"
    header = {"suite": "1", "oracle": {"name": "impl", "version": "1", "device": "cpu"}}
    header |= {"seed": 0, "default_dtype": "float32"}
    record(path, header, [program], Judge(Settings(oracle="impl"), KnownDivergences()).expected)
    first, _, last = json.loads(path.read_text().splitlines()[1])["trace"]["steps"]
    assert first["changed"]["a"]["values"] == last["result"]["values"] == [0.0, 0.0]
    assert first["changed"]["a"]["shape"] == [2]
    _, second, _ = Recording(path).trace(program).steps
    assert second.changed["b"]["values"] == [1.0, 1.0]


def test_values_that_cannot_be_read_are_no_numbers():
    seen = {"kind": "tensor", "dtype": "float32", "values": {"error": {"type": "E", "message": ""}}}
    step = Step(0, 1, changed={"a": seen, "b": {**seen, "values": [[1.5, "nan"], 2]}})
    program = Program("T-01.1", "leaves", "a, b = torch.empty(2), 1  # unspecified\n", "")
    found = settled(program, Trace([step])).steps[0].changed
    assert found["a"] == seen and found["b"]["values"] == [[0.0, 0.0], 0]


def test_a_program_that_was_changed_since_is_not_run(recorded):
    recording = Recording(recorded)
    identifier = recording.ids()[0]
    other = Program(identifier, "leaves", "x = torch.ones(3)\n", "")
    with pytest.raises(NotRecorded, match="another text"):
        recording.trace(other)
    judge = Judge(Settings(oracle=f"recorded:{recorded}"), KnownDivergences())
    line = judge.line(other)
    judge.close()
    assert (line["outcome"], line["reason"]) == (
        "not_run",
        "impl.jsonl.xz has a trace of another text of this program",
    )


def test_a_recording_of_another_seed_is_refused(recorded):
    with pytest.raises(RecordingError, match="--seed 0, not 1"):
        Recording(recorded).check(1, "float32")
    done = conform("run", *MINIATURE, "--oracle", f"recorded:{recorded}", "--seed", "1")
    assert done.returncode == 2 and "--seed 0" in done.stderr


def test_an_unknown_recording_is_named_with_those_that_there_are():
    with pytest.raises(RecordingError, match=r"no recording 'nowhere'; .*torch-2\.15"):
        find_recording("recorded:nowhere")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-1], "breaks off: of its 5 traces 1 are missing"),
        (lambda content: ["{}", *content[1:]], ":1: not the header of a recording"),
        (lambda content: [content[0], "rubbish", *content[2:]], ":2: not a recorded trace"),
        (lambda content: [], ":1: not the header"),
    ],
)
def test_a_damaged_recording_is_named_with_its_line(recorded, tmp_path, damage, message):
    path = written(tmp_path / "damaged.jsonl", damage(lines(recorded)))
    with pytest.raises(RecordingError, match=message) as caught:
        Recording(path)
    assert str(path) in str(caught.value)


def test_a_trace_that_is_none_is_named_with_its_line(recorded, tmp_path):
    content = lines(recorded)
    content[2] = content[2].replace('"steps"', '"stops"')
    recording = Recording(written(tmp_path / "damaged.jsonl", content))
    with pytest.raises(RecordingError, match=":3: no trace"):
        recording.entry(recording.ids()[1])


def test_a_cut_archive_is_an_error(recorded, tmp_path):
    path = tmp_path / "cut.jsonl.xz"
    path.write_bytes(recorded.read_bytes()[:-20])
    with pytest.raises(RecordingError, match="cannot be read"):
        Recording(path)


def test_diff_says_rule_by_rule_what_changed(recorded, tmp_path):
    content = lines(recorded)
    header = json.loads(content[0])
    changed = json.loads(content[1])
    tensor = next(
        seen
        for step in changed["trace"]["steps"]
        for seen in step.get("changed", {}).values()
        if "values" in seen
    )
    tensor["values"] = [value + 1 for value in tensor["values"]]
    header["programs"] -= 1
    header["oracle"] = {"name": "impl", "version": "9", "device": "cpu"}
    other = written(
        tmp_path / "other.jsonl", [json.dumps(header), json.dumps(changed), *content[2:-1]]
    )
    spec = MINIATURE[:2]
    done = conform("diff", str(recorded), str(other), *spec)
    assert done.returncode == 1
    assert "Of 4 programs in both, 3 do the same." in done.stdout
    assert "At the level of values, 1 differ." in done.stdout
    assert f"- {changed['id']}, values: after `" in done.stdout
    assert f"1 program recorded only with impl {header['suite']} (cpu)" in done.stdout
    assert conform("diff", str(recorded), str(recorded), *spec).returncode == 0


def test_diff_of_run_files(tmp_path):
    files = []
    for name, backend in (("one", "impl"), ("two", "miniature.wrong:values")):
        files.append(str(tmp_path / f"{name}.jsonl"))
        conform("run", *MINIATURE, *ORACLE, "--backend", backend, "--run-file", files[-1])
    assert conform("diff", files[0], files[0]).returncode == 0
    nothing = conform("diff", files[0], str(tmp_path / "none"))
    assert nothing.returncode == 2 and "none" in nothing.stderr


def test_the_stack_in_an_errors_text_is_not_recorded():
    stack = "\n\nAt:\n  /a/checkpoint.py(390): inner\n  <program T-01.1>(8): f\n  /c.py(1): g\n"
    assert text("ValueError: no" + stack) == "ValueError: no"
    assert text("no\n\nAt:\n  last") == "no\n\nAt:\n  last"
    stack = "\nException raised from f at /a.h:75 (most recent call first):\nframe #0: g + 0x9d\n"
    assert text("no" + stack) == "no"
    assert text('an "error' + stack + '"') == 'an "error"'


def test_the_order_of_a_set_in_a_text_is_that_of_its_elements():
    assert text("<module 'torch' from '/a/torch/__init__.py'> is") == "<module 'torch'> is"
    assert text("got {'b', 'a'} and {'c'}") == "got {'a', 'b'} and {'c'}"
    assert text("a dict {'b': 1, 'a': 2}") == "a dict {'b': 1, 'a': 2}"
