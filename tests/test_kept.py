"""Results kept between processes: the same as those made, and made anew after any change."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command import environment

from conformance.base.kept import cache_folder, kept
from conformance.suite import chapters, suite
from conformance.suite.sources import sources


@dataclass(frozen=True)
class Found:
    """Something with the types that programs and chapters have."""

    path: Path
    values: tuple[Any, ...]


FOUND = Found(Path("a.md"), (1, 1.0, True, None, complex(0.0, -0.0), float("inf"), "text"))


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    """The folder in which results are kept, empty at first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder("suite")


@pytest.fixture
def source(tmp_path) -> Path:
    """A folder of sources, with one file in a folder of its own."""
    (tmp_path / "made" / "below").mkdir(parents=True)
    (tmp_path / "made" / "below" / "one.py").write_text("x = 1\n")
    return tmp_path / "made"


class Maker:
    """Makes the result, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> list[Found]:
        self.times += 1
        return [FOUND]


def test_it_is_made_once(source):
    make = Maker()
    results = [kept("some", list[Found], [source], make) for _ in range(3)]
    assert make.times == 1 and results == [[FOUND]] * 3
    assert repr(results[2]) == repr(results[0])  # as for -0.0, and 1 beside True


@pytest.mark.parametrize("change", ["content", "name", "file", "other"])
def test_it_is_made_anew_after_a_change(source, tmp_path, change):
    make = Maker()
    kept("some", list[Found], [source], make)
    file = source / "below" / "one.py"
    if change == "content":
        file.write_text("x = 2\n")
    elif change == "name":
        file.rename(source / "below" / "two.py")
    elif change == "file":
        (source / "two.py").touch()
    else:
        source = source.rename(tmp_path / "elsewhere")
    for _ in range(2):
        kept("some", list[Found], [source], make)
    assert make.times == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-3],
        lambda data: data[:64] + b"\xc1",
        lambda data: data[:-2] + bytes([data[-2] ^ 1]) + data[-1:],
    ],
)
def test_it_is_made_anew_when_damaged(source, place, damage):
    make = Maker()
    kept("some", list[Found], [source], make)
    (file,) = place.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert [kept("some", list[Found], [source], make) for _ in range(2)] == [[FOUND]] * 2
    assert make.times == 2 and len(list(place.iterdir())) == 1


def test_it_is_made_where_nothing_can_be_kept(source, place):
    place.parent.mkdir(parents=True)
    place.write_text("a file where the folder would be")
    assert kept("some", list[Found], [source], Maker()) == [FOUND]


def test_the_suite_that_is_kept_is_the_suite(monkeypatch):
    others = suite._other_programs()
    monkeypatch.setattr(suite, "_other_programs", lambda: others)
    made = suite.read_suite()
    monkeypatch.setattr(suite, "_written_programs", None)
    monkeypatch.setattr(chapters, "_read", None)
    again = suite.read_suite()
    assert list(map(repr, again.programs)) == list(map(repr, made.programs))
    assert [repr(again[program.id]) for program in others] == list(map(repr, others))
    assert repr(again.chapters) == repr(made.chapters)


def test_the_sources_are_all_modules_that_make_the_suite(tmp_path):
    listed = "import sys, conformance.suite.suite\nfor m in sys.modules.values():\n"
    listed += "    if m.__name__.startswith('conformance.'): print(m.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", listed],
        cwd=tmp_path,  # -c imports from the current folder first
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    files = [Path(line).resolve() for line in done.stdout.splitlines()]
    assert len(files) > 50
    assert [f for f in files if not any(f.is_relative_to(folder) for folder in sources())] == []
