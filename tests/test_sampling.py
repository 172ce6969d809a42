"""Samples of a selection: `--sample N`."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from command import MINIATURE, conform

from conformance import samples
from conformance.program.program import Program
from conformance.run_files.reading import read_run
from conformance.suite.sampling import sampled


@pytest.fixture(scope="module")
def operators() -> list[Program]:
    return list(samples.programs())


def test_a_sample_has_each_operator_about_as_often(operators):
    drawn = Counter(program.operator for program in sampled(operators, 1000))
    assert set(drawn) == {program.operator for program in operators}
    assert set(drawn.values()) == {4, 5}


def test_a_sample_has_many_kinds(operators):
    def kinds(programs: list[Program]) -> set[str]:
        return {program.id.split("/")[2] for program in programs}

    drawn = sampled(operators, 1000)
    assert len(drawn) == len({program.id for program in drawn}) == 1000
    assert len(kinds(drawn)) > len(kinds(operators[::11]))  # as many, at equal distances


def test_a_sample_begins_with_every_smaller_one(operators):
    drawn = sampled(operators, 1000)
    assert sampled(operators, 1) == drawn[:1]
    assert sampled(operators, 300) == drawn[:300]


def test_the_seed_says_which_are_drawn_and_the_order_of_the_suite_does_not(operators):
    drawn = sampled(operators, 200, seed=7)
    assert drawn == sampled(operators[::-1], 200, seed=7)
    assert len(set(drawn) & set(sampled(operators, 200))) < 100


def test_a_sample_larger_than_the_selection_is_all_of_it(operators):
    assert set(sampled(operators[:50], 60)) == set(operators[:50])
    assert sampled([], 5) == []


def test_rules_take_turns_as_operators_do():
    rules = [f"LEAF-0{number}" for number in (1, 1, 1, 1, 2, 3)]
    programs = [
        Program(id=f"{rule}.{place}", area="leaves", source="x = 1\n", sentence="", rule=rule)
        for place, rule in enumerate(rules)
    ]
    assert {program.rule for program in sampled(programs, 3)} == set(rules)


def test_a_run_of_a_sample_has_its_programs_and_claims_nothing(tmp_path):
    options = (*MINIATURE, "--sample", "3", "--seed", "1")
    done = conform(
        *("run", "--backend", "impl", "--oracle", "impl", "-n", "0", *options),
        *("--run-file", "run.jsonl"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "run.jsonl")
    listed = conform("list", "--json", *options, cwd=tmp_path).stdout.splitlines()
    assert [line["id"] for line in run.programs] == [json.loads(line)["id"] for line in listed]
    assert run.header["selection"]["sample"] == ["3"]
    assert run.header["programs"] == 3
    assert run.footer is not None and not run.footer["claims"]


def test_shards_of_a_sample_make_the_sample(tmp_path):
    def listed(*options: str) -> list[str]:
        done = conform("list", "--json", *MINIATURE, "--sample", "3", *options, cwd=tmp_path)
        return [json.loads(line)["id"] for line in done.stdout.splitlines()]

    parts = [listed("--shard", f"{number}/2") for number in (1, 2)]
    assert list(map(len, parts)) == [2, 1]
    assert set(parts[0]) | set(parts[1]) == set(listed())


@pytest.mark.parametrize("size", ["0", "-1", "some"])
def test_a_size_that_is_none_is_refused(tmp_path, size):
    done = conform("list", "--sample", size, cwd=tmp_path)
    assert done.returncode == 2
    assert "is not a positive number" in done.stderr
