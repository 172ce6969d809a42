"""The command `conform run`, over pytest."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import execnet
import pytest
from rich.text import Text

from conformance.base.outputs import writing
from conformance.commands.processes import EXCLUDED, PROCESSES, prepare_processes
from conformance.isolation import keeper
from conformance.output.terminal import terminal
from conformance.run.ending import Result, ended, written
from conformance.run.machines import FIRST, IGNORED, NO_MACHINES, folders, specifications
from conformance.run.plan import Plan, WrongInput, alone_with, plan
from conformance.run.progress import Watcher, announce, summarise
from conformance.run_files.writing import RunWriter
from conformance.settings.options import PREFIX, RUN, Option
from conformance.settings.settings import read_settings


def run(options: argparse.Namespace) -> int:
    """Compare a backend with an oracle, program by program; returns the exit code."""
    prepare_processes()

    if options.processes and options.machines:
        raise WrongInput(EXCLUDED)
    reached = Reached(options.machines, options.folders)
    settings = read_settings(options)
    # An interrupted run is read after the run file is locked: another process may be at its end.
    with ExitStack() as stack:
        stack.enter_context(alone_with(settings.run_file))
        console = stack.enter_context(terminal())
        made = plan(settings)
        stack.callback(made.sides.close)
        announce(console, made)
        if made.unavailable and made.settings.if_available:
            console.print(Text(f"not run: {made.unavailable}"), soft_wrap=True)
            return 0
        if not made.programs:
            result = _ended_before(made)
            summarise(console, result)
            return result.code()
        watcher = Watcher(made, console)
        keeper.start()  # before the processes of -n, which it is to end, too
        try:
            plugins = [watcher, reached]
            code = _pytest("test_programs", _forwarded(options, RUN), options, plugins)
        finally:
            watcher.stop()
        if watcher.result is None:
            # pytest itself failed; its message is on standard error.
            return 2 if watcher.refused or code in (4, 5) else 4 if watcher.broken else 3
        summarise(console, watcher.result)
        code = watcher.result.code()
        return 4 if watcher.broken and code != 1 else code


def _ended_before(made: Plan) -> Result:
    """The result of a resumed run that has no program left."""
    settings, header = made.settings, made.header(len(made.taken))
    assert settings.run_file is not None
    with writing(settings.run_file):
        writer = RunWriter(settings.run_file, header, made.suite.ids(), made.taken.values())
    lines = writer.in_suite_order()
    result = ended(header, lines, settings, made.suite, made.known, complete=True)
    return written(result, settings, writer)


def _pytest(
    module: str, forwarded: Sequence[str], options: argparse.Namespace, plugins: Sequence[Any]
) -> int:

    # Other machines receive these arguments unchanged, so they contain no path.
    arguments = [
        *("--pyargs", f"conformance.{module}"),
        # The settings and plugins of the current folder do not concern this suite.
        *(f"--config-file={os.devnull}", "--noconftest"),
        "--import-mode=importlib",
        *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:warnings"),
        *("-p", "no:logging", "-p", "no:unraisableexception", "-p", "no:threadexception"),
        *("-p", "xdist.plugin", "-p", "conformance.plugin"),
    ]
    if options.processes:
        arguments += [f"--numprocesses={options.processes}"]
    environment = {**_PYTEST_ENVIRONMENT, **{name: os.environ[name] for name in PROCESSES}}
    elsewhere = "".join(f"//env:{name}={value}" for name, value in environment.items())
    arguments += [f"--tx={machine}{elsewhere}" for machine in options.machines]
    arguments += [f"--rsyncdir={folder}" for folder in options.folders]
    arguments += [f"--rsyncignore={pattern}" for pattern in IGNORED]
    if options.processes or options.machines:
        arguments += ["--dist=worksteal", "--max-worker-restart=1000000"]
    arguments += forwarded
    kept = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        return int(pytest.main(arguments, plugins=plugins))
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Reached:
    """The pytest plugin that prepares the interpreters of `--tx` for the folders sent to them."""

    def __init__(self, machines: Sequence[str], asked: Sequence[str]) -> None:
        """Raises WrongInput for a machine or folder that is none."""
        specifications(machines)
        self.names = [folder.name for folder in folders(asked)]
        if self.names and not machines:
            raise WrongInput(NO_MACHINES)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_newgateway(self, gateway: execnet.Gateway) -> None:
        """Import from the folders first; the rest is pytest-xdist's work."""
        if not gateway.spec.popen or gateway.spec.chdir:
            gateway.remote_exec(f"folders = {self.names!r}\n{FIRST}").waitclose()


_PYTEST_ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}


def _forwarded(options: argparse.Namespace, table: Sequence[Option]) -> list[str]:
    """The options of the command line, spelled for the plugin."""

    forwarded = []
    for option in table:
        value = getattr(options, option.destination)
        if value is True:
            forwarded.append(f"--{PREFIX}{option.name}")
        elif value is not None and value is not False:
            values = value if isinstance(value, list) else [value]
            forwarded += [f"--{PREFIX}{option.name}={item}" for item in values]
    return forwarded
