"""An entry of the database, every sample of it, on oracle and backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from conformance.backends import Backend
from conformance.execute import lack_of, quiet
from conformance.observe import text
from conformance.program import Program
from conformance.sweep.execute import (
    FILE,
    Side,
    backward_statement,
    cotangent,
    double_statement,
    tensors,
)
from conformance.sweep.likeness import Difference, Differences, Likeness, array, saved
from conformance.sweep.sample import Argument, Sample, address
from conformance.sweep.tally import Tally

_WIDER = {"float32": np.float64, "complex64": np.complex128}


class Sweep:
    """Runs the oracle's samples on oracle and backend, and tallies where they differ."""

    def __init__(self, oracle: Backend, backend: Backend) -> None:
        self.oracle, self.backend = Side(oracle), Side(backend)
        self.likeness = Likeness(oracle, backend)
        self.exact = Side(oracle)  # for the same sample in 64 bits

    def seed(self, seed: int) -> None:
        """Set where random numbers begin in each sample."""
        self.oracle.backend.seed = self.backend.backend.seed = seed

    def entry(self, name: str, dtype: str) -> Tally:
        """The tally of every sample of an entry.

        Raises LookupError for an entry that the oracle's database does not have.
        """
        tally = Tally()
        with self._session():
            for sample in self.oracle.backend.samples(name, dtype):
                Passage(self, sample, tally).run()
        return tally

    def program(self, identifier: str) -> Program:
        """One sample as a program, by its ID. Raises LookupError for an ID that names none."""
        name, dtype, kind, number = address(identifier)
        with self._session():
            for sample in self.oracle.backend.samples(name, dtype):
                if (sample.kind, sample.number) == (kind, number):
                    passage = Passage(self, sample, Tally())
                    passage.run()
                    return sample.program(passage.statements, passage.cotangents)
        raise LookupError(f"the database has no sample {identifier}")

    @contextmanager
    def _session(self) -> Iterator[None]:
        with (
            self.oracle.backend.session(),
            self.backend.backend.session(),
            warnings.catch_warnings(),
            quiet(),
        ):
            warnings.simplefilter("ignore")
            yield


class Passage:
    """One sample on its way through its statements, on both sides at once.

    What is differentiated follows from what the oracle's results are, so the program comes to be
    as it runs; `statements` and `cotangents` are what it has come to so far.
    """

    def __init__(self, sweep: Sweep, sample: Sample, tally: Tally) -> None:
        self.sweep, self.sample, self.tally = sweep, sample, tally
        self.statements: list[str] = []
        self.cotangents: list[Argument] = []
        self._exact_statements: int | None = None  # how many ran in 64 bits; None before the first

    def run(self) -> None:
        """Forward, backward, and double backward, as far as the sample goes."""
        sample, sees = self.sample, self.sweep.oracle.is_tensor
        for side in (self.sweep.oracle, self.sweep.backend):
            side.begin(sample.arguments)
        inplace = sample.kind == "inplace"
        column = {"inplace": "inplace", "error": "errors"}.get(sample.kind, "forward")
        if not self._statement(column, sample.forward(), "y"):
            return
        outputs = [
            (name, tensor)
            for name, tensor in tensors(self.sweep.oracle.names["y"], "y", sees)
            if tensor.requires_grad
        ]
        if not outputs or not sample.differentiates or not sample.leaves:
            return
        if not inplace:
            self._saved(outputs)
        seeds = self._cotangents("v", [tensor for _, tensor in outputs])
        statement = backward_statement(sample, [name for name, _ in outputs], seeds)
        if not self._statement("inplace" if inplace else "backward", statement, "g") or inplace:
            return
        gradients = [
            (f"g[{i}]", gradient)
            for i, gradient in enumerate(self.sweep.oracle.names["g"])
            if gradient is not None and gradient.requires_grad
        ]
        if gradients:
            inputs = [*sample.leaves, *seeds]
            more = self._cotangents("w", [gradient for _, gradient in gradients])
            statement = double_statement([name for name, _ in gradients], inputs, more)
            self._statement("double", statement, "h")

    def _statement(self, column: str, statement: str, name: str) -> bool:
        """Run a statement on both sides and tally it; whether there is more to compare."""
        sweep, sample, tally = self.sweep, self.sample, self.tally
        self.statements.append(statement)
        sides, first = (sweep.oracle, sweep.backend), len(self.statements) == 1
        expected, got = (side.run(statement, first) for side in sides)
        if got is not None and type(got) is not type(expected):
            lack = lack_of(got, sweep.backend.torch, sweep.backend.observer, FILE)
            if lack is not None:
                tally.add_lack(column, lack)
                return False
        if expected is not None or got is not None:
            tally.add(column, sample.id, _errors(expected, got))
            return False
        results = [side.names[name] for side in sides]
        truth = self._truth(name) if sample.dtype in _WIDER else None
        found = sweep.likeness.differences(name, results[0], results[1], truth)
        tally.add(column, sample.id, found)
        return "values" not in found

    def _cotangents(self, letter: str, like: list[Any]) -> list[str]:
        """Bind a cotangent for each tensor on both sides; return their names."""
        made = [
            cotangent(
                f"{letter}{i}",
                array(tensor),
                self.sample.number + i,
                requires_grad=letter == "v",  # double backward is with respect to it, too
            )
            for i, tensor in enumerate(like)
        ]
        for argument in made:
            self.sweep.oracle.bind(argument)
            self.sweep.backend.bind(argument)
        self.cotangents += made
        return [argument.name for argument in made]

    def _saved(self, outputs: list[tuple[str, Any]]) -> None:
        """Compare what the results' own nodes saved."""
        found: Differences = {}
        others = self.sweep.backend.names["y"]
        mine = dict(tensors(others, "y", self.sweep.backend.is_tensor))
        for name, tensor in outputs:
            node, other = tensor.grad_fn, mine[name].grad_fn
            if type(node).__name__ != type(other).__name__:
                continue  # that has been told
            expected, got = saved(node), saved(other)
            if expected.keys() != got.keys():
                names = (", ".join(sorted(side)) for side in (expected, got))
                found.setdefault("diagnostics", Difference(f"dir({name}.grad_fn)", *names))
                continue
            for attribute, value in expected.items():
                field = f"{name}.grad_fn.{attribute}"
                inner = self.sweep.likeness.differences(
                    field, value, got[attribute], values=attribute not in self.sample.unspecified
                )
                if "values" in inner:
                    found.setdefault("diagnostics", inner["values"])
        self.tally.add("saved", self.sample.id, found)

    def _truth(self, name: str) -> Callable[[], Any]:
        """What the oracle finds in 64 bits, when somebody wants to know."""

        def truth() -> Any:
            exact = self.sweep.exact
            if self._exact_statements is None:
                exact.begin(tuple(map(_wider, self.sample.arguments)))
                self._exact_statements = 0
            for argument in self.cotangents:
                if argument.name not in exact.names:
                    exact.bind(_wider(argument))
            for statement in self.statements[self._exact_statements :]:
                if exact.run(statement, not self._exact_statements) is not None:
                    return None
                self._exact_statements += 1
            return exact.names[name]

        return truth


def _wider(argument: Argument) -> Argument:
    wide = _WIDER.get(str(argument.array.dtype))
    return argument if wide is None else argument.of(argument.array.astype(wide))


def _errors(expected: BaseException | None, got: BaseException | None) -> Differences:
    both = [
        "no error" if error is None else f"{type(error).__name__}: {text(error)}"
        for error in (expected, got)
    ]
    if type(expected).__name__ != type(got).__name__:
        return {"values": Difference("error", *both)}
    return {} if both[0] == both[1] else {"diagnostics": Difference("error message", *both)}
