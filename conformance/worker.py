"""The child process of `conformance.isolate`: runs the programs that it is sent."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from typing import Any, BinaryIO

from conformance.backends import Backend, find
from conformance.execute import trace
from conformance.program import Program


def main(arguments: list[str]) -> int:
    """Answer requests, one JSON object per line, until there are none."""
    parser = argparse.ArgumentParser(prog="python -m conformance.worker")
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--answers", type=int, required=True)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--import", dest="imports", action="append", default=[])
    options = parser.parse_args(arguments)
    for descriptor in (options.requests, options.answers):
        os.set_inheritable(descriptor, False)
    _end_with(os.getppid())
    with (
        open(options.requests, "rb") as requests,
        open(options.answers, "wb", buffering=0) as answers,
    ):
        backend = _ready(options.backend, options.imports, answers)
        if backend is None:
            return 1
        for line in requests:
            _write(answers, _answer(json.loads(line), backend))
    # A backend's threads or destructors must not keep the process.
    os._exit(0)


def _ready(name: str, imports: list[str], answers: BinaryIO) -> Backend | None:
    """Find the backend and say so, or say why not."""
    try:
        backend = find(name, imports)
        told = {
            "name": backend.name,
            "version": str(backend.version),
            "device": str(backend.device),
            "unavailable": backend.available(),
        }
    except Exception as error:
        _write(answers, _line({"failed": str(error) or type(error).__name__}))
        return None
    _write(answers, _line({"ready": told}))
    return backend


def _answer(request: dict[str, Any], backend: Backend) -> bytes:
    try:
        program = Program.from_json(request["program"])
        backend.seed = request["seed"]
        backend.default_dtype = request["default_dtype"]
        return _line({"id": request["id"], "trace": trace(program, backend).to_json()})
    except Exception as error:
        # The program's own errors are part of a trace; this is the harness's or the session's.
        return _line({"id": request["id"], "failed": f"{type(error).__name__}: {error}"})


def _line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, allow_nan=False).encode() + b"\n"


def _write(answers: BinaryIO, line: bytes) -> None:
    data = memoryview(line)
    while data:
        data = data[answers.write(data) :]


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, even while a program hangs."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
