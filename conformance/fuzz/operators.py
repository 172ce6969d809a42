"""torch's public operators and their signatures, read from the table `operators.txt`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from conformance.samples import OPERATORS

TABLE = "operators.txt"
_ARGUMENT = re.compile(r"(?P<type>\w+(?:\[\]|\?)*)(?P<out>!)? (?P<name>\w+)(?:=(?P<default>.*))?")


@dataclass(frozen=True)
class Argument:
    """An argument of a signature; `default` is its text, None where it has to be given."""

    type: str
    name: str
    default: str | None
    optional: bool
    keyword: bool
    out: bool

    @property
    def is_large(self) -> bool:
        """Whether the default is a size that takes long to compare, as Transformer's 512 does."""
        return self.type == "int" and (self.default or "").isdigit() and int(self.default or 0) > 64


@dataclass(frozen=True)
class Signature:
    """One signature of an operator, and the public names under which it can be called."""

    spellings: tuple[str, ...]
    arguments: tuple[Argument, ...]
    attribute: bool = False

    @property
    def pointwise(self) -> bool:
        """Whether the samples know it as an operator of each element by itself."""
        return self.spellings[0].rpartition(".")[2] in _pointwise()


@cache
def _pointwise() -> frozenset[str]:
    return frozenset(operator.name for operator in OPERATORS if operator.pointwise)


@cache
def signatures(kind: str = "operators") -> tuple[Signature, ...]:
    """The signatures of the table: `operators`, `modules` or `optimisers`."""
    text = resources.files("conformance.fuzz").joinpath(TABLE).read_text("utf-8")
    read = [read_line(line) for line in text.splitlines() if line]
    return tuple(signature for signature in read if _kind(signature.spellings[0]) == kind)


def _kind(spelling: str) -> str:
    if spelling.startswith("torch.optim."):
        return "optimisers"
    if spelling.startswith("torch.nn.") and not spelling.startswith("torch.nn.functional."):
        return "modules"
    return "operators"


def read_line(line: str) -> Signature:
    """A line of the table as a signature; raises ValueError for any other text."""
    names, bracket, rest = line.partition(" (")
    spellings = tuple(names.split())
    if not bracket:
        return Signature(spellings, (), attribute=True)
    arguments, keyword = [], False
    for part in _split(rest.removesuffix(")")):
        if part == "*":
            keyword = True
            continue
        match = _ARGUMENT.fullmatch(part)
        if match is None:
            raise ValueError(f"{TABLE}: {part!r} is not an argument: {line}")
        kind = match["type"]
        arguments.append(
            Argument(
                kind.replace("?", ""),
                match["name"],
                match["default"],
                kind.endswith("?"),
                keyword,
                bool(match["out"]),
            )
        )
    return Signature(spellings, tuple(arguments))


def _split(text: str) -> list[str]:
    """The arguments of a signature: commas within brackets separate none."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "[(") - (letter in ")]")
        if letter == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def offered(namespace: Any, spelling: str) -> bool:
    """Whether a torch-shaped namespace has the name."""
    names = spelling.split(".")
    found = namespace
    for name in names if names[0] == "Tensor" else names[1:]:
        found = getattr(found, name, None)
        if found is None:
            return False
    return True
