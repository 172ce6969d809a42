"""A sample: a call with its tensors, and its form as a program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from conformance.program.givens import Given
from conformance.program.program import Program

AREA = "sweep"
# The layout of a sample's tensors, or the variant of the call.
KINDS = ("plain", "noncontiguous", "inplace", "out", "error")


class NoEntry(LookupError):
    """The oracle has no such entry of its database of operators, or no such example of its
    docstrings: an older torch, most often."""


def address(identifier: str) -> tuple[str, str, str, int]:
    """Entry, dtype, kind and number of a sample's ID.

    Raises LookupError for anything that is no such ID.
    """
    area, _, rest = identifier.partition("/")
    parts = rest.rsplit("/", 3)
    if area != AREA or len(parts) != 4 or parts[2] not in KINDS or not parts[3].isdecimal():
        raise LookupError(f"{identifier!r} is not the ID of a sample of the sweep")
    return parts[0], parts[1], parts[2], int(parts[3])


def is_entry(program: Program) -> bool:
    """Whether a program stands for all samples of an entry of the sweep, and is not one of them."""
    if program.area != AREA:
        return False
    try:
        address(program.id)
    except LookupError:
        return True
    return False


@dataclass(frozen=True)
class Argument:
    """A tensor that a sample is given: its values, and its strides where it is not contiguous."""

    name: str
    array: np.ndarray
    strides: tuple[int, ...] | None = None
    requires_grad: bool = False

    def of(self, array: np.ndarray) -> Argument:
        """Return the same tensor with other values."""
        return Argument(self.name, array, self.strides, self.requires_grad)

    def given(self) -> Given:
        """Return the tensor as a given of a program."""
        return Given(
            self.name,
            str(self.array.dtype),
            self.array.shape,
            tuple(self.array.reshape(-1).tolist()),
            self.strides,
            self.requires_grad,
        )


@dataclass(frozen=True)
class Sample:
    """One call of an operator: `call` is an expression over the names of `arguments`.

    `settle`, where there is one, is an expression in `y` that is compared and differentiated
    in place of the result, and does not depend on its free choices (a sign, a phase).
    `unspecified` are attributes of its node of which only shape and dtype are compared.
    """

    entry: str
    dtype: str
    kind: str
    number: int
    call: str
    arguments: tuple[Argument, ...]
    settle: str | None = None
    differentiates: bool = True
    unspecified: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Such as `sweep/addmm/float64/plain/3`."""
        return f"{AREA}/{self.entry}/{self.dtype}/{self.kind}/{self.number}"

    @property
    def leaves(self) -> list[str]:
        """The names of the tensors that require grad."""
        return [a.name for a in self.arguments if a.requires_grad]

    def forward(self) -> str:
        """The statement that calls the operator."""
        if self.settle is None:
            return f"y = {self.call}"
        return f"y = {self.call}\ny = {self.settle}"

    def program(self, statements: list[str], cotangents: list[Argument]) -> Program:
        """The program with these statements, which depend on the oracle's results."""
        operator = self.entry.partition("/")[0]
        return Program(
            self.id,
            AREA,
            "\n".join(statements) + "\n",
            f"{operator}: sample {self.number} of torch's database, {self.kind}",
            operator=operator,
            givens=tuple(a.given() for a in (*self.arguments, *cotangents)),
            dtype=self.dtype,
        )
