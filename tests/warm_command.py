"""A process that has imported `conform` and impl; copies of it become `conform`, pytest or others.

    python -m warm_command REQUESTS ANSWERS [--torch]

With `--torch` it has imported torch as well.

For each request, a line of JSON with a module of `MAIN`, its arguments, a folder, an environment
and files for the output, it forks a copy that does what `python -m` does with that module, and
answers with the copy's ID, then its exit code. The processes of backends are copies, too, and so
are those of `-n`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
import warm_workers

import conformance.commands
from conformance import cli
from conformance.fuzz import workers
from conformance.isolation import child, forked
from conformance.isolation.process import Process


def script() -> int:
    """Run the script that the first argument names."""
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


def on_impl() -> int:
    """Run a script on impl."""
    return importlib.import_module("impl.run").main(sys.argv[1:])


MAIN: dict[str, Callable[[], int]] = {
    "conformance.cli": cli.main,
    "impl.run": on_impl,
    "pytest": pytest.console_main,
    "__main__": script,
}


def import_all(torch: bool) -> None:
    """Import everything that takes long to import, and computes nothing when imported."""
    for module in pkgutil.iter_modules(conformance.commands.__path__):
        importlib.import_module(f"conformance.commands.{module.name}")
    for name in (
        *("impl", "xdist.plugin", *(("reference.oracle",) if torch else ())),
        *("conformance.isolation.worker", "conformance.fuzz.zygote"),
    ):
        importlib.import_module(name)


def launched(
    module: str, options: Sequence[str], memory: int | None = None, **environment: str
) -> Process:
    """What `conformance.isolation.process.launched` returns, by a copy of this process.

    A backend of a test runs a few programs, and would import impl or torch most of its time.
    Commands that are `started` start processes of their own.
    """

    def serve(requests: int, answers: int) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.update(environment)
        main = importlib.import_module(module).main
        sys.exit(main([*options, "--requests", str(requests), "--answers", str(answers)]))

    return forked.copied(serve, memory)


def begin(request: dict[str, Any]) -> None:
    """Make this process what `python -m` makes in the request's folder."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        file = os.open(request[name], os.O_WRONLY | os.O_APPEND)
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [request["module"], *request["arguments"]]
    sys.path[0] = request["cwd"]
    child.launched = workers.launched = launched
    if "-n" in sys.argv:
        warm_workers.offer(end)


def end(code: int) -> NoReturn:
    """Exit as Python does, without the destruction of all modules, which takes 0.2 s."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def main(requests: int, answers: int, torch: bool) -> int:
    """Answer requests until there are none."""
    gc.disable()
    import_all(torch)
    gc.freeze()
    gc.enable()
    with open(requests) as asked, open(answers, "w") as answered:
        for line in asked:
            request = json.loads(line)
            pid = os.fork()
            if not pid:
                break
            print(pid, file=answered, flush=True)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            print(code, file=answered, flush=True)
        else:
            return 0
    begin(request)
    try:
        code = MAIN[request["module"]]()
    except SystemExit as error:  # of argparse, or of a script, which may leave a message
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except Exception as error:  # of a script: this file is no part of it
        of_script = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(error.with_traceback(of_script))
        code = 1
    end(code)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3]), "--torch" in sys.argv))
