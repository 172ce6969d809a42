"""The zygote: a process that holds both sides of a search, and forks a process for each share.

It has run some programs of every theme of the search: no share has to import and compile anything
for its first programs. Every share begins in the same state, so it draws the same programs wherever
it runs. A program that ends or hangs its process costs that program only: another process goes on
with the share after it.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from conformance.backends import BackendError
from conformance.base.levels import LEVELS
from conformance.base.release import versions
from conformance.fuzz.causes import Cause
from conformance.fuzz.search import Search
from conformance.fuzz.setup import search_of
from conformance.fuzz.share import Entry, Report, Share
from conformance.fuzz.themes import DATABASE, THEMES
from conformance.isolation.process import IsolationError
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection

_STATE = struct.Struct("ib")
_PHASES = ("drawing", "oracle", "backend")
_POLL = 0.02
_WARM = 1 << 30
"""The state of a copy that goes on as the zygote."""

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
            search = search_of(settings, options.settings["corpus"], options.settings["known"])
        except (BackendError, IsolationError) as error:
            _answer(answers, {"failed": str(error)})
            return 1
        forks = _Forks(search, settings.timeout)
        forks.warm(options.settings["themes"])
        made = {**versions(), settings.backend: search.version}
        _answer(answers, {"ready": True, "lines": search.coverage.total(), "versions": made})
        for line in requests:
            _answer(answers, forks.answered(json.loads(line)))
    return 0


def settings_to(
    settings: Settings,
    corpus: Sequence[Sequence[str]],
    known: Mapping[str, Sequence[str]],
    themes: Sequence[str] = tuple(THEMES),
) -> dict[str, Any]:
    """The settings of a zygote, as JSON; ``themes`` are those of its shares."""
    names = ("backend", "oracle", "imports", "seed", "default_dtype", "timeout", "start_timeout")
    asked = {name: getattr(settings, name) for name in names}
    levels = settings.selection.levels
    programs = [list(statements) for statements in corpus]
    of_search = {"corpus": programs, "known": {**known}, "themes": [*themes]}
    return {**asked, "levels": levels, **of_search}


def settings_from(data: dict[str, Any]) -> Settings:
    """The settings that `settings_to` wrote."""
    names = ("backend", "oracle", "seed", "default_dtype", "timeout", "start_timeout")
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
    """Copies of this process, each of which serves a request as far as it survives."""

    def __init__(self, search: Search, timeout: float) -> None:
        self.search, self.timeout = search, timeout
        self.state = _shared()

    def warm(self, themes: Sequence[str]) -> None:
        """Run programs of these themes in a copy of this process, which then goes on as the zygote.

        A copy that ends before is followed by another, without the program that ended it. This
        process only awaits its end.
        """
        without: set[int] = set()
        while True:
            self._note(-1, "drawing")
            pid = os.fork()
            if not pid:
                gc.disable()
                self.search.warm(lambda number: self._note(number, "drawing"), without, themes)
                _settle()
                self._note(_WARM, "drawing")
                self.state = _shared()
                return
            ended = self._awaited(pid, self.timeout)
            index, _ = _STATE.unpack(self.state[:])
            if index in (_WARM, -1) or index in without:
                print(ended, file=sys.stderr, flush=True)
                os._exit(1)
            without.add(index)

    def answered(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request for a share, or for a smaller program."""
        if "shrink" in request:
            return self._shrunk(request)
        share, begun = Share(**request["share"]), time.monotonic()
        if share.theme == DATABASE and self.search.source.database.load():
            _settle()
        done: list[Entry] = []
        ending = ""
        while True:
            entries = partial(self.search.entries, share, done, ending, self._note)
            written, ended = self._forked(entries)
            done += map(Entry.from_json, written)
            if len(done) == share.examples:
                break
            if sum(entry.outcome == "lost" for entry in done) > share.examples // 4 + 3:
                return {"failed": f"{share}: {ended}, again and again"}
            _, phase = _STATE.unpack(self.state[:])
            ending = f"{_PHASES[phase]}: {ended}"
        return {"report": Report.of(done, begun).to_json()}

    def _shrunk(self, request: dict[str, Any]) -> dict[str, Any]:
        statements, cause = request["shrink"], Cause.from_json(request["cause"])

        def shrink() -> Iterator[Entry]:
            yield Entry("diverges", *self.search.shrink(statements, cause))

        written, _ = self._forked(shrink, patience=20)
        small = Entry.from_json(written[0]) if written else Entry("diverges", statements, cause)
        return {"shrunk": small.statements, "cause": vars(small.cause)}

    def _note(self, index: int, phase: str) -> None:
        self.state[:] = _STATE.pack(index, _PHASES.index(phase))
        if phase == "drawing" and index % _COLLECT_EVERY == 0:
            gc.collect()

    def _forked(
        self, work: Callable[[], Iterable[Entry]], patience: float = 1
    ) -> tuple[list[dict[str, Any]], str]:
        """The entries that a process of its own has written, and why it ended before the last."""
        with tempfile.NamedTemporaryFile() as file:
            pid = os.fork()
            if not pid:
                _work(work, file.name)
            ended = self._awaited(pid, self.timeout * patience)
            written = [json.loads(line) for line in file.read().split(b"\n")[:-1]]
        if written and "raised" in written[-1]:
            ended += f": {written.pop()['raised']}"
        return written, ended

    def _awaited(self, pid: int, patience: float) -> str:
        """How a copy of this process ended.

        One that has been with the same program for so many seconds is killed.
        """
        last, since = b"", time.monotonic()
        while True:
            served = _STATE.unpack(self.state[:])[0] == _WARM
            ended, status = os.waitpid(pid, 0 if served else os.WNOHANG)
            if ended:
                return f"the process ended with {os.waitstatus_to_exitcode(status)}"
            if (now := self.state[:]) != last:
                last, since = now, time.monotonic()
            if time.monotonic() - since > patience:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return f"no end within {patience:g} s"
            time.sleep(_POLL)


def _shared() -> mmap.mmap:
    """Memory for the state of a copy, which this process can read."""
    return mmap.mmap(-1, _STATE.size)


def _settle() -> None:
    """Take all objects that there are out of the collections of garbage."""
    gc.collect()
    gc.freeze()


def _work(work: Callable[[], Iterable[Entry]], path: str) -> None:
    """Write the entries, each as soon as it is there, and end this process; never returns."""
    code = 1
    with open(path, "wb", buffering=0) as file:
        try:
            gc.disable()
            for entry in work():
                file.write(json.dumps(entry.to_json()).encode() + b"\n")
            code = 0
        except BaseException as error:
            raised = f"{type(error).__name__}: {error}"
            file.write(json.dumps({"raised": raised}).encode() + b"\n")
        finally:
            os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
