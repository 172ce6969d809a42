"""The pytest plugin: options, names of tests, messages, several processes."""

from __future__ import annotations

import re

import pytest
from command import pytest_suite

from conformance.run_files.reading import read_run

LEAVES = ("--conform-area=leaves", "--conform-oracle=impl")


def suite(backend: str, *arguments: str, cwd):
    return pytest_suite(f"--conform-backend=miniature.{backend}", *LEAVES, *arguments, cwd=cwd)


def test_name_of_a_test_is_the_program_id(tmp_path):
    done = suite("right:namespace", "--collect-only", "-q", cwd=tmp_path)
    names = re.findall(r"::test_program\[(.*)\]", done.stdout)
    assert names == ["LEAF-01.1", "LEAF-01.2", "LEAF-02.1", "LEAF-03.1"]


def test_all_conform(tmp_path):
    done = suite("right:namespace", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert "4 conforms" in done.stdout


@pytest.mark.parametrize("spread", [(), ("-n", "2")])
def test_options_do_the_same_in_one_process_and_in_several(tmp_path, spread):
    options = (
        *("--conform-run-file=out/run.jsonl", "--conform-report=out/run.html"),
        *("--conform-rule=LEAF-01", "--conform-rule=LEAF-02", "--conform-level=memory"),
    )
    done = suite("wrong:memory", *options, *spread, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    run = read_run(tmp_path / "out" / "run.jsonl")
    assert run.complete
    assert run.levels == ("memory",)
    assert {line["id"]: line["outcome"] for line in run.programs} == {
        "LEAF-01.1": "conforms",
        "LEAF-01.2": "conforms",
        "LEAF-02.1": "diverges",
    }
    assert "LEAF-02.1" in (tmp_path / "out" / "run.html").read_text("utf-8")
    assert "run file: out/run.jsonl" in done.stdout


def test_message_of_a_failure(tmp_path):
    done = suite("wrong:values", cwd=tmp_path)
    assert done.returncode == 1
    for text in (
        "LEAF-02.1: miniature.wrong:values diverges from impl (values)",
        "LEAF-02: What `ones` makes is filled with ones",
        "\n\nimport torch\na = torch.zeros(2)\ne = torch.ones(2)",
        "# <-- first divergence: values\nb = a + 1",
        "values: line 3, e.values",
        "expected  [1.0, 1.0]",
        "got       [2.0, 2.0]",
        "conform show LEAF-02.1 --backend miniature.wrong:values --oracle impl",
    ):
        assert text in done.stdout
    assert "conformance/run/judge.py" not in done.stdout
    assert "Traceback" not in done.stdout


def test_marked_program_can_be_pasted(tmp_path):
    done = suite("wrong:values", cwd=tmp_path)
    block = done.stdout.partition("\nimport torch\n")[2].partition("\n\n")[0]
    namespace: dict = {}
    exec(f"import impl as torch\n{block}", namespace)
    assert namespace["e"].tolist() == [1.0, 1.0]


def test_divergence_at_a_level_that_does_not_count_passes(tmp_path):
    done = suite("wrong:values", "--conform-level=memory", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_unsupported_is_skipped_and_the_run_incomplete(tmp_path):
    done = suite("lacking:namespace", "-rs", cwd=tmp_path)
    assert done.returncode == 3, done.stdout
    assert "3 passed, 1 skipped" in done.stdout
    assert "torch.ones" in done.stdout


def test_error_fails_the_test_but_is_no_divergence(tmp_path):
    done = suite("crashing:killed", cwd=tmp_path)
    assert done.returncode == 3, done.stdout
    assert "1 failed, 3 passed" in done.stdout
    assert "nothing was compared" in done.stdout
    assert "SIGKILL" in done.stdout


def test_known_divergence_is_an_expected_failure(tmp_path):
    entry = '[[known]]\nprogram = "LEAF-02.1"\nlevel = "values"\nreason = "rounds up"\n'
    (tmp_path / "known.toml").write_text(entry)
    done = suite("wrong:values", "--conform-known=known.toml", "-rx", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 xfailed" in done.stdout
    assert "known divergence: rounds up" in done.stdout
    done = suite("right:namespace", "--conform-known=known.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert "it conforms now: remove the entry" in done.stdout


def test_missing_device_is_skipped(tmp_path):
    options = (*LEAVES, "--conform-backend=torch:hpu", "-rs")
    done = pytest_suite(*options, cwd=tmp_path)
    assert done.returncode == 3, done.stdout
    assert "4 skipped" in done.stdout
    assert "the backend is not available here" in done.stdout
    done = pytest_suite(*options, "--conform-if-available", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "not run, and that was allowed" in done.stdout


def test_deselecting_by_name_makes_a_smaller_but_complete_run(tmp_path):
    options = ("-k", "LEAF-01", "--conform-run-file=r")
    done = suite("wrong:values", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    run = read_run(tmp_path / "r")
    assert run.complete
    assert run.header["programs"] == 2


def test_stopping_early_is_an_interrupted_run(tmp_path):
    done = suite("wrong:always", "-x", "--conform-run-file=r", cwd=tmp_path)
    assert done.returncode in (2, 3), done.stdout
    run = read_run(tmp_path / "r")
    assert not run.complete
    assert len(run.programs) == 1


def test_tests_of_the_user_beside_the_suite_keep_their_verdict(tmp_path):
    (tmp_path / "test_mine.py").write_text("def test_mine(): assert False\n")
    done = suite("right:namespace", "test_mine.py", cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "1 failed, 4 passed" in done.stdout


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--conform-area=leafs", "there is no area 'leafs'. Did you mean leaves"),
        ("--conform-backend=no.such.module:x", "cannot be imported"),
        ("--conform-spec=nowhere", "nowhere"),
    ],
)
def test_wrong_option_is_a_usage_error(tmp_path, option, message):
    done = suite("right:namespace", option, cwd=tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert message in done.stderr
    assert "Traceback" not in done.stderr
