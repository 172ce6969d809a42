"""The table of signatures: its lines, parsed."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

TENSORS = {
    "x": "torch.tensor([[0.5, 0.25], [0.75, 0.125]])",
    "v": "torch.tensor([0.5, 0.25])",
    "s": "torch.tensor(0.5)",
    "r": "torch.tensor([0.5, 0.25], requires_grad=True)",
    "p": "torch.tensor([[2.0, 0.5], [0.5, 1.0]])",
    "h": "torch.tensor([[0.5, 0.25], [0.75, 0.125], [0.125, 1.0]])",
    "n": "torch.tensor([[0, 1], [1, 0]])",
    "i": "torch.tensor([0, 1])",
    "k": "torch.tensor(1)",
    "m": "torch.tensor([[True, False], [False, True]])",
    "b": "torch.tensor([True, False])",
    "c": "torch.tensor([[1.0 + 2.0j, 2.0j], [0.5 + 0.0j, 1.0 - 1.0j]])",
    "t": "torch.arange(8.0).reshape(2, 2, 2) / 8",
    "g": "torch.arange(16.0).reshape(1, 1, 4, 4) / 16",
    "o": "torch.arange(64.0).reshape(1, 1, 4, 4, 4) / 64",
    "f": "torch.arange(64.0).reshape(1, 4, 4, 4) / 64",
    "e": "torch.zeros(2, dtype=torch.int32)",
    "w": "torch.arange(1.0, 10.0)",
    "z": "torch.tensor([2, 2])",
}
"""The tensors that the table's calls name."""

_SEPARATOR = re.compile(r", (?![^(\[]*[)\]])")  # not within a default such as (-2, -1)


_CPP_NAMES = {"at::Reduction::Mean": "1", "contiguous_format": "torch.contiguous_format"}


@dataclass(frozen=True)
class Parameter:
    """A parameter: its kind ("int", "int[]"), whether None passes, the source of its default."""

    name: str
    kind: str
    nullable: bool
    default: str | None
    keyword_only: bool


@dataclass(frozen=True)
class Signature:
    """A line of the table: `sum(Tensor input, int[1]? dim, ...)`, and a call that torch accepts."""

    name: str
    text: str
    call: str
    use: str = ""
    """The text after the call in a program: arguments of the module that it makes, an attribute."""

    def __str__(self) -> str:
        return f"{self.name}({self.text})"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in order."""
        found, keyword_only = [], False
        for part in _SEPARATOR.split(self.text):
            if part == "*":
                keyword_only = True
            elif part:
                declared, _, default = part.partition("=")
                kind, name = declared.rsplit(" ", 1)
                plain = re.sub(r"\[\d*\]", "[]", kind.rstrip("?"))
                found.append(
                    Parameter(name, plain, kind.endswith("?"), _in_python(default), keyword_only)
                )
        return tuple(found)

    @cached_property
    def function(self) -> str:
        """The source of the called function: `torch.sum`, `x.sum`, `x.clone().sin_`."""
        return ast.unparse(self._parsed.func)

    @cached_property
    def arguments(self) -> dict[str, str]:
        """The source of the call's arguments, by the names of the parameters."""
        positional = [p.name for p in self.parameters]
        found = {
            name: ast.unparse(value)
            for name, value in zip(positional, self._parsed.args, strict=False)
        }
        return found | {k.arg: ast.unparse(k.value) for k in self._parsed.keywords if k.arg}

    @property
    def parsed_in_c(self) -> bool:
        """Whether torch reads the arguments with its own parser, not Python with the function."""
        return True

    @property
    def uninitialised(self) -> bool:
        """Whether the result's elements are whatever the memory held."""
        return "empty" in self.name or "resize" in self.name or self.name == "Tensor.new"

    @cached_property
    def _parsed(self) -> ast.Call:
        parsed = ast.parse(self.call, mode="eval").body
        assert isinstance(parsed, ast.Call)
        if self.name.endswith("_"):  # it writes a copy, so that each call sees the same tensor
            target = parsed.func if isinstance(parsed.func, ast.Attribute) else None
            if target is not None and ast.unparse(target.value) in TENSORS:
                target.value = _clone(target.value)
            elif parsed.args and ast.unparse(parsed.args[0]) in TENSORS:
                parsed.args[0] = _clone(parsed.args[0])
        return parsed

    @property
    def spellable(self) -> bool:
        """Whether each parameter can be given by keyword; `from` and `*tensors` cannot."""
        names = [p.name for p in self.parameters]
        return all(name.isidentifier() and not keyword.iskeyword(name) for name in names)

    def write(self, arguments: dict[str, str], by_keyword: bool = False) -> str:
        """The call with these arguments, by place up to the first that is absent."""
        parts: list[str] = []
        in_place = not by_keyword
        for parameter in self.parameters:
            value = arguments.get(parameter.name)
            in_place = in_place and value is not None and not parameter.keyword_only
            if value is not None:
                by_place = in_place or parameter.name.startswith("*")
                parts.append(value if by_place else f"{parameter.name}={value}")
        return f"{self.function}({', '.join(parts)})"

    def write_keyword(self, arguments: dict[str, str], chosen: Parameter) -> str:
        """The call with one positional parameter by keyword, and so those after it."""
        before = list(self.parameters[: self.parameters.index(chosen)])
        parts = [arguments[p.name] for p in before if p.name in arguments]
        rest = [p for p in self.parameters if p not in before and p.name in arguments]
        parts += [f"{p.name}={arguments[p.name]}" for p in rest]
        return f"{self.function}({', '.join(parts)})"


# A name in a call that is neither an attribute, nor a keyword, nor in quotes; parsing every call
# would take a second at the start of each command.
_NAME = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*(?!\w)(?!\s*=(?!=))")


def _in_python(default: str) -> str | None:
    """The source of a default that the table has in the spelling of C++."""
    source = default.replace("{", "(").replace("}", ")")
    return _CPP_NAMES.get(source, source) or None


def _clone(tensor: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(tensor, "clone", ast.Load()), [], [])


def read_table() -> list[Signature]:
    """The signatures, in the order in which torch tries them."""
    text = resources.files(__package__).joinpath("torch.txt").read_text()
    found = []
    for line in text.splitlines():
        declared, _, call = line.partition("\t")
        name, _, rest = declared.partition("(")
        if call:
            found.append(Signature(name, rest.removesuffix("|deprecated").removesuffix(")"), call))
    return found


def tensors_of(calls: Iterable[str]) -> list[str]:
    """The statements that make the tensors that the calls name."""
    names = {name for call in calls for name in _NAME.findall(call)}
    return [f"{name} = {source}" for name, source in TENSORS.items() if name in names]
