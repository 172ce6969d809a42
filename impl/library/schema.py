"""Schemas of operators of programs: parameters and results, which values fit them, and their text
(torch/csrc/jit/frontend/function_schema.h)."""

from __future__ import annotations

import collections.abc
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from impl.core.devices import device
from impl.core.dtypes import dtype
from impl.core.named_types import type_name
from impl.tensor.tensor import Tensor

NO_DEFAULT: Any = inspect.Parameter.empty
_PLAIN_NAMES = {"SymInt": "int", "Scalar": "number"}  # in messages about values


@dataclass(frozen=True)
class Argument:
    """A parameter of a schema; `alias` names the memory of a tensor, with "!" if it is written."""

    name: str
    type: str
    default: Any = NO_DEFAULT
    kwarg_only: bool = False
    alias: str | None = None

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias is not None and "!" in self.alias

    def __str__(self) -> str:
        default = "" if self.default is NO_DEFAULT else f"={_literal(self.default)}"
        return f"{_annotated(self.type, self.alias)} {self.name}{default}"


@dataclass(frozen=True)
class Result:
    """A result of a schema, with the same `alias` as an argument whose memory it shares."""

    type: str
    alias: str | None = None
    name: str = ""

    @property
    def is_write(self) -> bool:
        """Whether it is an argument that the operator writes to."""
        return self.alias is not None and "!" in self.alias

    def __str__(self) -> str:
        return f"{_annotated(self.type, self.alias)} {self.name}".rstrip()


def _annotated(kind: str, alias: str | None) -> str:
    return kind if alias is None else kind.replace("Tensor", f"Tensor({alias})", 1)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        text = f"{value:.17g}"
        return f"{text}." if text.lstrip("-").isdigit() else text
    return str(value).removeprefix("torch.")


class FunctionSchema:
    """The name, parameters and results of an operator (torch._C.FunctionSchema)."""

    def __init__(
        self,
        name: str,
        arguments: list[Argument],
        returns: list[Result],
        overload_name: str = "",
    ) -> None:
        self.name = name
        self.overload_name = overload_name
        self.arguments = arguments
        self.returns = returns
        self.positional = [a for a in arguments if not a.kwarg_only]
        self.mutated = [a.name for a in arguments if a.is_write]

    @property
    def is_mutable(self) -> bool:
        """Whether it writes to an argument."""
        return bool(self.mutated)

    @property
    def is_functional(self) -> bool:
        """Whether it neither writes to arguments nor returns memory of theirs."""
        return not self.is_mutable and all(r.alias is None for r in self.returns)

    @property
    def is_inplace(self) -> bool:
        """Whether it writes to its first argument only, and returns that."""
        return (
            bool(self.arguments)
            and self.mutated == [self.arguments[0].name]
            and [r.alias for r in self.returns] == [self.arguments[0].alias]
        )

    @property
    def has_keyword_only_tensors(self) -> bool:
        """Whether a tensor is given by keyword only."""
        return any(a.kwarg_only and "Tensor" in a.type for a in self.arguments)

    def __str__(self) -> str:
        end = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{end}({_listed(self.arguments, str)}) -> {self._results()}"

    __repr__ = __str__

    def annotation(self) -> str:
        """The text that `infer_schema` makes of it, with defaults as Python writes them."""
        return f"{self.name}({_listed(self.arguments, _in_python)}) -> {self._results()}"

    def _results(self) -> str:
        texts = [str(result) for result in self.returns]
        if len(texts) == 1 and not texts[0].startswith("("):
            return texts[0]
        return f"({', '.join(texts)})"

    def matched(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The positional arguments up to the last one that is not its default, and of those by
        name the ones that are not their defaults.

        Raises RuntimeError, in torch's words, for arguments that do not fit.
        """
        if len(args) + len(kwargs) > len(self.arguments) or len(args) > len(self.positional):
            raise RuntimeError(self._excess(len(args), len(kwargs)))
        left = dict(kwargs)
        values: list = []
        named = {}
        for place, argument in enumerate(self.arguments):
            if not argument.kwarg_only and place < len(args):
                value = args[place]
            elif argument.name in left:
                value = left.pop(argument.name)
            else:
                value = self._default(argument)
            value = self._checked(argument, value, place)
            if not argument.kwarg_only:
                values.append(value)
            elif not _is_default(value, argument):
                named[argument.name] = value
        if left:
            raise RuntimeError(
                f"Unknown keyword argument '{next(iter(left))}' for operator '{self.name}'. "
                f"Schema: {self}"
            )
        while values and _is_default(values[-1], self.positional[len(values) - 1]):
            values.pop()
        return tuple(values), named

    def filled(self, args: tuple) -> tuple:
        """The positional arguments with the defaults that were left out."""
        return (*args, *(a.default for a in self.positional[len(args) :]))

    def filled_by_name(self, named: dict) -> dict:
        """The keyword-only arguments with the defaults that were left out."""
        only = [a for a in self.arguments if a.kwarg_only]
        return {a.name: named.get(a.name, a.default) for a in only}

    def returned(self, value: Any) -> Any:
        """The results of a kernel, converted to the types of the schema.

        Raises RuntimeError for a value that has none of them, TypeError for one that is no sequence
        where there are several.
        """
        if not self.returns:
            if value is not None:
                raise RuntimeError(
                    f"Expected PythonKernelHolder for {self.name} to return None but it returned "
                    "something else instead."
                )
            return None
        if len(self.returns) == 1:
            return _converted(self.returns[0].type, value)
        if isinstance(value, Tensor) or not isinstance(value, collections.abc.Sequence):
            raise TypeError(
                f"Object of type '{type(value).__name__}' is not an instance of 'sequence'"
            )
        pairs = zip(self.returns, value, strict=False)
        values = tuple([_converted(result.type, entry) for result, entry in pairs])
        return values[0] if len(values) == 1 else values

    def _excess(self, count: int, named: int) -> str:
        if count + named <= len(self.arguments):
            return (
                f"{self.name}() takes {len(self.positional)} positional argument(s) but {count} "
                f"was/were given.  Declaration: {self}"
            )
        return (
            f"{self.name}() expected at most {len(self.arguments)} argument(s) but received "
            f"{count + named} argument(s). Declaration: {self}"
        )

    def _default(self, argument: Argument) -> Any:
        if argument.default is NO_DEFAULT:
            raise RuntimeError(
                f"{self.name}() is missing value for argument '{argument.name}'. "
                f"Declaration: {self}"
            )
        return argument.default

    def _checked(self, argument: Argument, value: Any, place: int) -> Any:
        value = _as_number(argument.type.removesuffix("?"), value)
        if _fits(argument.type, value):
            return _as_list(argument.type.removesuffix("?"), value)
        base, _, rest = argument.type.partition("[")
        kind = _PLAIN_NAMES.get(base, base)
        kind = f"List[{kind}]" if rest else kind
        shown = type_name(value) if isinstance(value, Tensor) else type(value).__name__
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{kind}' for argument '{argument.name}' but "
            f"instead found type '{shown}'.\nPosition: {place}\nValue: {value!r}\n"
            f"Declaration: {self}\nCast error details: {_failed_cast(argument.type, value)}"
        )


def _listed(arguments: list[Argument], text: Callable[[Argument], str]) -> str:
    parts: list[str] = []
    for argument in arguments:
        if argument.kwarg_only and "*" not in parts:
            parts.append("*")
        parts.append(text(argument))
    return ", ".join(parts)


def _in_python(argument: Argument) -> str:
    if isinstance(argument.default, float):
        return f"{_annotated(argument.type, argument.alias)} {argument.name}={argument.default}"
    return str(argument)


def _failed_cast(kind: str, value: Any) -> str:
    if kind == "Tensor":
        return f"Unable to cast {value} to Tensor"
    return (
        f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define "
        "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
    )


def _converted(kind: str, value: Any) -> Any:
    """A result of a kernel, in its type; None stands for an undefined tensor."""
    if value is None:
        return None
    value = _as_number(kind.removesuffix("?"), value)
    if not _fits(kind, value):
        raise RuntimeError(_failed_cast(kind, value))
    return _as_list(kind.removesuffix("?"), value)


def _as_number(kind: str, value: Any) -> Any:
    """A number, or a tensor or array with one element, as a parameter of a plain type takes it; any
    other value as it is."""
    one = _NUMBERS.get(kind)
    if one is None or isinstance(value, one):
        return value
    if isinstance(value, Tensor):
        return one(value) if value.numel() == 1 else value
    return one(value) if isinstance(value, _CONVERTED[one]) else value


def _as_list(kind: str, value: Any) -> Any:
    """A value for a parameter that is a list, as one: a number stands for as many as it has."""
    if value is None or not kind.endswith("]"):
        return value
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value] * int(kind[:-1].rpartition("[")[2])


_NUMBERS: dict[str, Any] = {"float": float, "SymInt": int, "int": int, "bool": bool}
# The other values that are converted to each of these types.
_CONVERTED: dict[Any, tuple] = {
    float: (int, np.floating, np.integer),
    int: (np.integer,),
    bool: (int, np.bool_),
}


def _is_default(value: Any, argument: Argument) -> bool:
    return type(value) is type(argument.default) and value == argument.default


_KINDS: dict[str, tuple] = {
    "Tensor": (Tensor,),
    "SymInt": (int,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "str": (str,),
    "Scalar": (int, float, complex),
    "ScalarType": (dtype,),
    "Device": (device, str),
}


def _fits(kind: str, value: Any) -> bool:
    if kind.endswith("?"):
        return value is None or _fits(kind[:-1], value)
    if kind.endswith("]"):
        element, _, size = kind[:-1].rpartition("[")
        if isinstance(value, (list, tuple)):
            return all(_fits(element, v) for v in value)
        return size != "" and _fits(element, value)
    return isinstance(value, _KINDS.get(kind, (object,)))
