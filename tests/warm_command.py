"""A process that has imported `conform` and impl; copies of it become `conform`, pytest or others.

    python -m warm_command FOLDER

It listens at two sockets in the folder: `impl`, and `torch`, whose requests a copy answers that has
imported torch as well. `warm_requests` says how a request is made and answered. A copy does what
`python -m` does with a module of `MAIN`. The processes of backends are copies, too, and so are
those of `-n`.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import resource
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import warm_workers
from _pytest.config import default_plugins
from warm_requests import SERVED, Request, Server, bound

import conformance.commands
from conformance import cli
from conformance.fuzz import workers
from conformance.fuzz.operators import signatures
from conformance.isolation import child, forked
from conformance.isolation.process import Process


def script() -> int:
    """Run the script that the first argument names, or with `-c` is."""
    del sys.argv[0]
    if sys.argv[0] == "-c":
        exec(sys.argv.pop(1), {"__name__": "__main__"})
        return 0
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


def on_impl() -> int:
    """Run a script on impl."""
    return importlib.import_module("impl.run").main(sys.argv[1:])


def another() -> int:
    """Run the module that the first argument names; its lines are printed at once."""
    del sys.argv[0]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    return 0


def served() -> int:
    """Serve a process of the tests that is the parent of a backend, as `launched` has it."""
    _, module, *options = sys.argv
    return int(importlib.import_module(module).main(options))


MAIN: dict[str, Callable[[], int]] = {
    "conformance.cli": cli.main,
    "impl.run": on_impl,
    "pytest": pytest.console_main,
    "__main__": script,
    "-m": another,
    SERVED: served,
}
OTHERS = (
    *("impl", "impl.run", "xdist.plugin", "xdist.looponfail", "hypothesis", "pdb"),
    *("conformance.isolation.worker", "conformance.fuzz.zygote", "conformance.test_programs"),
    "conformance.test_fuzz",
)
"""Modules that most copies would import, beside the commands."""


def import_all() -> None:
    """Import everything that takes long to import, and read the tables that searches read."""
    for module in pkgutil.iter_modules(conformance.commands.__path__):
        importlib.import_module(f"conformance.commands.{module.name}")
    for name in (*OTHERS, *(f"_pytest.{plugin}" for plugin in default_plugins)):
        importlib.import_module(name)
    for kind in ("operators", "modules", "optimisers"):
        signatures(kind)


def import_torch() -> None:
    """Import torch, and what needs it."""
    importlib.import_module("reference.oracle")


def launched(
    module: str, options: Sequence[str], memory: int | None = None, **environment: str
) -> Process:
    """What `conformance.isolation.process.launched` returns, by a copy of this process.

    A backend of a test runs a few programs, and would import impl or torch most of its time.
    """

    def serve(requests: int, answers: int) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.update(environment)
        main = importlib.import_module(module).main
        sys.exit(main([*options, "--requests", str(requests), "--answers", str(answers)]))

    return forked.copied(serve, memory)


def begin(request: Request) -> None:
    """Make this process what `python -m` makes in the request's folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.session:
        os.setsid()
    for name, standard in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if standard in request.closed:
            os.close(standard)
            setattr(sys, name, None)
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = [request.module, *request.arguments]
    if request.descriptors:
        requests, answers = request.descriptors
        sys.argv += ["--requests", str(requests), "--answers", str(answers)]
    own = [] if request.module == SERVED else [request.cwd]  # as -P of `launched` has it
    given = [place for place in request.environment["PYTHONPATH"].split(os.pathsep) if place]
    sys.path[:] = dict.fromkeys([*own, *given, *sys.path[1:]])
    child.launched = workers.launched = launched
    if "-n" in sys.argv:
        warm_workers.offer()
    for limit, value in request.limits.items():
        resource.setrlimit(getattr(resource, limit), (value, value))


def frozen(importing: Callable[[], None]) -> None:
    """Call a function that imports modules; no collection of garbage looks at them again."""
    gc.disable()
    importing()
    gc.freeze()
    gc.enable()


def main(folder: Path) -> int:
    """Answer requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    impl, torch = (bound(folder / name) for name in ("impl", "torch"))
    frozen(import_all)
    server = Server(impl, torch, lambda: frozen(import_torch))
    if (request := server.request()) is None:
        return 0
    begin(request)
    try:
        code = MAIN[request.module]()
    except SystemExit as error:  # of argparse, or of a script, which may leave a message
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except Exception as error:  # of a script: this file is no part of it
        of_script = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(error.with_traceback(of_script))
        code = 1
    warm_workers.end(code)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
