"""Versions that a backend follows: other versions as verdicts, as best fits and as backends."""

import pytest
from made_versions import IMPL, program

from conformance.compare.known import KnownDivergences
from conformance.execution.execute import trace
from conformance.execution.history import History
from conformance.history.fit import fit, questions
from conformance.history.following import versions_of
from conformance.history.recording import record_version
from conformance.isolation.child import Pending
from conformance.isolation.process import Died
from conformance.program.program import Program
from conformance.run import judge as judging
from conformance.run import sides
from conformance.run.judge import Judge
from conformance.run.sides import Here, Sides
from conformance.settings.settings import Settings

LEVELS = ("values", "graph", "memory", "diagnostics")


class Shows(Here):
    """A backend that shows the trace of a function, whatever it is given."""

    def __init__(self, shown):
        super().__init__(IMPL)
        self.shown = shown

    def begin(self, program, timeout=None):
        return Pending(None, self.shown)


@pytest.fixture
def judged(history_folder, monkeypatch):
    """A function that judges impl on the program with a number, against a view of the history."""
    monkeypatch.setattr(judging, "history", lambda: History(history_folder))
    monkeypatch.setattr(
        sides, "find_recording", lambda name: History(history_folder).view(name[-4:])
    )

    def judged(value: str, oracle: str, **settings) -> dict:
        made = Settings(oracle=f"recorded:torch-{oracle}", isolation=False, **settings)
        shows = Shows(lambda: trace(program(value), IMPL))
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


def test_what_another_version_refused_with_not_implemented_is_its_answer(tmp_path, monkeypatch):
    made, asked = tmp_path / "history" / "cpu", program("3.0")

    def shown(source: str):
        return trace(Program(asked.id, asked.area, source, "", rule=asked.rule), IMPL)

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


def test_versions_agree_at_the_levels_that_count(history_folder):
    entry, got = History(history_folder).entry(program("X")), trace(program("3.0"), IMPL)
    assert versions_of(entry, program("X"), got, LEVELS) == ("2.13",)
    assert versions_of(entry, program("X"), got, ("graph",)) == ("2.15", "2.14", "2.13")
    assert versions_of(entry, program("X"), got, ("values",), ("graph",)) == ()


def test_the_version_that_a_backend_follows(history_folder):
    past = History(history_folder)
    asked = questions([program("X")], past, LEVELS)
    assert [versions for versions, _ in asked[0].answers] == [("2.15", "2.14"), ("2.13",)]
    found = fit(asked, lambda p: trace(program("3.0"), IMPL), LEVELS)
    assert found.best(asked) == ("2.13",)
    assert found.counts(asked) == {"2.15": (0, 1), "2.14": (0, 1), "2.13": (1, 1)}
    assert questions([program("X")], past, ("graph",)) == []
    nothing = fit(asked, lambda p: trace(program("4.0"), IMPL), LEVELS)
    assert nothing.followed == {"MADE-01.1": ()} and nothing.best(asked) == ()
    newer = ("2.16", lambda p: trace(program("4.0"), IMPL))
    assert questions([program("X")], past, LEVELS, newer)[0].versions[0] == "2.16"


def test_a_version_is_a_backend_too(history_folder, monkeypatch):
    monkeypatch.setattr(
        sides, "find_recording", lambda name: History(history_folder).view(name[-4:])
    )
    monkeypatch.setattr(judging, "history", lambda: History(history_folder))

    def line(backend: str) -> dict:
        settings = Settings(oracle="recorded:torch-2.15", backend=f"recorded:torch-{backend}")
        return Judge(settings, KnownDivergences()).line(program("X"))

    assert line("2.14")["outcome"] == "conforms"
    assert (line("2.13")["outcome"], line("2.13")["versions"]) == ("other_version", ["2.13"])

    def dies(asked):
        raise Died("the process was killed by SIGSEGV (11)")

    record_version(history_folder, "2.12", "2.12.0", [program("X")], dies)
    found = line("2.12")
    assert found["outcome"] == "error" and "torch 2.12 dies of this program" in found["reason"]
