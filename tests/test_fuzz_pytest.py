"""Random programs under pytest, which the suite offers as tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

from command import ended


def fuzz_suite(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """pytest with the plugin over the suite's module of random programs."""
    return ended(
        *("-p", "conformance.plugin", "-p", "no:cacheprovider"),
        *("--pyargs", "conformance.test_fuzz", "--conform-oracle=impl", *arguments),
        module="pytest",
        cwd=cwd,
    )


def test_the_number_of_programs_is_an_option(tmp_path):
    done = fuzz_suite(
        *("-k", "views", "--conform-examples=3", "--conform-backend=miniature.right:namespace"),
        "-v",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_random_programs[views] PASSED" in done.stdout


def test_under_pytest_a_finding_is_a_failure_with_the_program(tmp_path):
    done = fuzz_suite(
        *("--conform-backend=miniature.kinks:relu", "--conform-theme=pointwise"),
        *("--conform-examples=400", "--conform-level=values", "--conform-keep-in=found"),
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "\ny = torch.relu(x)" in done.stdout
    assert "conformance/run/judge.py" not in done.stdout
    assert list((tmp_path / "found").glob("*.json"))


def test_under_pytest_what_is_not_compared_is_no_pass(tmp_path):
    done = fuzz_suite(
        *("--conform-backend=torch:hpu", "--conform-theme=views", "--conform-examples=3"),
        cwd=tmp_path,
    )
    assert "1 skipped" in done.stdout, done.stdout + done.stderr
