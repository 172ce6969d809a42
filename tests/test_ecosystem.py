"""The runner of packages of other people: its comparison, its table, its pins."""

from __future__ import annotations

import pytest

from ecosystem import __main__ as runner

PROGRAMS = sorted(path.stem for path in (runner.ROOT / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_is_pinned(program):
    package, version = runner._pinned(program)
    assert package and version


def test_a_known_failure_names_a_program():
    assert {name.partition(".")[0] for name in runner._known()} <= set(PROGRAMS)


def result(*numbers: float, shape=None):
    return {"values": [{"shape": shape or [len(numbers)], "numbers": list(numbers)}]}


@pytest.mark.parametrize(
    "got, said",
    [
        (result(1.0, float("nan")), None),
        (result(1.0 + 1e-9, float("nan")), None),
        (result(1.1, float("nan")), "tensor 0 has 1.1 instead of 1.0"),
        (result(1.0, 2.0), "tensor 0 has 2.0 instead of nan"),
        (result(1.0, shape=[1]), "tensor 0 has shape [1] instead of [2]"),
        ({"values": []}, "0 tensors instead of 1"),
        ({"error": "ValueError: no"}, "ValueError: no"),
    ],
)
def test_results_are_compared_number_by_number(got, said):
    assert runner._difference(result(1.0, float("nan")), got) == said


def test_the_table_has_the_first_reason():
    outcome = runner.Outcome("p", "package", "1.0", "about it", ["a", "b"], ["a"], {"b": "x | y"})
    page = runner.table([outcome])
    assert "1 of the 2 cases that torch runs agree" in page
    assert "| package | 1.0 | about it | 2 | 1 | `x \\| y` |" in page


def test_a_failure_that_is_not_known_fails_the_run(capsys):
    outcome = runner.Outcome("einops", "einops", "1.0", "", ["a"], [], {"a": "reason"})
    assert runner._exit_code([outcome]) == 1
    assert "einops.a fails: reason" in capsys.readouterr().out


def test_a_package_that_is_not_there_is_told(capsys):
    outcome = runner.Outcome("einops", "einops", "1.0", "", broken="not installed")
    assert runner._exit_code([outcome]) == 3
