"""Execution of a program on a backend, statement by statement; the result is a trace."""

from __future__ import annotations

import builtins
import importlib
import io
import linecache
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from conformance.backends import Backend
from conformance.observe.observer import Observer, is_observed
from conformance.observe.texts import failure, warning_text
from conformance.observe.trace import Observation, Step, Trace
from conformance.program.program import HOST, OTHER_DEVICE, Program, Statement

# The modules that a program may import besides torch; none is there for access to the machine.
# fmt: off
ALLOWED = frozenset({
    "__future__", "asyncio", "collections", "concurrent", "contextlib", "contextvars", "copy",
    "dataclasses", "fractions", "functools", "gc", "itertools", "math", "numpy", "operator",
    "pickle", "random", "re", "statistics", "threading", "time", "types", "typing", "warnings",
    "weakref",
})
# fmt: on


def _io_without_files() -> ModuleType:
    """The module `io` that programs import: its files in memory alone."""
    module = ModuleType("io")
    module.BytesIO, module.StringIO = io.BytesIO, io.StringIO  # type: ignore[attr-defined]
    return module


_IN_MEMORY = {"io": _io_without_files()}


class _Discarded(io.TextIOBase):
    """A stream that discards its text: the standard output of programs."""

    def write(self, text: str) -> int:
        return len(text)

    def writable(self) -> bool:
        return True


def trace(program: Program, backend: Backend, *, at_end: bool = False) -> Trace:
    """Run `program` on `backend` in this process and return its trace.

    Names are observed after each statement; with `at_end` after the last one only, which takes
    half the time, and misses changes that do not last. The program's global changes (grad mode,
    default dtype, random state, warning filters) are undone afterwards. Raises ProgramError for
    source that does not parse; an error that a statement raises is part of the trace.
    """
    statements = program.statements
    with quiet(), _source_lines(program), _random_state(program, backend.seed), backend.session():
        return _Execution(program, backend, at_end).run(statements)


Look = Callable[[Observer, dict[str, Any]], Any]
"""Looks at the observer of a running program and at its live names."""


def looked_at(
    program: Program, backend: Backend, look: Look, *, only_after: int | None = None
) -> tuple[Trace, list[Any]]:
    """Run `program` as `trace` does, and call `look` after each statement, or only after the one
    with this number, counted from 1, which is then the last that runs.

    Returns the trace and the results. Unlike an observation `look` may have side effects.
    """
    statements, seen = program.statements[:only_after], list[Any]()
    last = len(statements) if only_after is not None else 0

    def look_at(observer: Observer, live: dict[str, Any], count: int) -> None:
        if count >= last:
            seen.append(look(observer, live))

    with quiet(), _source_lines(program), _random_state(program, backend.seed), backend.session():
        return _Execution(program, backend, at_end=False).run(statements, look_at), seen


class Renamed:
    """Shows the devices of a backend, in a text, under the names that torch has on the CPU: its own
    as "cpu" and the other one as "meta"."""

    def __init__(self, backend: Backend) -> None:
        own, other = str(backend.device), str(backend.other_device)
        kind = own.partition(":")[0]
        self.names = {own: "cpu", kind: "cpu", f"{kind}:0": "cpu", other: "meta"}
        words = "|".join(map(re.escape, sorted(self.names, key=len, reverse=True)))
        self.pattern = re.compile(rf"(?<![\w.])(?:{words})(?![\w.])")

    def __call__(self, text: str) -> str:
        return self.pattern.sub(lambda found: self.names[found[0]], text)


class _Execution:
    """One program's namespace, and the last observations of its names."""

    def __init__(self, program: Program, backend: Backend, at_end: bool) -> None:
        self.program = program
        self.backend = backend
        self.at_end = at_end
        self.observer = backend.observer()
        self.before: dict[str, Observation] = {}
        self.imported: dict[str, Any] = {}
        self.renamed = Renamed(backend) if program.names_other_device else None
        self.namespace: dict[str, Any] = {
            "__name__": "program",
            "__builtins__": program_builtins(backend.namespace),
            "torch": backend.namespace,
        }
        if self.renamed is not None:
            other = backend.namespace.device(backend.other_device)
            self.namespace[OTHER_DEVICE] = self.imported[OTHER_DEVICE] = other
            self.observer.unread_device = other
        else:
            self.observer.sees_cpu = backend.device != HOST and not program.names_host

    def run(
        self,
        statements: list[Statement],
        look: Callable[[Observer, dict[str, Any], int], None] | None = None,
    ) -> Trace:
        """The trace of the statements; `look` gets the number of those that have run, too."""
        result = Trace()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for count, statement in enumerate(statements, start=1):
                    result.steps.append(self._step(statement, caught))
                    if look is not None:
                        look(self.observer, self._live(), count)
        finally:
            self.namespace.clear()  # functions of the program refer to it in a cycle
        return result

    def _live(self) -> dict[str, Any]:
        return {n: v for n, v in self.namespace.items() if self._is_observed(n, v)}

    def _step(self, statement: Statement, caught: list[Any]) -> Step:
        step = Step(statement.index, statement.line)
        value = None
        try:
            # eval serves every statement: code compiled with mode "exec" evaluates to None.
            value = eval(statement.code, self.namespace)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            step.error = self._error(error)
            error.__traceback__ = None  # its frames would keep tensors alive
        step.warnings = [
            {
                "category": w.category.__name__,
                "message": self._worded(warning_text(w.message)),
            }
            for w in caught
        ]
        caught.clear()
        self._observe(statement, step, value)
        return step

    def _observe(self, statement: Statement, step: Step, value: Any) -> None:
        for name in statement.imports:
            if name in self.namespace:
                self.imported[name] = self.namespace[name]
        shown = statement.is_expression and step.error is None
        unseen = self.at_end and statement.index < len(self.program.statements) - 1
        if unseen and not shown:
            return
        live = self._live()
        after = self.before if unseen else self.observer.names(live)
        if shown:
            step.result = self.observer.result(value, live)
        step.changed = {n: o for n, o in after.items() if _differs(self.before.get(n), o)}
        step.deleted = [n for n in self.before if n not in after]
        self.before = after

    def _is_observed(self, name: str, value: Any) -> bool:
        # `from torch import nn` may bind a module on one backend and a class on another.
        if name in self.imported and self.imported[name] is value:
            return False
        return is_observed(name, value, self.backend.namespace)

    def _worded(self, message: str) -> str:
        """A message as torch words it on the CPU, the devices of a program that names two too."""
        message = self.backend.worded(message)
        return message if self.renamed is None else self.renamed(message)

    def _error(self, error: BaseException) -> dict[str, str]:
        described = failure(error)
        described["message"] = self._worded(described["message"])
        lacks = lack_of(error, self.backend.namespace, self.observer, self.program.filename)
        if lacks is not None:
            described["lacks"] = lacks
        return described


def _differs(before: Observation | None, after: Observation) -> bool:
    if before == after:
        return False
    grad = after.get("grad")
    if before is None or not isinstance(grad, dict) or not grad.get("same"):
        return True
    # A gradient that is now "the same as before" for the first time is not a change.
    earlier = before.get("grad")
    return not isinstance(earlier, dict) or {**before, "grad": {**earlier, "same": True}} != after


def lack_of(error: BaseException, namespace: Any, observer: Observer, filename: str) -> str | None:
    """Return the operation that the backend lacks, if the error is about one."""
    if isinstance(error, NotImplementedError):
        return str(failure(error)["message"]) or "NotImplementedError"
    if isinstance(error, ImportError) and isinstance(error.name, str):
        root = error.name.partition(".")[0]
        return error.name if root == "torch" else None
    if not isinstance(error, AttributeError) or not isinstance(error.name, str):
        return None
    if not _asked_by_program(error.__traceback__, filename):
        return None  # an AttributeError within the backend
    owner = error.obj
    if owner is namespace or _is_part_of(owner, namespace):
        return f"torch.{error.name}"
    if observer.is_tensor(owner):
        return f"Tensor.{error.name}"
    return None


def _asked_by_program(traceback: TracebackType | None, filename: str) -> bool:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    code = traceback.tb_frame.f_code
    return code.co_filename == filename or code.co_name in ("__getattr__", "__getattribute__")


def _is_part_of(owner: Any, namespace: Any) -> bool:
    """Say whether `owner` is a submodule, or a class or the like that stands for one."""
    root = getattr(namespace, "__name__", None)
    if isinstance(owner, ModuleType) and isinstance(root, str):
        return owner.__name__ == root or owner.__name__.startswith(f"{root}.")
    if not hasattr(owner, "__dict__"):
        return False  # a plain value, such as None, is no place for names
    parts = list(getattr(namespace, "__dict__", {}).values())
    parts += [v for part in parts for v in getattr(part, "__dict__", {}).values()]
    return any(part is owner for part in parts)


def program_builtins(namespace: Any) -> dict[str, Any]:
    """Return the builtins of a program, in which `import torch` means the backend."""
    table = dict(vars(builtins))
    table["__import__"] = _importer(namespace)
    return table


def _importer(namespace: Any) -> Callable[..., Any]:
    def import_(
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: tuple[str, ...] = (),
        level: int = 0,
    ) -> Any:
        root = name.partition(".")[0]
        # This import is not in the program's text: pickle imports the module of a class.
        by_pickle = isinstance(fromlist, list)
        if name in _IN_MEMORY and not by_pickle:
            return _IN_MEMORY[name]
        if root != "torch" or by_pickle:
            if not by_pickle and (level or root not in ALLOWED):
                raise ImportError(f"a program cannot import {name!r}", name=name)
            return builtins.__import__(name, globals, locals, fromlist, level)
        module = _submodule(namespace, name)
        if not fromlist:
            return namespace
        for part in fromlist:
            if part != "*":
                _member(module, name, part)
        return module

    return import_


def _submodule(namespace: Any, name: str) -> Any:
    """Return what `name`, which begins with "torch", means in the namespace."""
    found = namespace
    parts = name.split(".")[1:]
    for part in parts:
        # `torch.autograd.gradcheck` is a module in an import, and a function as an attribute.
        found = _imported(found, part) or _child(found, part)
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return found


def _imported(parent: Any, part: str) -> Any:
    return sys.modules.get(f"{parent.__name__}.{part}") if isinstance(parent, ModuleType) else None


def _member(module: Any, name: str, part: str) -> Any:
    found = _child(module, part)
    if found is None:
        raise ImportError(f"cannot import name {part!r} from {name!r}", name=f"{name}.{part}")
    return found


def _child(parent: Any, part: str) -> Any:
    found = getattr(parent, part, None)
    if found is None and isinstance(parent, ModuleType):
        try:
            return importlib.import_module(f"{parent.__name__}.{part}")
        except ModuleNotFoundError:
            return None
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Discard a program's output; give it empty input."""
    streams = sys.stdout, sys.stderr, sys.stdin
    sys.stdout = sys.stderr = _Discarded()
    sys.stdin = io.StringIO()
    try:
        yield
    finally:
        sys.stdout, sys.stderr, sys.stdin = streams


@contextmanager
def silent() -> Iterator[None]:
    """Discard warnings, and restore their filters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _source_lines(program: Program) -> Iterator[None]:
    """Register the program's lines with linecache, for tracebacks and inspect."""
    text = program.paste()
    linecache.cache[program.filename] = (
        len(text),
        None,
        text.splitlines(keepends=True),
        program.filename,
    )
    try:
        yield
    finally:
        linecache.cache.pop(program.filename, None)


@contextmanager
def _random_state(program: Program, seed: int) -> Iterator[None]:
    """Seed NumPy's global generator for programs that use NumPy, and restore it."""
    if "numpy" not in program.source:
        yield
        return
    state = np.random.get_state()
    errors = np.geterr()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(state)
        np.seterr(**errors)
