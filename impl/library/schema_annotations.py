"""Schemas of operators read from the annotations of a function (torch/_library/infer_schema.py)."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from impl.core.devices import device
from impl.core.dtypes import dtype
from impl.library.schema import NO_DEFAULT, Argument, FunctionSchema, Result
from impl.tensor.tensor import Tensor

# For each type of a parameter its name, and whether there are lists of it, lists of it or None, and
# lists or None.
_TYPES: tuple[tuple[Any, str, bool, bool, bool], ...] = (
    (Tensor, "Tensor", True, True, True),
    (int, "SymInt", True, False, True),
    (float, "float", True, False, True),
    (bool, "bool", True, False, True),
    (str, "str", False, False, False),
    (int | float | bool, "Scalar", True, False, False),
    (dtype, "ScalarType", False, False, False),
    (device, "Device", False, False, False),
)
# The older spellings of lists and sequences in annotations.
_OLD_LIST, _OLD_SEQUENCE = vars(typing)["List"], vars(typing)["Sequence"]
_RESULTS: dict[Any, str] = {
    **{Tensor: "Tensor", _OLD_LIST[Tensor]: "Tensor[]", list[Tensor]: "Tensor[]"},
    **{int: "SymInt", float: "float", bool: "bool", int | float | bool: "Scalar"},
}


def _parameter_types() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for kind, name, lists, lists_of_optional, optional_lists in _TYPES:
        found[kind] = name
        found[typing.Optional[kind]] = f"{name}?"  # noqa: UP045
        for is_there, element, suffix in ((lists, kind, ""), (lists_of_optional, kind | None, "?")):
            if is_there:
                for generic in (_OLD_SEQUENCE, _OLD_LIST, collections.abc.Sequence, list):
                    found[generic[element]] = f"{name}{suffix}[]"
                    if optional_lists:
                        found[typing.Optional[generic[element]]] = f"{name}{suffix}[]?"  # noqa: UP045
    return found


PARAMETER_TYPES = _parameter_types()


def infer_schema(
    prototype_function: Callable,
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema of a function with annotations, as a text (torch.library.infer_schema).

    Args:
        mutates_args: the names of the tensors that it changes in place, or "unknown" for all.
        op_name: the name at the beginning of the text.

    Raises ValueError for annotations, defaults and parameters that a schema has no words for.
    """
    return schema_of(op_name or "", prototype_function, mutates_args).annotation()


def schema_of(name: str, function: Callable, mutates_args: str | Iterable[str]) -> FunctionSchema:
    """The schema of a function with annotations; arguments and errors as `infer_schema`."""
    signature = inspect.signature(function)

    def refuse(problem: str) -> typing.NoReturn:
        text = f"infer_schema(func): {problem} Got func with signature {signature})"
        raise ValueError(text.replace("impl.", "torch."))

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated "
            "or the string 'unknown'. "
        )
    mutated = None if mutates_args == "unknown" else set(mutates_args)
    arguments = []
    for place, parameter in enumerate(signature.parameters.values()):
        kind = _type_of(parameter, function, refuse)
        writes = "Tensor" in kind if mutated is None else parameter.name in mutated
        if writes and not kind.startswith("Tensor"):
            refuse(
                f"Parameter {parameter.name} is in mutable_args but only Tensors or collections of "
                "Tensors can be mutated"
            )
        alias = f"a{place}!" if writes else None
        only = parameter.kind is parameter.KEYWORD_ONLY
        arguments.append(Argument(parameter.name, kind, parameter.default, only, alias))
    unknown = (mutated or set()) - set(signature.parameters)
    if unknown:
        refuse(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args "
            "should contain the names of all args that the custom op mutates, or just the string "
            "'unknown' if you don't know."
        )
    returns = _returned(_evaluated(signature.return_annotation, function), refuse)
    return FunctionSchema(name, arguments, returns)


def _evaluated(annotation: Any, function: Callable) -> Any:
    if isinstance(annotation, str):
        return eval(annotation, getattr(function, "__globals__", {}))
    return annotation


def _type_of(parameter: inspect.Parameter, function: Callable, refuse: Callable) -> str:
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        refuse("We do not support positional-only args, varargs, or varkwargs.")
    if parameter.annotation is parameter.empty:
        refuse(f"Parameter {name} must have a type annotation.")
    kind = PARAMETER_TYPES.get(_evaluated(parameter.annotation, function))
    if kind is None:
        advice = ""
        if typing.get_origin(parameter.annotation) is tuple:
            advice = (
                "We do not support Tuple inputs in schema. As a workaround, please try to use List "
                "instead. "
            )
        refuse(
            f"Parameter {name} has unsupported type {parameter.annotation}. {advice}"
            f"The valid types are: {PARAMETER_TYPES.keys()}."
        )
    default = parameter.default
    allowed = (type(None), int, float, bool, str, device, dtype)
    if default is not parameter.empty and not isinstance(default, allowed):
        refuse(
            f"Parameter {name} has an unsupported default value type {type(default)}. Please file "
            "an issue on GitHub so we can prioritize this."
        )
    return str(kind)


def _returned(annotation: Any, refuse: Callable) -> list[Result]:
    if annotation is None or annotation is types.NoneType:
        return []
    if annotation is NO_DEFAULT:
        refuse("No return type annotation was provided. Please add one.")
    parts = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
    for part in parts:
        if part not in _RESULTS:
            refuse(f"Return has unsupported type {annotation}. The valid types are: {_RESULTS}.")
    names = [_RESULTS[part] for part in parts]
    if len(names) == 1 and parts != (annotation,):
        return [Result(f"({names[0]})")]
    return [Result(name) for name in names]
