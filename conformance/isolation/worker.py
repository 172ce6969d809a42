"""The child process of `conformance.isolation.child`: it runs programs or samples of the sweep."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

from conformance.backends import Backend, find
from conformance.execution.execute import trace
from conformance.execution.saved import by_parts, in_one_run
from conformance.isolation.confine import end_with_parent
from conformance.isolation.interpreter import Interpreter
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.signatures.names import names_of
from conformance.sweep.sample import NoEntry
from conformance.sweep.sweep import Sweep


def main(arguments: list[str]) -> int:
    """Answer requests, one JSON object per line, until there are none."""
    parser = argparse.ArgumentParser(prog="python -m conformance.isolation.worker")
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--answers", type=int, required=True)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--oracle", help="serve the sweep: both backends in this process")
    parser.add_argument("--import", dest="imports", action="append", default=[])
    parser.add_argument("--end-with-parent", action="store_true")
    options = parser.parse_args(arguments)
    for descriptor in (options.requests, options.answers):
        os.set_inheritable(descriptor, False)
    if options.end_with_parent:
        end_with_parent()
    with (
        open(options.requests, "rb") as requests,
        open(options.answers, "wb", buffering=0) as answers,
    ):
        backend = _ready(options.backend, options.imports, answers)
        if backend is None:
            return 1
        answer = _swept(options.oracle, backend) if options.oracle else partial(_asked, backend)
        interpreter = Interpreter(backend.namespace)
        for line in requests:
            _write(answers, _answered(json.loads(line), answer, interpreter, backend))
    # A backend's threads or destructors must not keep the process.
    os._exit(0)


def _ready(name: str, imports: list[str], answers: BinaryIO) -> Backend | None:
    """Find the backend and report its identity, or the reason for failing."""
    try:
        backend = find(name, imports)
        told = {
            "name": backend.name,
            "version": str(backend.version),
            "device": str(backend.device),
            "unavailable": backend.available(),
            "other_device": backend.other_device,
            "levels": backend.levels,
            "names": names_of(backend.namespace),
        }
    except Exception as error:
        _write(answers, _line({"failed": str(error) or type(error).__name__}))
        return None
    _write(answers, _line({"ready": told}))
    return backend


def _asked(backend: Backend, request: dict[str, Any]) -> dict[str, Any]:
    """The example of a docstring, or the trace or the saved tensors of a program."""
    if "example" in request:
        return _example(backend, request["example"])
    program = Program.from_json(request["program"])
    backend.seed = request["seed"]
    backend.default_dtype = request["default_dtype"]
    if "saved_of" in request:
        return _saved(backend, program, Trace.from_json(request["saved_of"]), request["by_parts"])
    return {"trace": trace(program, backend).to_json()}


def _saved(backend: Backend, program: Program, shown: Trace, parts: bool) -> dict[str, Any]:
    found = in_one_run(program, backend, shown)
    if found is not None or not parts:
        return {"saved": found}
    return {"saved": by_parts(program, backend, shown), "spent": "parts of a program ran"}


def _example(backend: Backend, identifier: str) -> dict[str, Any]:
    try:
        return {"program": backend.example(identifier).to_json()}
    except LookupError as error:
        return {"lacking": str(error)}


def _swept(oracle: str, backend: Backend) -> Callable[[dict[str, Any]], dict[str, Any]]:

    sweep = Sweep(find(oracle), backend)
    # Before the state of the interpreter is noted: a process that a program changes is ended.
    sweep.oracle.backend.load_samples()

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        sweep.seed(request["seed"])
        if "sample" in request:
            return {"program": sweep.program(request["sample"]).to_json()}
        try:
            return {"tally": sweep.entry(request["entry"], request["dtype"]).to_json()}
        except NoEntry as error:
            return {"lacking": str(error)}

    return answer


def _answered(
    request: dict[str, Any],
    answer: Callable[[dict[str, Any]], dict[str, Any]],
    interpreter: Interpreter,
    backend: Backend,
) -> bytes:
    """The line that answers a request.

    In it `changed` are parts of the interpreter, and `spent` says why the process can do no more.
    """
    told = {"id": request["id"]}
    try:
        told |= answer(request)
        if changed := interpreter.changes():
            told["changed"] = changed
        if reason := told.get("spent") or _spent(backend):
            told["spent"] = reason
        return _line(told)
    except Exception as error:
        # The program's own errors are part of a trace; this is the harness's or the session's.
        return _line({"id": request["id"], "failed": f"{type(error).__name__}: {error}"})


def _spent(backend: Backend) -> str | None:
    """Why the process can do no more: a backend that cannot say so costs no trace."""
    try:
        return backend.spent()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, allow_nan=False).encode() + b"\n"


def _write(answers: BinaryIO, line: bytes) -> None:
    data = memoryview(line)
    while data:
        data = data[answers.write(data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
