"""The functions of `impl` that programs call, of those that mutants change.

A program that calls none of the functions that a mutant changes runs as without the mutant, and
need not be run on it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType
from typing import Any

from conformance import backends
from conformance.execution.execute import trace
from conformance.isolation.forked import Answer, fork
from conformance.mutation.mutant import Mutant
from conformance.program.program import Program
from mutants.catalogue import edits_of
from mutants.edits import codes_of, edited

Function = tuple[str, str, int]
"""A function's file, qualified name and first line; so are the bodies of modules and classes."""

TIMEOUT = 3600.0


class Reach:
    """The programs that mutants may change."""

    def __init__(self, programs: Sequence[Program], mutants: Sequence[Mutant]) -> None:
        """Run the programs, each in a process in which no other has run: a function whose result
        one program has cached is not called by another."""
        self.changed = {mutant.name: changed(mutant) for mutant in mutants}
        functions = sorted({f for found in self.changed.values() for f in found or ()})
        numbers = {function: number for number, function in enumerate(functions)}

        def begin() -> Answer:
            calls = _Calls(numbers)
            with calls:
                backend = backends.from_object("impl", edited(()))
            at_import = calls.numbers()
            return lambda _: {
                "import": at_import,
                "programs": {p.id: _called(p, backend, numbers) for p in programs},
            }

        answer = _asked(begin)
        self.of_import = {functions[number] for number in answer["import"]}
        self.of_programs = {
            name: {functions[number] for number in called}
            for name, called in answer["programs"].items()
        }

    def programs(self, mutant: Mutant) -> set[str]:
        """The IDs of the programs that call a function that the mutant changes; all, if importing
        does."""
        functions = self.changed[mutant.name]
        if functions is None or functions & self.of_import:
            return set(self.of_programs)
        return {name for name, called in self.of_programs.items() if functions & called}


class _Calls:
    """Notes the functions that are called, as a profiler; a context manager."""

    def __init__(self, numbers: dict[Function, int]) -> None:
        self._numbers = numbers
        self._codes: dict[int, CodeType] = {}  # by identity: the hash of a code reads all of it

    def __enter__(self) -> None:
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: Any, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            self._codes[id(code)] = code

    def numbers(self) -> list[int]:
        """The numbers of the functions called, of those that have one."""
        called = map(_function, self._codes.values())
        return [self._numbers[function] for function in called if function in self._numbers]


def _called(program: Program, backend: backends.Backend, numbers: dict[Function, int]) -> list[int]:
    """The numbers of the functions that a program calls, which runs in a process of its own."""

    def begin() -> Answer:
        calls = _Calls(numbers)
        with calls:
            trace(program, backend)
        return lambda _: {"called": calls.numbers()}

    return list(_asked(begin)["called"])


def _asked(begin: Callable[[], Answer]) -> dict[str, Any]:
    """The answer of a forked process."""
    process = fork(begin)
    try:
        return process.ask({}, TIMEOUT)
    finally:
        process.close()


def changed(mutant: Mutant) -> set[Function] | None:
    """The functions that a mutant changes; None if its mistake is not put in by edits."""
    applied = mutant.apply
    if not isinstance(applied, partial) or applied.func is not edited:
        return None
    found, pairs = set(), list(codes_of(edits_of(mutant)).values())
    while pairs:
        before, after = pairs.pop()
        if _own(before) == _own(after):
            pairs.extend(zip(_nested(before), _nested(after), strict=True))
        else:
            found.add(_function(before))
    return found


def _nested(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _own(code: CodeType) -> tuple[Any, ...]:
    """The code of a function, without the functions within it, whose number alone counts."""
    constants = [
        CodeType if isinstance(constant, CodeType) else (type(constant), repr(constant))
        for constant in code.co_consts
    ]
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, code.co_exceptiontable, constants, counts, names


def _function(code: CodeType) -> Function:
    return code.co_filename, code.co_qualname, code.co_firstlineno
