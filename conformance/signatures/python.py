"""The table of signatures of the functions, modules and optimisers that torch writes in Python.

`python.txt` has a line per signature: names, order and defaults, a call that torch accepts, and the
text that follows the call in a program. The types of parameters come from their values in the call,
or else from their defaults; how a wrong value is refused is up to the functions that receive it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from conformance.signatures.table import TENSORS, Parameter, Signature

_LITERALS = {bool: "bool", int: "int", float: "float", str: "str"}


@dataclass(frozen=True)
class PythonSignature(Signature):
    """A line of the table: `nn.Linear(in_features, out_features, bias=True)`, a call, its use."""

    @property
    def parsed_in_c(self) -> bool:
        """Whether torch reads the arguments with its own parser, not Python with the function."""
        return False

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in order, `*tensors` among them, without `**named`."""
        given = self._given
        found = []
        for name, default, keyword_only in self._declared:
            kind = _kind(given.get(name) or default or "None")
            found.append(Parameter(name, kind, default == "None", default, keyword_only))
        return tuple(found)

    @property
    def arguments(self) -> dict[str, str]:
        """The source of the call's arguments, by the names of the parameters."""
        return self._given

    @cached_property
    def _given(self) -> dict[str, str]:
        values = [ast.unparse(value) for value in self._parsed.args]
        found = {}
        for name, _, keyword_only in self._declared:
            if name.startswith("*") and values:
                found[name], values = ", ".join(values), []
            elif values and not keyword_only:
                found[name] = values.pop(0)
        return found | {k.arg: ast.unparse(k.value) for k in self._parsed.keywords if k.arg}

    @cached_property
    def _declared(self) -> list[tuple[str, str | None, bool]]:
        """Name, source of the default and whether only a keyword gives it, of each parameter."""
        declared = ast.parse(f"def f({self.text}): pass").body[0]
        assert isinstance(declared, ast.FunctionDef)
        listed = declared.args
        missing = len(listed.args) - len(listed.defaults)
        defaults = [None] * missing + [_source(default) for default in listed.defaults]
        found = [(a.arg, d, False) for a, d in zip(listed.args, defaults, strict=True)]
        if listed.vararg:
            found.append((f"*{listed.vararg.arg}", None, False))
        for argument, default in zip(listed.kwonlyargs, listed.kw_defaults, strict=True):
            found.append((argument.arg, _source(default) if default else None, True))
        return found


def _source(default: ast.expr) -> str:
    return (
        "" if isinstance(default, ast.Constant) and default.value is ... else ast.unparse(default)
    )


def _kind(source: str) -> str:
    if source in TENSORS:
        return "Tensor"
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError):
        return "any"
    if isinstance(value, tuple | list) and value and all(type(v) is int for v in value):
        return "int[]"
    return _LITERALS.get(type(value), "any")


def read_python_table() -> list[PythonSignature]:
    """The signatures of torch's Python functions, by name."""
    text = resources.files(__package__).joinpath("python.txt").read_text()
    found = []
    for line in text.splitlines():
        declared, call, *use = line.split("\t")
        name, _, rest = declared.partition("(")
        if call:
            found.append(PythonSignature(name, rest.removesuffix(")"), call, "".join(use)))
    return found
