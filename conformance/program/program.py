"""Programs: a few lines of PyTorch source with their subject."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.base.classes import CORE
from conformance.program.expectations import Expectation, read_comment
from conformance.program.givens import Given
from conformance.program.statements import (
    ProgramError,
    Source,
    Statement,
    statements_of,
    trailing_comments,
)

__all__ = ["Expectation", "Given", "Program", "ProgramError", "Statement", "shown_path"]


HOST = "cpu"
"""The name of the CPU, on which the oracle runs; in a program it is the CPU on any backend."""

OTHER_DEVICE = "other_device"
"""The name by which a program has a second device, bound before its first statement: for torch on
the CPU it is the meta device, for a backend on an accelerator the CPU."""

_HOSTED = re.compile(rf"\b{HOST}\b|numpy|\bnp\.|rng_state|get_state")

_NAMED = re.compile(rf"\b{OTHER_DEVICE}\b(?!\s*=[^=])")


@dataclass(frozen=True)
class Program:
    """Source in PyTorch and its subject; `line` is that of its first source line in `file`.

    Of its rule's metadata it has the class of ports, the device scope (any, cpu, accelerator or
    cuda) and the levels at which a port may differ.
    Raises ProgramError, from `statements` and `paste`, for source that does not parse.
    """

    id: str
    area: str
    source: str
    sentence: str
    rule: str | None = None
    operator: str | None = None
    givens: tuple[Given, ...] = ()
    dtype: str | None = None
    file: str | None = None
    line: int | None = None
    of_class: str = CORE
    device: str = "any"
    may_differ: tuple[str, ...] = ()

    @cached_property
    def statements(self) -> list[Statement]:
        """The given tensors' statements, then the source's, in order."""
        skipped = self._preamble.count("\n") - len(self.givens)
        source = Source(self.paste(), self.filename, self.place, skipped, len(self.givens))
        return statements_of(source)

    def unspecified(self) -> Iterator[set[str]]:
        """Yield, after each statement, the names with unspecified values: one set that changes."""
        names: set[str] = set()
        for statement in self.statements:
            for name in statement.assigns:
                (names.add if statement.unspecified else names.discard)(name)
            yield names

    @property
    def about(self) -> dict[str, str | None]:
        """The program's subject, as in run files and exports."""
        names = ("id", "area", "rule", "operator", "sentence", "dtype")
        return {name: getattr(self, name) for name in names}

    def paste(self) -> str:
        """Return the whole source, which runs as it stands in a Python prompt."""
        return self._preamble + self.source.rstrip("\n") + "\n"

    @property
    def code(self) -> str:
        """The whole source without its comments, and without the lines that hold nothing else."""
        text = self.paste()
        if "#" not in text:
            return text
        lines: list[str | None] = list(text.split("\n"))
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                lines[line - 1] = token.line[:column].rstrip() or None
        return "\n".join(line for line in lines if line is not None)

    @cached_property
    def names_other_device(self) -> bool:
        """Say whether the source names the other device (`OTHER_DEVICE`), and does not bind it."""
        return OTHER_DEVICE in self.source and bool(_NAMED.search(self.source))

    @cached_property
    def names_host(self) -> bool:
        """Say whether the source names the CPU, or what lies there on any backend: NumPy's arrays,
        states of random streams."""
        return bool(_HOSTED.search(self.source))

    @cached_property
    def _preamble(self) -> str:
        bare = not (self.givens or self.names_other_device)
        first = "" if bare and _begins_with_import(self.source) else "import torch\n"
        if self.names_other_device:
            first += f'{OTHER_DEVICE} = torch.device("meta")\n'
        return first + "".join(given.source() + "\n" for given in self.givens)

    @property
    def filename(self) -> str:
        """The name under which Python knows the program's code."""
        return f"<program {self.id}>"

    def place(self, line: int) -> tuple[str | None, int]:
        """Return the file and the line in it at which line `line` of `paste()` stands."""
        within = line - self._preamble.count("\n")
        if self.file is None or self.line is None or within < 1:
            return self.file, line
        return self.file, self.line + within - 1

    def runs_on(self, device: str | None) -> bool:
        """Whether a backend of this device can be held to it: it may be about others only."""
        if self.device == "any":
            return True
        if self.device == "cuda":
            return device is not None and device.startswith("cuda")
        return is_accelerator(device) == (self.device == "accelerator")

    @property
    def needs_accelerator(self) -> bool:
        """Whether it runs on accelerators only: the oracle is on the CPU, and cannot judge it."""
        return self.device in ("accelerator", "cuda")

    def __reduce__(self) -> tuple[Any, ...]:
        # The cached statements hold compiled code, which cannot be pickled.
        return Program.from_json, (self.to_json(),)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object from which `from_json` makes the program again."""
        data: dict[str, Any] = {
            "id": self.id,
            "area": self.area,
            "source": self.source,
            "sentence": self.sentence,
            "rule": self.rule,
            "operator": self.operator,
            "givens": [given.to_json() for given in self.givens],
            "dtype": self.dtype,
            "file": self.file,
            "line": self.line,
        }
        if self.of_class != CORE:
            data["of_class"] = self.of_class
        if self.device != "any":
            data["device"] = self.device
        if self.may_differ:
            data["may_differ"] = list(self.may_differ)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Program:
        """Return the program that `to_json` wrote; raises ProgramError for anything else."""
        try:
            givens = tuple(Given.from_json(g) for g in data.get("givens", ()))
            fields = {k: v for k, v in data.items() if k not in ("givens", "may_differ")}
            return cls(givens=givens, may_differ=tuple(data.get("may_differ", ())), **fields)
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise ProgramError(None, None, f"not a program: {error}") from error


def is_accelerator(device: str | None) -> bool:
    """Whether the device of a backend, such as `cuda:0`, has streams and threads of its own."""
    return device is not None and not device.startswith(("cpu", "meta"))


def shown_path(path: Path) -> str:
    """The path relative to the project's root, or to the current folder."""
    resolved = path.resolve()
    for root in (Path(__file__).resolve().parents[2], Path.cwd()):
        if resolved.is_relative_to(root):
            return resolved.relative_to(root).as_posix()
    return path.as_posix()


def _begins_with_import(source: str) -> bool:
    for line in source.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return line.split("#")[0].strip() == "import torch"
    return False


def trailing_prose(program: Program) -> Iterator[tuple[int, str]]:
    """Yield line (within `paste()`) and text of each trailing comment that is prose."""
    for line, comment in trailing_comments(program.paste()):
        if not read_comment(comment):
            yield line, comment
