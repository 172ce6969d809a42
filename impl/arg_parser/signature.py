"""One signature of a function: its parameters, and how a call's arguments are matched with them."""

from __future__ import annotations

import re

from impl.arg_parser.parameter import MISSING, Parameter
from impl.core.named_types import type_name
from impl.tensor.torch_function import overrides

_SEPARATOR = re.compile(r", (?![^(\[]*[)\]])")  # not within a default such as (-2, -1)


class Mismatch(TypeError):
    """Arguments that do not fit a signature, in the words for functions of one signature."""


class Signature:
    """A signature such as `sum(Tensor input, int[1]? dim, bool keepdim=False)`.

    Follows `FunctionSignature::parse` of PyTorch's `python_arg_parser.cpp`.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.deprecated = text.endswith("|deprecated")
        self.parameters: list[Parameter] = []
        keyword_only = False
        for part in _SEPARATOR.split(text.removesuffix("|deprecated")):
            if part == "*":
                keyword_only = True
            elif part:
                self.parameters.append(Parameter(part, keyword_only))
        for place, parameter in enumerate(self.parameters):
            parameter.place = place
        positional = [p for p in self.parameters if not p.keyword_only]
        self.max_positional = len(positional)
        self.min_arguments = sum(not p.optional for p in self.parameters)
        # expand(2, 3) is expand((2, 3)): the only positional parameter is a list of integers.
        self.variadic = len(positional) == 1 and positional[0].kind in ("int[]", "SymInt[]")

    def match(self, args: tuple, named: dict) -> dict:
        """The values by parameter, unconverted, of the parameters that were given.

        Raises:
            Mismatch: they do not fit.
        """
        if len(args) > self.max_positional and not self.variadic:
            raise self._extra_positional(args)
        found: dict[Parameter, object] = {}
        position, left = 0, len(named)
        for parameter in self.parameters:
            value, keyword = MISSING, False
            if position < len(args):
                if parameter.keyword_only:
                    raise self._extra_positional(args)
                value = args[position]
            elif named:
                keyword = True
                value = _by_name(parameter, named)
            if value is MISSING:
                if not parameter.optional:
                    raise self._missing(parameter)
                continue
            if parameter.accepts(value):
                found[parameter] = value
            elif self.variadic and position == 0 and not keyword and parameter.accepts(args):
                found[parameter] = args
                position = len(args)
                continue
            elif self.variadic and len(args) > self.max_positional:
                raise self._extra_positional(args)
            else:
                raise self.wrong_type(parameter, value, None if keyword else position)
            if keyword:
                left -= 1
            else:
                position += 1
        if position < len(args) and not overrides(args[0]):  # of which sizes are asked alone
            raise self._extra_positional(args)
        if left:
            raise self._extra_keyword(args, named)
        return found

    def __str__(self) -> str:
        shown, star = [], False
        for parameter in self.parameters:
            if parameter.keyword_only and not star:
                shown.append("*")
                star = True
            shown.append(parameter.declaration())
        return f"({', '.join(shown)})"

    def _extra_positional(self, args: tuple) -> Mismatch:
        given, most = len(args), self.max_positional
        if self.min_arguments != most:
            return Mismatch(
                f"{self.name}() takes from {self.min_arguments} to {most} positional arguments "
                f"but {given} were given"
            )
        plural, verb = "" if most == 1 else "s", "was" if given == 1 else "were"
        return Mismatch(
            f"{self.name}() takes {most} positional argument{plural} but {given} {verb} given"
        )

    def _missing(self, first: Parameter) -> Mismatch:
        start = self.parameters.index(first)
        names = [f'"{p.name}"' for p in self.parameters[start:] if not p.optional]
        plural = "s" if len(names) == 1 else ""  # as torch has it
        return Mismatch(
            f"{self.name}() missing {len(names)} required positional argument{plural}: "
            f"{', '.join(names)}"
        )

    def wrong_type(self, parameter: Parameter, value, position: int | None) -> Mismatch:
        """The error for a value that a parameter, given at a position or by keyword, refuses."""
        place = "" if position is None else f" (position {position + 1})"
        expected = (
            f"{self.name}(): argument '{parameter.name}'{place} must be {parameter.printed}, "
        )
        lists = ("int[]", "SymInt[]")
        if position is not None and parameter.kind in lists and isinstance(value, tuple | list):
            first = type_name(value[0])  # an empty list fits
            return Mismatch(f"{expected}but found element of type {first} at pos 0")
        return Mismatch(f"{expected}not {type_name(value)}")

    def _extra_keyword(self, args: tuple, named: dict) -> Mismatch:
        names = [p.name for p in self.parameters]
        for key in named:
            if key not in names:
                return Mismatch(f"{self.name}() got an unexpected keyword argument '{key}'")
            if names.index(key) < len(args):
                return Mismatch(f"{self.name}() got multiple values for argument '{key}'")
        return Mismatch("invalid keyword arguments")


def _by_name(parameter: Parameter, named: dict):
    if parameter.name in named:
        return named[parameter.name]
    for other in parameter.numpy_names:
        if other in named:
            return named[other]
    return MISSING
