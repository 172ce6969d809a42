"""The command `conform`: output, files and exit codes."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import time

import jsonschema
import pytest
from command import MINIATURE, conform, ended, environment, judge, started

from conformance.base.levels import LEVELS
from conformance.run_files.reading import read_run
from conformance.run_files.run import schema
from conformance.settings.options import RECORDING
from conformance.settings.settings import default_oracle


def outcomes(path) -> dict[str, str]:
    return {line["id"]: line["outcome"] for line in read_run(path).programs}


GOOD = {"LEAF-01.1", "LEAF-01.2", "LEAF-03.1", "TIES-01.1"}
"""The miniature programs that use none of the replaced functions."""


def test_right_backend_conforms(tmp_path):
    done = judge("right:namespace", "--run-file", tmp_path / "out" / "r.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 conforms, 0 diverges" in done.stdout
    assert "exit code 0: everything conforms" in done.stdout
    assert re.search(r"^seconds of work: \d+\.\d \((leaves|ties) \d+\.\d, ", done.stdout, re.M)
    assert f"run file: {tmp_path / 'out' / 'r.jsonl'}" in done.stdout
    run = read_run(tmp_path / "out" / "r.jsonl")
    assert run.complete
    assert run.header["programs"] == len(run.programs) == 5
    assert run.header["backend"]["name"] == "miniature.right:namespace"
    assert run.header["oracle"]["name"] == "impl"
    assert all("got" not in line for line in run.programs), "equal traces are written once"


def test_lines_of_a_real_run_meet_the_schema(tmp_path):
    judge("wrong:always", "--run-file", tmp_path / "r", cwd=tmp_path)
    validator = jsonschema.Draft202012Validator(schema())
    for text in (tmp_path / "r").read_text("utf-8").splitlines():
        validator.validate(json.loads(text))


def test_torch_conforms_to_itself(tmp_path):
    done = conform("run", "--backend", "torch", *MINIATURE, "--run-file", "r", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(outcomes(tmp_path / "r").values()) == {"conforms"}


def test_default_dtype_holds_on_both_sides_and_silences_the_comments(tmp_path):
    chapter = tmp_path / "spec" / "01-leaves.md"
    chapter.parent.mkdir()
    program = "x = torch.tensor(1.5)\nx.dtype    # torch.float32\n"
    chapter.write_text(f"# L\n\n## LEAF-01 A rule\n\n```python\n{program}```\n")
    wide = ["--default-dtype", "float64", "--run-file", "r"]
    for backend in ("impl", "torch"):
        options = ["run", "--backend", backend, "--spec", "spec", "--area", "leaves"]
        done = conform(*options, *wide, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        run = read_run(tmp_path / "r")
        assert run.header["default_dtype"] == "float64"
        assert "float64" in str(run.programs[0]["expected"])


@pytest.mark.parametrize("level", LEVELS)
def test_backend_wrong_at_one_level_diverges_there_only(tmp_path, level):
    done = judge(f"wrong:{level}", "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    line = read_run(tmp_path / "r").program("LEAF-02.1")
    assert line["levels"] == {each: "diverges" if each == level else "conforms" for each in LEVELS}
    assert list(line["divergences"]) == [level]
    assert line["divergences"][level]["line"] == 3
    assert f"1 x {level}: " in done.stdout
    assert "   line 3, " in done.stdout
    assert {name for name, o in outcomes(tmp_path / "r").items() if o == "conforms"} == GOOD


def test_only_the_chosen_levels_count_but_all_are_recorded(tmp_path):
    chosen = ("--level", "values", "--level", "graph")
    done = judge("wrong:memory", *chosen, "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    run = read_run(tmp_path / "r")
    assert run.levels == ("values", "graph")
    line = run.program("LEAF-02.1")
    assert line["outcome"] == "conforms"
    assert line["levels"]["memory"] == "diverges"
    assert run.footer["levels"]["memory"]["diverges"] == 1


def test_everything_wrong(tmp_path):
    done = judge("wrong:always", "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 1
    assert set(outcomes(tmp_path / "r").values()) == {"diverges"}


@pytest.mark.parametrize("backend", ["lacking:namespace", "lacking:not_implemented"])
def test_missing_name_is_unsupported_not_wrong(tmp_path, backend):
    done = judge(backend, "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert outcomes(tmp_path / "r") == {
        **dict.fromkeys(GOOD, "conforms"),
        "LEAF-02.1": "unsupported",
    }
    assert "ones" in read_run(tmp_path / "r").program("LEAF-02.1")["reason"]
    assert "nothing diverges, but something was not compared" in done.stdout


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        ("crashing:killed", "SIGKILL"),
        ("crashing:exits", "exit code 0"),
        ("slow:hanging", "--timeout"),
        ("odd:interrupt", "process"),
    ],
)
@pytest.mark.parametrize("processes", ["0", "2"])
def test_dying_or_hanging_backend_costs_one_program(tmp_path, backend, reason, processes):
    options = ("--timeout", "2", "-n", processes, "--run-file", tmp_path / "r")
    done = judge(backend, *options, cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert outcomes(tmp_path / "r") == {**dict.fromkeys(GOOD, "conforms"), "LEAF-02.1": "error"}
    assert reason in read_run(tmp_path / "r").program("LEAF-02.1")["reason"]
    assert read_run(tmp_path / "r").complete


@pytest.mark.parametrize("backend", ["printing:namespace", "slow:slow"])
def test_rubbish_on_the_terminal_and_slowness_change_nothing(tmp_path, backend):
    done = judge(backend, "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not a trace" not in done.stdout + done.stderr
    assert set(outcomes(tmp_path / "r").values()) == {"conforms"}


@pytest.mark.parametrize("backend", ["odd:unprintable", "odd:exit", "odd:surrogate"])
def test_odd_error_is_a_divergence_like_any_other(tmp_path, backend):
    done = judge(backend, "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "\x1b[31m" not in done.stdout, "what a backend says does not colour our terminal"
    line = read_run(tmp_path / "r").program("LEAF-02.1")
    assert line["divergences"]["values"]["field"] == "error"
    assert {name for name, o in outcomes(tmp_path / "r").items() if o == "conforms"} == GOOD


def test_crash_of_a_worker_costs_one_program(tmp_path):
    options = ("--no-isolation", "-n", "2", "--run-file", tmp_path / "r")
    done = judge("crashing:killed", *options, cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert outcomes(tmp_path / "r") == {**dict.fromkeys(GOOD, "conforms"), "LEAF-02.1": "error"}
    assert "died" in read_run(tmp_path / "r").program("LEAF-02.1")["reason"]


def without_time(path) -> list[dict]:
    lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
    for line in lines:
        for key in ("run", "started", "finished", "seconds", "crc", "sha256"):
            line.pop(key, None)
    return lines


def test_run_is_the_same_however_it_is_spread(tmp_path):
    for processes in ("0", "2", "3"):
        judge("wrong:values", "-n", processes, "--run-file", tmp_path / processes, cwd=tmp_path)
    assert without_time(tmp_path / "0") == without_time(tmp_path / "2")
    assert without_time(tmp_path / "0") == without_time(tmp_path / "3")


def test_settings_of_the_current_folder_are_not_ours(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise RuntimeError('not ours')\n")
    (tmp_path / "test_mine.py").write_text("def test_mine(): assert False\n")
    done = judge("right:namespace", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    done = conform(
        *("run", "--backend", "miniature.right:namespace", "--oracle", "impl", *MINIATURE),
        cwd=tmp_path,
        PYTEST_ADDOPTS="--no-such-option",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def interrupted(tmp_path, number: signal.Signals, processes: str) -> tuple[int, str]:
    """The end of a run that hangs in its third program, and receives a signal there."""
    options = ("--backend", "miniature.slow:hanging", "--oracle", "impl", "-n", processes)
    path = tmp_path / "r"
    with (tmp_path / "output").open("w+") as output:
        process = started(
            *("run", *MINIATURE, *options, "--run-file", path),
            cwd=tmp_path,
            streams=(None, output, output),
            session=True,
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if path.exists() and path.read_bytes().count(b'"type":"program"') >= 2:
                break
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(number)
        return process.wait(60), (tmp_path / "output").read_text()


@pytest.mark.parametrize(
    ("processes", "number"), [("0", signal.SIGTERM), ("2", signal.SIGINT), ("2", signal.SIGTERM)]
)
def test_interrupted_run_keeps_what_it_has(tmp_path, processes, number):
    code, output = interrupted(tmp_path, number, processes)
    assert code == 3, output
    assert "interrupted" in output
    assert "Traceback" not in output
    run = read_run(tmp_path / "r")
    assert not run.complete
    assert 2 <= len(run.programs) < 5
    assert {line["outcome"] for line in run.programs} == {"conforms"}


def test_killed_run_keeps_what_it_has(tmp_path):
    code, _ = interrupted(tmp_path, signal.SIGKILL, "0")
    assert code == -signal.SIGKILL
    run = read_run(tmp_path / "r")
    assert not run.complete
    assert len(run.programs) == 2


def test_missing_device_is_not_run(tmp_path):
    # A device type that torch knows and this build of torch lacks.
    arguments = ("run", "--backend", "torch:hpu", *MINIATURE, "--run-file", "r")
    done = conform(*arguments, cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert set(outcomes(tmp_path / "r").values()) == {"not_run"}
    done = conform(*arguments, "--if-available", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not available here" in done.stdout


def test_list(tmp_path):
    done = conform("list", *MINIATURE, cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        *("LEAF-01.1", "LEAF-01.2", "LEAF-02.1", "LEAF-03.1", "TIES-01.1")
    ]
    assert "Only a scalar is differentiated without a seed" in done.stdout
    done = conform("list", *MINIATURE, "--id", "*-01.*", "--json", cwd=tmp_path)
    listed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [program["id"] for program in listed] == ["LEAF-01.1", "LEAF-01.2", "TIES-01.1"]
    assert listed[0]["rule"] == "LEAF-01"
    assert listed[0]["source"].startswith("import torch\n")


def test_list_survives_a_reader_that_leaves(tmp_path):
    with subprocess.Popen(
        ["head", "-n", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as head:
        done = ended("list", cwd=tmp_path, streams=(None, head.stdin))
        assert head.stdin is not None and head.stdout is not None
        head.stdin.close()
        assert len(head.stdout.read().splitlines()) == 1
    assert (done.returncode, done.stderr) == (0, "")


def show(identifier: str, backend: str, *arguments: str, cwd, **changes: str):
    options = ("--backend", f"miniature.{backend}", "--oracle", "impl", *MINIATURE[:2])
    return conform("show", identifier, *options, *arguments, cwd=cwd, **changes)


def test_show_puts_the_traces_side_by_side(tmp_path):
    done = show("LEAF-02.1", "wrong:values", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "oracle impl" in done.stdout
    assert "backend miniature.wrong:values" in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if "! e = tensor([1.0, 1.0]" in line]
    assert "! e = tensor([2.0, 2.0]" in row
    (statement,) = [line for line in done.stdout.splitlines() if line.startswith("   3  ")]
    assert "e = torch.ones(2)" in statement
    assert statement.endswith("<-- first divergence: values")
    assert "values: line 3, e.values" in done.stdout
    assert "show it again: conform show LEAF-02.1 --backend miniature.wrong:values" in done.stdout


def test_show_of_a_program_that_conforms(tmp_path):
    done = show("LEAF-01.1", "right:namespace", cwd=tmp_path)
    assert done.returncode == 0
    assert "conforms" in done.stdout
    assert "! " not in done.stdout


def test_show_of_a_backend_that_dies(tmp_path):
    done = show("LEAF-02.1", "crashing:killed", cwd=tmp_path)
    assert done.returncode == 3
    assert "SIGKILL" in done.stdout


def test_show_as_json_is_the_line_of_a_run(tmp_path):
    done = show("LEAF-02.1", "wrong:values", "--json", cwd=tmp_path)
    line = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema()).validate(line)
    assert line["outcome"] == "diverges"


def test_show_works_on_operator_samples(tmp_path):
    listed = conform("list", "--operator", "add", "--json", cwd=tmp_path).stdout.splitlines()
    identifier = json.loads(listed[0])["id"]
    options = ("--backend", "impl", "--oracle", "impl")
    done = conform("show", identifier, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert identifier in done.stdout


def test_seed_is_the_same_on_both_sides_and_has_an_effect(tmp_path):
    rule = "# Leaves\n\n## LEAF-01 A draw\n\n```python\nx = torch.rand(3)\n```\n"
    (tmp_path / "01-leaves.md").write_text(rule)
    options = ("--backend", "torch", "--spec", tmp_path, "--json")
    drawn = {}
    for seed in ("0", "7"):
        done = conform("show", "LEAF-01.1", *options, "--seed", seed, cwd=tmp_path)
        line = json.loads(done.stdout)
        assert line["outcome"] == "conforms"
        drawn[seed] = line["expected"]["steps"][0]["changed"]["x"]["values"]
    assert drawn["0"] != drawn["7"]


def test_command_that_shows_a_failure_again_does_so(tmp_path):
    done = show("LEAF-02.1", "wrong:graph", cwd=tmp_path)
    (command,) = [
        line.partition("show it again: ")[2]
        for line in done.stdout.splitlines()
        if "show it again: " in line
    ]
    again = conform(*command.split()[1:], cwd=tmp_path)
    assert again.stdout == done.stdout


def test_report_of_a_run(tmp_path):
    judge("wrong:values", "--run-file", "r.jsonl", "--report", "one.html", cwd=tmp_path)
    assert "LEAF-02.1" in (tmp_path / "one.html").read_text("utf-8")
    done = conform("report", "r.jsonl", "-o", "two.html", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LEAF-02.1" in (tmp_path / "two.html").read_text("utf-8")


def test_exit_codes_are_documented():
    for command in ([], ["run"]):
        done = conform(*command, "--help", cwd=MINIATURE_FOLDER)
        assert done.returncode == 0
        for text in ("exit codes:", "0  every", "1  something", "2  wrong", "3  nothing"):
            assert text in done.stdout


MINIATURE_FOLDER = environment()["PYTHONPATH"].split(os.pathsep)[1]


def test_recorded_traces_are_the_oracle_where_there_is_no_torch(monkeypatch):
    assert default_oracle() == "torch"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert default_oracle() == RECORDING


def test_name_revision_and_address_are_kept_and_shown(tmp_path):
    told = ("--name", "my port", "--revision", "8d4e08a", "--url", "https://ci.example/7/report")
    done = judge("wrong:values", *told, "--run-file", "r", "--report", "r.html", cwd=tmp_path)
    assert done.stdout.startswith("my port 1.0 (cpu) against impl"), done.stdout
    header = read_run(tmp_path / "r").header
    assert header["backend"]["name"] == "miniature.wrong:values"
    assert header["backend"]["title"] == "my port"
    assert (header["revision"], header["url"]) == ("8d4e08a", "https://ci.example/7/report")
    page = (tmp_path / "r.html").read_text()
    assert '<a href="https://ci.example/7/report">https://ci.example/7/report</a>' in page
    assert "my port 1.0 (cpu) · --backend &#39;miniature.wrong:values&#39;" in page
    assert "8d4e08a" in page


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--url", "javascript:alert(1)"), "does not start with http:// or https://"),
        (("--url", "https://a\nb"), "does not start with http:// or https://"),
        (("--name", ""), "not one line of at most 200 characters"),
        (("--revision", "a\nb"), "not one line of at most 200 characters"),
    ],
)
def test_a_name_or_address_that_no_page_can_show_is_refused(tmp_path, option, message):
    done = judge("right:namespace", *option, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
