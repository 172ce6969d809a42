"""The execution of all samples of an entry on oracle and backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from conformance.backends import Backend
from conformance.execution.execute import lack_of, quiet
from conformance.program.program import Program
from conformance.sweep.execute import (
    FILE,
    Side,
    backward_statement,
    cotangent,
    double_statement,
    tensors,
)
from conformance.sweep.sample import Argument, Sample, address
from conformance.sweep.tally import Tally
from conformance.sweep.tensor_comparison import (
    Difference,
    Differences,
    TensorComparison,
    Truth,
    array,
    saved,
)

# The roundings of one set may cancel out, so several sets are tried.
NUDGES = 3

# The column of a kind's statement that only calls the operator.
_COLUMNS = {"inplace": "inplace", "out": "out", "error": "errors"}

SPENT = "a process that still works: the kernel of an earlier sample failed"
"""The lack of the samples after one that has spent the backend's process."""

_WIDER = {"float32": np.float64, "complex64": np.complex128}


class Sweep:
    """Runs the oracle's samples on oracle and backend, and tallies where they differ."""

    def __init__(self, oracle: Backend, backend: Backend) -> None:
        self.oracle, self.backend = Side(oracle), Side(backend)
        self.comparison = TensorComparison(oracle, backend)
        # For reruns of a sample in 64 bits, and with inputs one rounding away.
        self.exact, self.nudged = Side(oracle), [Side(oracle) for _ in range(NUDGES)]

    def seed(self, seed: int) -> None:
        """Set the seed of each sample's random numbers."""
        self.oracle.backend.seed = self.backend.backend.seed = seed

    def entry(self, name: str, dtype: str) -> Tally:
        """The tally of every sample of an entry.

        Raises NoEntry for an entry that the oracle's database does not have.
        """
        tally = Tally()
        with self._session():
            for sample in self.oracle.backend.samples(name, dtype):
                if self.backend.backend.spent():
                    tally.add_lack(_COLUMNS.get(sample.kind, "forward"), SPENT)
                else:
                    SampleRun(self, sample, tally).run()
        return tally

    def program(self, identifier: str) -> Program:
        """One sample as a program, by its ID. Raises LookupError for an ID that names none."""
        name, dtype, kind, number = address(identifier)
        with self._session():
            for sample in self.oracle.backend.samples(name, dtype):
                if (sample.kind, sample.number) == (kind, number):
                    sample_run = SampleRun(self, sample, Tally())
                    sample_run.run()
                    return sample.program(sample_run.statements, sample_run.cotangents)
        raise LookupError(f"the database has no sample {identifier}")

    @contextmanager
    def _session(self) -> Iterator[None]:
        # The oracle's is the inner one: samples are drawn, and its statements run, on the CPU.
        with (
            self.backend.backend.session(),
            self.oracle.backend.session(),
            warnings.catch_warnings(),
            quiet(),
        ):
            warnings.simplefilter("ignore")
            yield


class SampleRun:
    """One sample, executed statement by statement on both sides at once.

    The oracle's results decide which statements differentiate, so the program is completed
    as it runs; `statements` and `cotangents` are those run so far.
    """

    twice = True  # whether gradients are differentiated again

    def __init__(self, sweep: Sweep, sample: Sample, tally: Tally) -> None:
        self.sweep, self.sample, self.tally = sweep, sample, tally
        self.statements: list[str] = []
        self.cotangents: list[Argument] = []
        self._exact = _Rerun(self, sweep.exact, _wider) if sample.dtype in _WIDER else None
        self._nudged = [
            _Rerun(self, side, partial(_nudged, turn=turn))
            for turn, side in enumerate(sweep.nudged)
        ]

    def run(self) -> None:
        """Forward, backward, and double backward, as far as the sample goes."""
        sample, sees = self.sample, self.sweep.oracle.is_tensor
        for side in (self.sweep.oracle, self.sweep.backend):
            side.begin(sample.arguments)
        inplace = sample.kind == "inplace"
        column = _COLUMNS.get(sample.kind, "forward")
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
        statement = backward_statement(sample, [name for name, _ in outputs], seeds, self.twice)
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
            if column == "out" and isinstance(got, TypeError) and "'out'" in str(got):
                lack = lack or f"out= of {sample.entry}"
            if lack is not None:
                tally.add_lack(column, lack)
                return False
        if expected is not None or got is not None:
            messages = sweep.oracle.message(expected), sweep.backend.message(got)
            tally.add(column, sample.id, _errors(expected, got, messages))
            return False
        results = [side.names[name] for side in sides]
        found = sweep.comparison.differences(name, results[0], results[1], self._truth(name))
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
        """Compare the saved values of the results' own nodes."""
        found: Differences = {}
        others = self.sweep.backend.names["y"]
        mine = dict(tensors(others, "y", self.sweep.backend.is_tensor))
        for name, tensor in outputs:
            node, other = tensor.grad_fn, mine[name].grad_fn
            if type(node).__name__ != type(other).__name__:
                continue  # reported already
            expected, got = saved(node), saved(other)
            if expected.keys() != got.keys():
                names = (", ".join(sorted(side)) for side in (expected, got))
                found.setdefault("diagnostics", Difference(f"dir({name}.grad_fn)", *names))
                continue
            for attribute, value in expected.items():
                field = f"{name}.grad_fn.{attribute}"
                inner = self.sweep.comparison.differences(
                    field,
                    value,
                    got[attribute],
                    self._truth("y", partial(self._saved_by, name=name, attribute=attribute)),
                    values=attribute not in self.sample.unspecified,
                )
                if "values" in inner:
                    found.setdefault("diagnostics", inner["values"])
        self.tally.add("saved", self.sample.id, found)

    def _saved_by(self, result: Any, name: str, attribute: str) -> Any:
        """A saved value, by name, of the node of one of a statement's results."""
        part = dict(tensors(result, "y", self.sweep.oracle.is_tensor))[name]
        return saved(part.grad_fn)[attribute]

    def _truth(self, name: str, part: Callable[[Any], Any] = lambda value: value) -> Truth:
        """The oracle's result, or a part of it, in 64 bits and with inputs one rounding away."""

        def truth() -> Iterator[Any]:
            # The rerun may have fewer results, and no node.
            with suppress(_RerunFailed, LookupError, AttributeError):
                yield None if self._exact is None else part(self._exact(name))
                for again in self._nudged:
                    yield part(again(name))

        return truth


class _RerunFailed(Exception):
    """A rerun with other numbers raised an error."""


class _Rerun:
    """A rerun of the sample on the oracle, with other tensors, executed on demand."""

    def __init__(
        self, sample_run: SampleRun, side: Side, change: Callable[[Argument], Argument]
    ) -> None:
        self.sample_run, self.side, self.change = sample_run, side, change
        self.done: int | None = None  # how many statements ran; None before the first

    def __call__(self, name: str) -> Any:
        """Return the value of the name; raises _RerunFailed if a statement raised."""
        sample_run, side = self.sample_run, self.side
        if self.done is None:
            side.begin(tuple(map(self.change, sample_run.sample.arguments)))
            self.done = 0
        for argument in sample_run.cotangents:
            if argument.name not in side.names:
                side.bind(self.change(argument))
        for statement in sample_run.statements[self.done :]:
            if (error := side.run(statement, not self.done)) is not None:
                raise _RerunFailed from error
            self.done += 1
        return side.names[name]


def _wider(argument: Argument) -> Argument:
    wide = _WIDER.get(str(argument.array.dtype))
    return argument if wide is None else argument.of(argument.array.astype(wide))


def _nudged(argument: Argument, turn: int) -> Argument:
    """The argument in 64 bits where there are such, each number off by one rounding."""
    array = argument.array
    if array.dtype.kind not in "fc":
        return argument
    eps = np.finfo(array.dtype).eps
    signs = np.random.RandomState(turn).choice((-1, 1), array.shape)
    wide = _wider(argument)
    return wide.of(np.asarray(wide.array * (1 + signs * eps)))


def _errors(
    expected: BaseException | None, got: BaseException | None, messages: tuple[str, str]
) -> Differences:
    if type(expected).__name__ != type(got).__name__:
        return {"values": Difference("error", *messages)}
    if messages[0] == messages[1]:
        return {}
    return {"diagnostics": Difference("error message", *messages)}
