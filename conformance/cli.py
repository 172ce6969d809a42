"""The command `conform`: run the suite, list it, show one program, make a report of a run."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from conformance.isolate import IsolationError
from conformance.judge import Judge
from conformance.options import (
    BACKENDS,
    COUNTED,
    DRAWING,
    RUN,
    SELECTION,
    SUITE,
    Option,
    add_options,
    read_settings,
)
from conformance.plan import (
    WrongInput,
    check_folder,
    check_writable,
    identities,
    known_divergences,
    one_paragraph,
    plan,
    select_programs,
    version,
)
from conformance.program import Program
from conformance.suite import Suite
from conformance.sweep.sample import address

EXIT_CODES = """\
exit codes:
  0  every selected program was compared and conforms, or is a known divergence
  1  something diverges, or a known divergence is gone and its entry must be removed
  2  wrong usage or input: the message says what, and in which file and line
  3  nothing diverges, but something was not compared (unsupported, error, not run),
     or the run was interrupted
"""

EXAMPLES = """\
examples:
  conform fuzz                                        200 programs of each theme, impl against torch
  conform fuzz --theme writes --examples 5000 -n auto --seed 7
  conform fuzz --backend my_port.torch:namespace --level values --level graph

A program on which the backend diverges is shrunk, printed so that it can be pasted, and written to
conformance/findings (in a source checkout) or ./findings (elsewhere); `conform run` replays the
former, and the latter with --findings ./findings. The same options draw the same programs.

"""

# Random programs know no areas and no rules, and are in no chapter.
_FUZZ = (*BACKENDS, *COUNTED, *DRAWING)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code (see EXIT_CODES)."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return options.command(options)
    except WrongInput as error:
        print(f"conform: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has left (`conform list | head`); there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("conform: interrupted", file=sys.stderr)
        return 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="conform",
        allow_abbrev=False,
        description="A conformance suite for PyTorch's autograd semantics.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"conform {version()}")
    commands = parser.add_subparsers(metavar="command", required=True)

    def command(name: str, function: Any, about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name,
            allow_abbrev=False,
            help=about,
            description=about[0].upper() + about[1:] + ".",
            epilog=EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(command=function)
        return added

    run = command("run", _run, "compare a backend with an oracle, program by program")
    add_options(run.add_argument, RUN)
    fuzz = command("fuzz", _fuzz, "compare a backend with an oracle on random programs")
    fuzz.epilog = EXAMPLES + (
        EXIT_CODES.replace("every selected program", "every program drawn").replace(
            ", or a known divergence is gone and its entry must be removed",
            ": it is shown and kept",
        )
    )
    add_options(fuzz.add_argument, tuple(option for option in _FUZZ if option.name != "keep-in"))
    fuzz.add_argument(
        "--keep",
        dest="no_keep",
        action="store_false",
        default=False,
        help="write it to a file (default)",
    )
    fuzz.add_argument(
        "--findings",
        dest="keep_in",
        metavar="DIR",
        help="write what is found to this folder (default: see below)",
    )
    listing = command("list", _list, "list what would run, with the rules' sentences")
    add_options(listing.add_argument, SELECTION)
    add_options(listing.add_argument, SUITE)
    listing.add_argument("--json", action="store_true", help="one JSON object per program")
    for spread in (run, fuzz):
        spread.add_argument(
            "-n",
            dest="processes",
            type=_processes,
            default=0,
            metavar="N",
            help="spread over this many processes, or `auto` for one per core (default: 0, none)",
        )
    one = command("show", _show, "show one program, both traces side by side")
    one.add_argument("program", metavar="ID", help="such as SEED-03.2 or op/amax/ties/float64")
    add_options(one.add_argument, (*BACKENDS, *SUITE, *COUNTED))
    one.add_argument("--json", action="store_true", help="the program's line of a run file instead")
    report = command("report", _report, "make an HTML report of a run file")
    report.add_argument("run_file", metavar="RUNFILE", type=Path)
    report.add_argument("-o", dest="output", metavar="FILE.html", type=Path, required=True)
    return parser


def _processes(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of processes nor auto")
    return number


def _run(options: argparse.Namespace) -> int:
    # In small programs a second thread costs more than it brings, and sums may differ with it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from conformance.progress import Watcher, announce, summarise

    made = plan(read_settings(options))
    with ExitStack() as stack:
        console = _console(stack)
        announce(console, made)
        if made.unavailable and made.settings.if_available:
            console.print(Text(f"not run: {made.unavailable}"), soft_wrap=True)
            return 0
        watcher = Watcher(made, console)
        try:
            code = _pytest("test_programs.py", _forwarded(options, RUN), options, watcher)
        finally:
            watcher.stop()
        if watcher.result is None:
            # pytest itself refused or broke; it has said why on standard error.
            return 2 if code in (4, 5) else 3
        summarise(console, watcher.result)
        # A report that was asked for and could not be written is not a success.
        return watcher.result.exit or (2 if watcher.result.report_fault else 0)


def _fuzz(options: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from conformance import fuzz
    from conformance.fuzz_progress import FuzzWatcher

    shares = fuzz.shares(options.theme or (), options.examples)
    keep_in = Path(options.keep_in) if options.keep_in else fuzz.folder()
    if not options.no_keep:
        check_folder(keep_in)
    made = plan(read_settings(options))
    with ExitStack() as stack:
        watcher = FuzzWatcher(made, shares, _console(stack))
        try:
            watcher.announce()
            if made.unavailable:
                watcher.console.print(Text(f"not run: {made.unavailable}"), soft_wrap=True)
                return 3
            forwarded = _forwarded(options, _FUZZ)
            code = _pytest("test_fuzz.py", forwarded, options, watcher)
        finally:
            watcher.stop()
        if code == 4:
            return 2  # pytest itself refused; it has said why on standard error
        watcher.summarise()
        return watcher.exit


def _pytest(
    module: str, forwarded: Sequence[str], options: argparse.Namespace, watcher: Any
) -> int:
    import pytest

    here = Path(__file__).resolve().parent
    arguments = [
        str(here / module),
        # Neither the settings nor the plugins of the folder we stand in are about this suite.
        f"--config-file={os.devnull}",
        f"--rootdir={here}",
        f"--confcutdir={here}",
        "--import-mode=importlib",
        *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:warnings"),
        *("-p", "xdist.plugin", "-p", "conformance.plugin"),
    ]
    if options.processes:
        arguments += [f"--numprocesses={options.processes}", "--dist=worksteal"]
        arguments += ["--max-worker-restart=1000000"]
    arguments += forwarded
    kept = {name: os.environ.get(name) for name in _PYTEST_ENVIRONMENT}
    os.environ.update(_PYTEST_ENVIRONMENT)
    try:
        return int(pytest.main(arguments, plugins=[watcher]))
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_PYTEST_ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}


def _forwarded(options: argparse.Namespace, table: Sequence[Option]) -> list[str]:
    """The options of the command line, spelled for the plugin."""
    from conformance.plugin import PREFIX

    forwarded = []
    for option in table:
        value = getattr(options, option.destination)
        if value is True:
            forwarded.append(f"--{PREFIX}{option.name}")
        elif value is not None and value is not False:
            values = value if isinstance(value, list) else [value]
            forwarded += [f"--{PREFIX}{option.name}={item}" for item in values]
    return forwarded


def _console(stack: ExitStack) -> Console:
    """A console on the real standard output, which pytest's capturing does not reach."""
    try:
        descriptor = os.dup(sys.stdout.fileno())
    except (OSError, io.UnsupportedOperation):
        return Console()
    sys.stdout.flush()
    encoding = sys.stdout.encoding or "utf-8"
    file = open(descriptor, "w", encoding=encoding, errors="replace")  # noqa: SIM115 (stack closes)
    return Console(file=stack.enter_context(file))


def _list(options: argparse.Namespace) -> int:
    _, programs = select_programs(read_settings(options))
    if options.json:
        for program in programs:
            print(json.dumps(_listed(program)))
        return 0
    rule = None
    for program in programs:
        if program.rule is None or program.rule != rule:
            print(f"{program.id:40}  {program.area:12}  {program.sentence}".rstrip())
        else:
            print(f"{program.id:40}  {program.area}")
        rule = program.rule
    return 0


def _listed(program: Any) -> dict[str, Any]:
    names = ("id", "area", "rule", "operator", "sentence", "dtype", "file", "line")
    return {**{name: getattr(program, name) for name in names}, "source": program.paste()}


def _show(options: argparse.Namespace) -> int:
    from conformance import runs
    from conformance.show import show

    settings = read_settings(options)
    suite, _ = select_programs(settings)
    backend, oracle, unavailable = identities(settings)
    judge = Judge(settings, known_divergences(settings, suite), unavailable)
    try:
        with one_paragraph():
            program = _program(options.program, suite, judge)
        line = judge.line(program)
    finally:
        judge.close()
    if options.json:
        print(runs.dumps(line).encode("utf-8", "backslashreplace").decode())
    else:
        names = tuple(f"{b['name']} {b['version'] or ''}".strip() for b in (oracle, backend))
        show(Console(), line, (names[0], names[1]), settings)
    return runs.exit_code([line])


def _program(identifier: str, suite: Suite, judge: Judge) -> Program:
    try:
        address(identifier)
    except LookupError:
        return suite[identifier]
    try:
        return judge.sample(identifier)
    except IsolationError as error:
        raise WrongInput(f"{identifier}: {error}") from None


def _report(options: argparse.Namespace) -> int:
    from conformance.runs import read_run

    with one_paragraph():
        run = read_run(options.run_file)
    check_writable(options.output)
    try:
        write = importlib.import_module("reports.run").write
    except ImportError as error:
        raise WrongInput(f"reports cannot be made here: {error}.") from None
    try:
        write(run, options.output)
    except Exception as error:
        raise WrongInput(f"{options.output}: not written: {error}") from error
    state = "" if run.complete else " (the run was interrupted)"
    print(f"report: {options.output}{state}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
