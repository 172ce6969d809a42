"""The pytest plugin: one test per program, results collected into a run file as they come in."""

from __future__ import annotations

import json
import signal
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from conformance.base.escapes import harmless
from conformance.base.release import differences, versions
from conformance.fuzz.findings import folder
from conformance.fuzz.options import DRAWING
from conformance.fuzz.report import Finding, finding
from conformance.fuzz.share import Share, shares
from conformance.fuzz.workers import SearchFailed, Worker, local
from conformance.output.failure import failure
from conformance.program.program import Program
from conformance.run.breaker import Limits, listen
from conformance.run.collector import PLAN, TEST, Collector
from conformance.run.ending import Result
from conformance.run.judge import Judge, lost_line
from conformance.run.plan import (
    Plan,
    WrongInput,
    alone_with,
    known_divergences,
    plan,
    select_named,
    select_programs,
)
from conformance.settings.options import PREFIX, RUN, add_options
from conformance.settings.settings import Settings, WrongOptions, read_settings

_SUITE = Path(__file__).with_name("test_programs.py")
_PROGRAMS = pytest.StashKey[list[Program]]()
_SETTINGS = pytest.StashKey[Settings]()
_JUDGE = pytest.StashKey[Judge]()
_COLLECTOR = pytest.StashKey[Collector]()
_LINE = pytest.StashKey[str]()
_WORKER = pytest.StashKey[Worker]()


class RunHooks:
    """Hooks of this plugin, for plugins that watch a run."""

    def pytest_conform_started(self, header: Mapping[str, Any]) -> None:
        """The run begins; ``header`` is its run file's."""

    def pytest_conform_judged(self, line: Mapping[str, Any]) -> None:
        """One program's line has come in."""

    def pytest_conform_finished(self, result: Result) -> None:
        """The run is over, and its files are written."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(RunHooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "autograd conformance")
    add_options(group.addoption, RUN, PREFIX)
    add_options(group.addoption, DRAWING, PREFIX)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    sides, taken = None, 0
    try:
        settings = read_settings(config.option, PREFIX)
        if (asked := getattr(config, "workerinput", None)) is not None:
            if differ := differences(asked["conform_versions"], versions()):
                raise WrongInput(differ)
            # A worker ends when the controlling process ends it, which heeds the interruption.
            signal.signal(signal.SIGINT, lambda *_: None)
            suite, programs = select_named(settings, asked["conform_programs"])
            known = known_divergences(settings, suite).beside(asked["conform_backend"])
            unavailable = asked["conform_unavailable"]
            taken = asked["conform_came_through"]
        elif config.option.collectonly:
            suite, programs = select_programs(settings)
            known, unavailable = known_divergences(settings, suite), None
        else:
            made = config.stash.get(PLAN, None) or _planned(settings, config)
            programs, known, unavailable = list(made.programs), made.known, made.unavailable
            sides, taken = made.sides, len(made.taken)
            if getattr(config.option, "tx", None):
                sides.close()  # its workers have their own
            config.stash[_COLLECTOR] = Collector(made, config)
            config.pluginmanager.register(config.stash[_COLLECTOR], "conformance-collector")
    except (WrongInput, WrongOptions) as error:
        raise pytest.UsageError(harmless(str(error))) from None
    config.stash[_PROGRAMS] = programs
    config.stash[_SETTINGS] = settings
    left = settings.total_timeout if asked is None else asked["conform_left"]
    config.stash[_JUDGE] = judge = Judge(settings, known, unavailable, left, sides)
    judge.breaker.came_through = taken
    if asked is None:
        config.pluginmanager.register(Limits(settings, judge.breaker), "conformance-limits")
    else:
        listen(config.pluginmanager.get_plugins(), judge.breaker)


def _planned(settings: Settings, config: pytest.Config) -> Plan:
    """The plan of a run that pytest was started with; the run file is locked until it ends."""
    stack = ExitStack()
    stack.enter_context(alone_with(settings.run_file))
    config.add_cleanup(stack.close)
    return plan(settings)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (judge := config.stash.get(_JUDGE, None)) is not None:
        judge.close()
    if (mine := config.stash.get(_WORKER, None)) is not None:
        mine.close()


class Programs(pytest.File):
    """The module of the suite: it has one test per program instead of functions."""

    def collect(self) -> Iterator[ProgramItem]:
        """The session's programs, in the order of the suite."""
        for program in self.config.stash[_PROGRAMS]:
            yield ProgramItem.from_parent(self, name=f"{TEST}[{program.id}]", program=program)


class ProgramItem(pytest.Item):
    """One program as a test: its line of the run file is computed, is attached to the report, and
    decides the outcome. There are over ten thousand, so none has setup or teardown."""

    def __init__(self, *, program: Program, **named: Any) -> None:
        super().__init__(**named)
        self.program = program

    def runtest(self) -> None:
        line = self.config.stash[_JUDGE].line(self.program)
        try:
            text = json.dumps(line, allow_nan=False)
        except (ValueError, TypeError, RecursionError) as error:
            line = lost_line(self.program, f"the harness cannot write its line: {error}")
            text = json.dumps(line)
        self.stash[_LINE] = text
        settle(line, self.config.stash[_SETTINGS])

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Programs | None:
    if module_path != _SUITE:
        return None
    return Programs.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Run a program with a single report; other tests as pytest does."""
    if not isinstance(item, ProgramItem):
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    stop = (KeyboardInterrupt, pytest.exit.Exception)
    call = pytest.CallInfo.from_call(item.runtest, when="call", reraise=stop)
    report = hook.pytest_runtest_makereport(item=item, call=call)
    hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "conform_share" in metafunc.fixturenames:
        shares = _shares(metafunc.config)
        metafunc.parametrize("conform_share", shares, ids=[str(share) for share in shares])


@pytest.fixture
def conform_search(request: pytest.FixtureRequest, conform_share: Share) -> list[Finding]:
    """The findings of a search over a share of random programs; they are kept."""
    config = request.config
    judge = config.stash[_JUDGE]
    if judge.unavailable:
        pytest.skip(judge.unavailable)
    if _WORKER not in config.stash:
        themes = list(dict.fromkeys(share.theme for share in _shares(config)))
        known = judge.known.of_calls
        config.stash[_WORKER] = local(config.stash[_SETTINGS], known=known, themes=themes)
    mine, options = config.stash[_WORKER], config.option
    keep_in = Path(options.conform_keep_in) if options.conform_keep_in else folder()
    place = None if options.conform_no_keep else keep_in
    try:
        report = mine.share(conform_share)
    except SearchFailed as error:
        pytest.fail(f"the harness failed: {error}", pytrace=False)
    return [finding(judge, mine, conform_share, found, place) for found in report.found]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and (line := item.stash.get(_LINE, None)) is not None:
        report.conform_line = line  # type: ignore[attr-defined]  # travels between processes
    return report


def settle(line: Mapping[str, Any], settings: Settings) -> None:
    """Pass, fail, skip or expect the failure of the running test, as the line says."""
    match line["outcome"]:
        case "conforms" if not (line["known"] or {}).get("stale"):
            return
        case "other_version":
            return
        case "diverges" if line["known"]:
            pytest.xfail(harmless(f"known divergence: {line['known']['reason']}"))
        case "unsupported" | "not_run":
            pytest.skip(harmless(f"{line['outcome'].replace('_', ' ')}: {line['reason']}"))
        case _:
            pytest.fail(harmless(failure(line, settings)), pytrace=False)


def _shares(config: pytest.Config) -> list[Share]:
    try:
        return shares(config.option.conform_theme or (), config.option.conform_examples)
    except WrongInput as error:
        raise pytest.UsageError(str(error)) from None
