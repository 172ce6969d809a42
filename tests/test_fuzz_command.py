"""`conform fuzz`: output, files and exit codes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time

import pytest
from command import conform, started

from conformance.fuzz.themes import MOVED, THEMES

IMPL = ("--oracle", "impl", "--theme", "pointwise")
POINTWISE = (*IMPL, "--examples", "400", "--level", "values")


def fuzz(backend: str, *arguments, cwd, **changes: str) -> subprocess.CompletedProcess[str]:
    return conform("fuzz", "--backend", f"miniature.{backend}", *arguments, cwd=cwd, **changes)


def pasted(output: str) -> str:
    """The program that the command printed."""
    return output.partition("\nimport torch\n")[2].partition("\n\n")[0]


MOVES = tuple(word for theme in MOVED for word in ("--theme", theme))


def test_nothing_is_found_on_a_backend_that_is_right(tmp_path):
    done = fuzz("right:namespace", "--oracle", "impl", *MOVES, "--examples", "8", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{8 * len(MOVED)} random programs ({', '.join(MOVED)}), seed 0" in done.stdout
    assert f"{8 * len(MOVED)} conforms" in done.stdout
    assert "exit code 0: nothing was found" in done.stdout
    assert list(tmp_path.iterdir()) == [], "nothing was found, so nothing is written"


def test_findings_are_printed_kept_and_replayed(tmp_path):
    options = (*POINTWISE, "--examples", "700", "-n", "2", "--findings", "found")
    done = fuzz("kinks:relu", *options, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"exit code 1: something diverges \(\d+ found\)", done.stdout)
    assert re.search(r"\d+ programs a second", done.stdout)
    paths = list((tmp_path / "found").glob("*.json"))
    assert paths
    for path in paths:
        for text in (
            f"fuzz/{path.stem}: miniature.kinks:relu diverges from impl",
            f"written to found/{path.name}",
        ):
            assert done.stdout.count(text) == 1, done.stdout
    sentences = {json.loads(path.read_text())["sentence"] for path in paths}
    assert len(sentences) == len(paths), "one file for each cause"
    assert "torch.relu(" in pasted(done.stdout)

    replay = ("--findings", "found", "--area", "fuzz", "--oracle", "impl")
    again = conform("run", "--backend", "miniature.kinks:relu", *replay, cwd=tmp_path)
    assert again.returncode == 1, again.stdout + again.stderr
    assert f"fuzz/{paths[0].stem}" in again.stdout
    right = conform("run", "--backend", "impl", *replay, cwd=tmp_path)
    assert right.returncode == 0, right.stdout + right.stderr
    show = re.findall(r"show it again: conform (show .*)", done.stdout)[0]
    shown = conform(*show.split(), cwd=tmp_path)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "torch.relu(" in shown.stdout


def test_a_corpus_is_filled_and_replayed_first(tmp_path):
    options = ("--oracle", "impl", "--theme", "views", "--corpus", "corpus", "--no-keep")
    done = conform("fuzz", "--backend", "impl", *options, "--examples", "30", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"coverage: \d+ of \d+ lines", done.stdout)
    kept = list((tmp_path / "corpus").glob("*.py"))
    assert 0 < len(kept) < 30
    again = conform("fuzz", "--backend", "impl", *options, "--examples", "5", cwd=tmp_path)
    assert f"{5 + len(kept)} programs: " in again.stdout, again.stdout


def test_a_time_bounds_a_search(tmp_path):
    options = ("--oracle", "impl", "--theme", "views", "--time", "1s", "--no-keep")
    done = conform("fuzz", "--backend", "impl", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "random programs (views)" in done.stdout


def test_shards_draw_different_programs_and_all_of_them(tmp_path):
    def drawn(*more: str) -> int:
        options = ("--oracle", "impl", "--theme", "views", "--examples", "501", "--no-keep")
        done = conform("fuzz", "--backend", "impl", *options, *more, cwd=tmp_path)
        return int(re.findall(r"(\d+) programs: ", done.stdout)[0])

    assert (drawn("--shard", "1/2"), drawn("--shard", "2/2")) == (500, 1)


def test_the_same_options_find_the_same_in_one_process_and_in_several(tmp_path):
    options = (*POINTWISE, "--examples", "600", "--no-keep")
    one, two = (
        fuzz("kinks:relu", *options, "-n", processes, cwd=tmp_path).stdout
        for processes in ("0", "2")
    )
    assert pasted(one) == pasted(two) != ""
    tried = [re.findall(r"(\d+ programs: [^;]*);", output) for output in (one, two)]
    assert tried[0] == tried[1] != []


def test_what_is_not_kept_is_not_written_and_can_be_drawn_again(tmp_path):
    options = (*POINTWISE, "--seed", "2", "--no-keep", "--no-isolation")
    done = fuzz("kinks:relu", *options, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "(pointwise), seed 2, levels values" in done.stdout
    assert list(tmp_path.iterdir()) == []
    command = re.findall(r"show it again: conform (.*)", done.stdout)[0]
    again = conform(*command.split(), "--no-keep", cwd=tmp_path)
    assert again.returncode == 1
    assert pasted(again.stdout) == pasted(done.stdout)


def test_a_level_that_does_not_count_finds_nothing(tmp_path):
    options = (*IMPL, "--examples", "40", "--level", "memory", "--no-keep")
    done = fuzz("kinks:relu", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_missing_name_is_not_found_and_not_passed(tmp_path):
    done = fuzz("kinks:without_relu", *POINTWISE, "--no-keep", cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert re.search(r"\d+ unsupported", done.stdout)
    assert "nothing diverges, but something was not compared" in done.stdout


def test_a_backend_that_dies_is_found_with_the_program_it_dies_of(tmp_path):
    options = (*IMPL, "--examples", "100", "--findings", "found")
    done = fuzz("crashing:relu", *options, cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert re.search(r"exit code 3: the backend broke down \(\d+ found\)", done.stdout)
    assert "torch.relu(" in pasted(done.stdout)
    assert list((tmp_path / "found").iterdir())


def test_a_missing_device_is_not_run(tmp_path):
    done = conform("fuzz", "--backend", "torch:hpu", "--examples", "5", cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "not run: the backend is not available here" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--theme", "cheese"), "there is no theme 'cheese'. There are: operators"),
        (("--time", "long"), "'long' is not a time, such as 90s, 30m or 8h"),
        (("--shard", "3/2"), "'3/2' is not a shard"),
        (("--corpus", "file/corpus"), "file/corpus: nothing can be written there"),
        (("--corpus", "odd"), "odd/one.py: not a program of the corpus"),
        (("--examples", "0"), "'0' is not a positive number"),
        (("--examples", "many"), "'many' is not a positive number"),
        (("--level", "depth"), "there is no level 'depth'"),
        (("--backend", "no.such:thing"), "no.such"),
        (("--import", "no_such_module"), "no_such_module"),
        (("--findings", "file/found"), "file/found: nothing can be written there"),
    ],
)
def test_wrong_input(tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "one.py").write_text("def (")
    done = conform("fuzz", "--backend", "impl", *IMPL, *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_folder_of_findings_that_is_not_there_is_wrong_input_for_a_run(tmp_path):
    done = conform("list", "--findings", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "nowhere: there is no such folder of fuzz findings" in done.stderr
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "f.json").write_text(json.dumps({"id": "fuzz/1"}))
    done = conform("list", "--findings", "odd", cwd=tmp_path)
    assert done.returncode == 2
    assert "odd/f.json: not a fuzz finding" in done.stderr


@pytest.mark.parametrize(("processes", "number"), [("0", signal.SIGINT), ("2", signal.SIGTERM)])
def test_an_interruption_keeps_what_was_found(tmp_path, processes, number):
    arguments = ("--backend", "miniature.kinks:relu", *IMPL, "--examples", "100000")
    options = ("--level", "values", "--findings", "found", "-n", processes)
    path = tmp_path / "output"
    with path.open("w+") as output:
        process = started(
            *("fuzz", *arguments, *options),
            cwd=tmp_path,
            streams=(None, output, output),
            session=True,
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and "new: " not in path.read_text():
            time.sleep(0.05)
        process.send_signal(number)
        code = process.wait(120)
    told = path.read_text()
    assert code == 3, told
    assert "torch.relu(" in pasted(told)
    assert list(tmp_path.glob("found/*.json"))
    assert "exit code 3: interrupted" in told
    assert "Traceback" not in told


def test_help_says_what_can_be_asked_for(tmp_path):
    done = conform("fuzz", "--help", cwd=tmp_path)
    assert done.returncode == 0
    for text in (
        "--theme",
        "--examples",
        "--time",
        "--corpus",
        "--findings",
        "exit codes:",
        *THEMES,
    ):
        assert text in done.stdout
