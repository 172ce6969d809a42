"""The zygote: a process that holds both sides of a search, and forks a process for each share.

Every share begins in the same state, so it draws the same programs wherever it runs; a program that
ends or hangs its process costs that program only: the share is drawn again without it.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import os
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from conformance.backends import BackendError
from conformance.base.levels import LEVELS
from conformance.fuzz.causes import Cause
from conformance.fuzz.setup import search_of
from conformance.fuzz.share import Search, Share
from conformance.isolation.process import IsolationError
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection

_STATE = struct.Struct("ib")
_PHASES = ("drawing", "oracle", "backend")
_POLL = 0.02
_COLLECT_EVERY = 50
"""Programs between two collections of garbage, which happen at the same programs everywhere."""


def main(arguments: list[str]) -> int:
    """Answer requests, one JSON object per line, until there are none."""
    parser = argparse.ArgumentParser(prog="python -m conformance.fuzz.zygote")
    for name in ("requests", "answers"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--settings", type=json.loads, required=True)
    options = parser.parse_args(arguments)
    with (
        open(options.requests, "rb") as requests,
        open(options.answers, "wb", buffering=0) as answers,
    ):
        try:
            settings = settings_from(options.settings)
            search = search_of(settings, options.settings["corpus"])
        except (BackendError, IsolationError) as error:
            _answer(answers, {"failed": str(error)})
            return 1
        gc.collect()
        gc.freeze()
        _answer(answers, {"ready": True, "lines": search.coverage.total()})
        for line in requests:
            _answer(answers, _Forks(search, settings.timeout).answered(json.loads(line)))
    return 0


def settings_to(settings: Settings, corpus: list[list[str]]) -> dict[str, Any]:
    """The settings of a zygote, as JSON."""
    names = ("backend", "oracle", "imports", "seed", "default_dtype", "timeout")
    asked = {name: getattr(settings, name) for name in names}
    return {**asked, "levels": settings.selection.levels, "corpus": corpus}


def settings_from(data: dict[str, Any]) -> Settings:
    """The settings that `settings_to` wrote."""
    names = ("backend", "oracle", "seed", "default_dtype", "timeout")
    return Settings(
        **{name: data[name] for name in names},
        imports=tuple(data["imports"]),
        selection=Selection(levels=tuple(data["levels"] or LEVELS)),
    )


def _answer(answers: Any, data: dict[str, Any]) -> None:
    rest = memoryview(json.dumps(data).encode() + b"\n")
    while rest:
        rest = rest[answers.write(rest) :]


class _Forks:
    """Serves one request in processes of its own, until one of them ends well."""

    def __init__(self, search: Search, timeout: float) -> None:
        self.search, self.timeout = search, timeout
        self.state = mmap.mmap(-1, _STATE.size)

    def answered(self, request: dict[str, Any]) -> dict[str, Any]:
        if "shrink" in request:
            return self._shrunk(request)
        share = Share(**request["share"])
        if share.theme == "database":
            self.search.source.database.load()
        skipped: dict[int, str] = {}
        while True:
            done = self._forked(lambda: self.search.share(share, skipped, self._note).to_json())
            if isinstance(done, dict):
                return {"report": done}
            index, phase = _STATE.unpack(self.state[:])
            if index in skipped or len(skipped) > share.examples // 4 + 3:
                return {"failed": f"{share}: {done}, again and again"}
            skipped[index] = f"{_PHASES[phase]}: {done}"

    def _shrunk(self, request: dict[str, Any]) -> dict[str, Any]:
        statements, cause = request["shrink"], Cause(**request["cause"])

        def shrink() -> dict[str, Any]:
            smaller, found = self.search.shrink(statements, cause)
            return {"shrunk": smaller, "cause": vars(found)}

        done = self._forked(shrink, patience=20)
        return done if isinstance(done, dict) else {"shrunk": statements, "cause": vars(cause)}

    def _note(self, index: int, phase: str) -> None:
        self.state[:] = _STATE.pack(index, _PHASES.index(phase))
        if phase == "drawing" and index % _COLLECT_EVERY == 0:
            gc.collect()

    def _forked(self, work: Callable[[], dict[str, Any]], patience: float = 1) -> Any:
        """The result of the work in a process of its own, or why there is none."""
        with tempfile.NamedTemporaryFile() as file:
            pid = os.fork()
            if not pid:
                _work(work, file.name)
            last, since = b"", time.monotonic()
            while True:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    break
                if (now := self.state[:]) != last:
                    last, since = now, time.monotonic()
                if time.monotonic() - since > self.timeout * patience:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    return f"no end within {self.timeout * patience:g} s"
                time.sleep(_POLL)
            text = file.read()
        if os.waitstatus_to_exitcode(status) == 0 and text:
            return json.loads(text)
        return f"the process ended with {os.waitstatus_to_exitcode(status)}"


def _work(work: Callable[[], dict[str, Any]], path: str) -> None:
    """Write the result of the work, and end this process; never returns."""
    code = 1
    try:
        gc.disable()
        text = json.dumps(work())
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
