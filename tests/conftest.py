"""Fixtures that several test modules share: a browser, reports opened in it, runs and histories.

Imported modules, such as torch, are never garbage: the collections that some tests ask for leave
their objects out.
"""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import command
import made_runs
import made_versions
import pytest
import warm_workers
from chromium import chromium, prefer, resize
from report_page import ready, report

from conformance.fuzz import workers
from conformance.isolation import child
from conformance.run_files.run import Run

# Its checks are tests of the classes that derive from it.
pytest.register_assert_rewrite("access")


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Iterator[Any]:
    """One process more than there are processors, which a third of the time have nothing to do.

    Tests wait: for time limits, for the disk, and for commands that they start.
    """
    processes = yield
    return processes if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else processes + 1


def pytest_configure(config: pytest.Config) -> None:
    """Start the workers of `-n` as copies of this process, which has imported most, and torch.

    They share the warm process, whose copies are the commands of tests.
    """
    if getattr(config.option, "numprocesses", None):
        with suppress(ImportError):
            importlib.import_module("torch")
        warm_workers.offer()
        command.share()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="module", autouse=True)
def _objects_of_other_modules() -> None:
    """Leaves out of collections what earlier tests keep: their modules, samples and caches.

    A process that has run thousands of tests takes seconds for each collection else.
    """
    gc.freeze()


@pytest.fixture(autouse=True)
def _warnings_of_other_tests() -> None:
    """Lets impl give the warnings again that it gives once in a process."""
    if warning := sys.modules.get("impl.core.warning"):
        warning._TOLD.clear()


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of backends and of searches are copies of the warm process."""
    for module in (child, workers):
        monkeypatch.setattr(module, "launched", command.launched)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests; each opens its page afresh."""
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="session")
def small_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report with a program of every kind."""
    return report(tmp_path_factory.mktemp("small"), made_runs.small())


@pytest.fixture(scope="session")
def many_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report of 10,000 programs."""
    return report(tmp_path_factory.mktemp("many"), made_runs.many(10_000))


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a fresh page and waits for its mark, if it sets one."""
    browser.get_log("browser")

    def open_(url: str, fragment: str = "", mark: str | None = "search-ready") -> Any:
        browser.get("about:blank")
        browser.get(url + fragment)
        if mark:
            ready(browser, mark)
        return browser

    yield open_
    prefer(browser, "light")
    resize(browser, 1280, 900)
    assert browser.get_log("browser") == [], "the page complained"


@pytest.fixture
def small_run(tmp_path: Path) -> Run:
    """A run with a program of every kind."""
    return made_runs.read(tmp_path / "run.jsonl", made_runs.small())


@pytest.fixture(scope="session")
def recorded_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of `history_folder`, recorded once: each compression takes 64 MiB of memory."""
    folder = tmp_path_factory.mktemp("recorded") / "cpu"
    made_versions.record(folder)
    return folder


@pytest.fixture
def history_folder(tmp_path: Path, recorded_history: Path) -> Path:
    """A history of three versions of one program, which changed in 2.14."""
    return Path(shutil.copytree(recorded_history, tmp_path / "history" / "cpu"))
