"""The operators of ATen that those of the implementation stand for: `torch.ops.aten`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import resources
from typing import Any

from impl.core.registry import FUNCTIONS, OPERATORS
from impl.dispatch.kernel_parameters import signature_of
from impl.dispatch.op_overload import OpOverload, namespace
from impl.tensor.tensor import Tensor

# Comparisons and logic, for which ATen has an overload of its own for a number.
_OF_NUMBERS = {"eq", "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor"}
# The parameters that ATen takes by keyword only.
_KEYWORDS = {
    *("alpha", "beta", "correction", "dtype", "generator", "include_self", "memory_format"),
    *("non_blocking", "rounding_mode", "stable", "value"),
}


@functools.cache
def _names() -> dict[str, tuple[str, str]]:
    """ATen's names of the operators whose own name, or whose overload, is another."""
    text = resources.files(__package__).joinpath("aten_names.txt").read_text()
    lines = (line.split() for line in text.splitlines())
    return {name: tuple(known.rsplit(".", 1)) for name, known in lines}  # type: ignore[misc]


@functools.cache
def _registered() -> dict[int, str]:
    return {id(op): name for name, op in OPERATORS.items()}


def _name_of(op) -> tuple[str, str]:
    """ATen's name of an operator, and of its overload."""
    name = _registered().get(id(op), op.name)
    return _names().get(name, (name, "default"))


def shown_name(op) -> str:
    """ATen's name of an operator as its errors and warnings show it, without a default overload."""
    name, overload = _name_of(op)
    return name if overload == "default" else f"{name}.{overload}"


def overload_of(op, args: tuple, written: bool = False) -> OpOverload:
    """The overload that a call of an operator stands for; `written` is for a call in place."""
    name, overload = _name_of(op)
    if name in _OF_NUMBERS and not isinstance(args[1], Tensor):
        overload = "Scalar"
    packet = namespace("aten").packet(name + "_" if written else name)
    if overload in packet.overloads():
        return getattr(packet, overload)
    return packet.define(overload, op.inplace if written else _by_name(op))


def given(op, args: tuple) -> tuple[tuple, dict]:
    """The arguments of a call as ATen gets them: without trailing defaults, and by name where they
    have one only."""
    parameters = list(signature_of(op.definition).parameters.values())
    named = {}
    positional = list(args)
    while positional:
        parameter, value = parameters[len(positional) - 1], positional[-1]
        known = type(value) in (bool, int, float, str, type(None))
        is_default = known and type(value) is type(parameter.default) and value == parameter.default
        if parameter.name in _KEYWORDS and not is_default:
            named[parameter.name] = value
        elif not is_default:
            break
        positional.pop()
    return tuple(positional), named


def _by_name(op) -> Callable[..., Any]:
    """The call of an operator whose arguments may be given by name."""

    def call(*args, **named):
        if named:
            parameters = signature_of(op.definition).parameters.values()
            kinds = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in parameters]
            bound = inspect.Signature(kinds).bind(*args, **named)
            bound.apply_defaults()
            args = bound.args
        return op(*args)

    return call


def publish() -> None:
    """Define `torch.ops.aten` from the operators that there are, and `detach`."""
    namespace("aten").packet("detach").define("default", Tensor.detach)
    shared: dict[tuple[str, str], list] = {}
    for op in OPERATORS.values():
        name, overload = _name_of(op)
        shared.setdefault((name, overload), []).append(op)
    for (name, overload), ops in shared.items():
        call = _by_name(ops[0])
        _define(name, overload, call if len(ops) == 1 else FUNCTIONS.get(name, call))
        if name in _OF_NUMBERS:
            _define(name, "Scalar", FUNCTIONS[name])


def _define(name: str, overload: str, call: Any) -> None:
    aten = namespace("aten")
    aten.packet(name).define(overload, call)
    inplace = getattr(Tensor, f"{name}_", None)
    if inplace is not None:
        aten.packet(f"{name}_").define(overload, inplace)
