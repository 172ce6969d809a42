"""Faults of a whole run: an oracle that is lost, and backends that lose everything."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from command import MINIATURE, conform

from conformance.compare.known import KnownDivergences
from conformance.isolation.child import Child
from conformance.observe import trace
from conformance.program.program import Program
from conformance.run.judge import Judge
from conformance.run.sides import Sides
from conformance.run_files.reading import read_run
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection

pytestmark = pytest.mark.usefixtures("copied")


def program(source: str) -> Program:
    return Program("T-01.1", "leaves", source, "")


@pytest.fixture
def judge(request):
    settings = {"backend": "faulty", "oracle": "faulty", "timeout": 20.0}
    made = Judge(Settings(**settings | getattr(request, "param", {})), KnownDivergences())
    yield made
    made.close()


@pytest.mark.fault("an oracle that ends its process, floods or writes rubbish", "the run ended")
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("torch.die(3)", "the oracle: the process ended with exit code 3"),
        ("torch.kill('SIGSEGV')", "the oracle: the process was killed by SIGSEGV (11)"),
        ("torch.say('rubbish\\n')", "the oracle: the process answered rubbish"),
        ("x = (", "the oracle: ProgramError"),
    ],
)
def test_oracle_that_is_lost(judge, source, reason):
    line = judge.line(program(source))
    assert line["outcome"] == "error" and line["reason"].startswith(reason)
    assert judge.line(program("1 + 1"))["outcome"] == "conforms"


@pytest.mark.fault("an oracle that hangs", "the run hung, too")
@pytest.mark.parametrize("judge", [{"timeout": 1.0}], indirect=True)
@pytest.mark.parametrize("source", ["torch.hang()", "torch.stuck()"])
def test_oracle_that_hangs(judge, source):
    judge.line(program("1 + 1"))
    line = judge.line(program(source))
    assert line["outcome"] == "error"
    assert line["reason"].startswith("the oracle: no answer within 1 s, so it was killed")


def test_both_sides_work_at_the_same_time():
    sides = Sides(Settings(backend="faulty", oracle="faulty"))
    roles = ("oracle", "backend")
    sides.shown(program("1"), roles)
    first, second = sides.shown(program("x = torch.nap(1.0)"), roles)
    sides.close()
    (begun, ended), (others_begun, others_ended) = (
        [item["value"] for item in shown.result().steps[0].changed["x"]["items"]]
        for shown in (first, second)
    )
    assert max(begun, others_begun) < min(ended, others_ended)


@pytest.mark.fault("two long answers at once", "not tried")
def test_long_answers(judge):
    assert judge.line(program("x = torch.long_text(3)"))["outcome"] == "conforms"


@pytest.mark.fault("a harness that raises", "the run ended, at every resume")
def test_harness_that_raises(judge, monkeypatch):
    def raises(*_):
        raise RecursionError("too deep")

    monkeypatch.setattr(trace.Trace, "to_json", raises)
    line = judge.line(program("1 + 1"))
    assert (line["outcome"], line["reason"]) == ("error", "the harness: RecursionError: too deep")


@pytest.mark.fault("a backend that hangs or ends at every program", "5.8 days for the suite")
@pytest.mark.parametrize("judge", [{"timeout": 0.5, "give_up": 3}], indirect=True)
@pytest.mark.parametrize("source", ["torch.hang()", "torch.die(1)"])
def test_giving_up(judge, source):
    outcomes = [judge.line(program(s))["outcome"] for s in (source, "1", source, source, source)]
    assert outcomes == ["error", "conforms", "error", "error", "error"]
    line = judge.line(program("1"))
    assert line["outcome"] == "not_run"
    assert line["reason"].startswith("given up: 3 programs in a row ended or hung a process")


@pytest.mark.fault("a backend that ends at programs side by side", "the rest was not run")
@pytest.mark.parametrize("judge", [{"timeout": 0.5, "give_up": 2}], indirect=True)
def test_not_giving_up_at_a_cluster(judge):
    for _ in range(30):
        judge.line(program("1"))
    outcomes = [judge.line(program(s))["outcome"] for s in ["torch.die(1)"] * 2 + ["1"]]
    assert outcomes == ["error", "error", "conforms"]
    outcomes = [judge.line(program(s))["outcome"] for s in ["torch.die(1)", "torch.hang()", "1"]]
    assert outcomes == ["error", "error", "not_run"]


@pytest.mark.parametrize("judge", [{"give_up": 1}], indirect=True)
def test_not_giving_up_a_resumed_run(judge):
    judge.breaker.came_through = 30
    outcomes = [judge.line(program(s))["outcome"] for s in ["torch.die(1)"] * 3 + ["1"]]
    assert outcomes == ["error", "error", "error", "not_run"]


@pytest.mark.parametrize(
    "judge", [{"give_up": 1, "selection": Selection(failed_in="run.jsonl")}], indirect=True
)
def test_not_giving_up_what_failed_before(judge):
    outcomes = [judge.line(program(s))["outcome"] for s in ["torch.die(1)"] * 2 + ["1"]]
    assert outcomes == ["error", "error", "conforms"]


@pytest.mark.fault("a backend that cannot be started again", "58 days for the suite")
@pytest.mark.parametrize("judge", [{"give_up": 2, "start_timeout": 30.0}], indirect=True)
def test_giving_up_starts(judge, monkeypatch, tmp_path):
    judge.line(program("1"))

    def launched(self):
        self.backend = "no_such_module"
        return type(self)._launched_before(self)

    monkeypatch.setattr(Child, "_launched_before", Child._launched, raising=False)
    monkeypatch.setattr(Child, "_launched", launched)
    lines = [judge.line(program("torch.die(1)")) for _ in range(3)]
    assert [line["outcome"] for line in lines] == ["error", "error", "not_run"]


@pytest.mark.fault("a run that takes too long", "no limit")
@pytest.mark.parametrize("judge", [{"timeout": 60.0}], indirect=True)
def test_total_time(judge):
    judge.line(program("1"))
    judge.breaker._until = time.monotonic() + 1.5
    begun = time.monotonic()
    lines = [judge.line(program(source)) for source in ("torch.hang()", "1")]
    assert time.monotonic() - begun < 20
    for line in lines:
        assert line["outcome"] == "not_run"
        assert line["reason"] == "the time of the run was over (--total-timeout)"


@pytest.mark.fault("a backend that is wrong everywhere, with --maxfail", "no limit")
@pytest.mark.parametrize("processes", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_maxfail(tmp_path, processes):
    file = tmp_path / "run.jsonl"
    options = ("--backend", "wrong_dtype:WrongDtype", "--oracle", "impl")
    limits = ("--area", "leaves", "--area", "hooks", "--maxfail", "3", "-n", processes)
    done = conform("run", *options, *limits, "--run-file", file, cwd=Path(__file__).parent)
    assert done.returncode == 1, done.stdout + done.stderr
    run = read_run(file)
    outcomes = [line["outcome"] for line in run.programs]
    assert len(outcomes) == run.header["programs"] > 100 and run.footer is not None
    # In two processes a few programs have begun when the third divergence is known.
    assert outcomes.count("diverges") == 3 if processes == "0" else outcomes.count("diverges") < 30
    assert "the run was stopped after 3 failed (--maxfail)" in done.stdout


@pytest.mark.fault("a run of a time that is over at once", "no limit")
def test_total_time_of_a_run(tmp_path):
    file = tmp_path / "run.jsonl"
    options = ("--backend", "impl", "--oracle", "impl", *MINIATURE, "--total-timeout", "0.001s")
    done = conform("run", *options, "-n", "0", "--run-file", file, cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert {line["outcome"] for line in read_run(file).programs} == {"not_run"}


@pytest.mark.fault("a run that was stopped, resumed", "not tried")
def test_resuming_a_stopped_run(tmp_path):
    file = tmp_path / "run.jsonl"
    run = ("run", "--backend", "miniature.wrong:values", "--oracle", "impl", *MINIATURE, "-n", "0")
    conform(*run, "-x", "--run-file", file, cwd=tmp_path)
    stopped = [line["outcome"] for line in read_run(file).programs]
    done = conform(*run, "--resume", file, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = [line["outcome"] for line in read_run(file).programs]
    assert "not_run" in stopped and "not_run" not in outcomes
