"""The functions and methods that classes and modes may take over, and that no parser stands before.

Functions that torch writes in Python have the decorator `overridable`. The methods that ask are in
`Overridable`, which stands before Tensor in the classes that are derived from it, so that tensors
pay nothing; while a mode is active they stand in Tensor itself.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from impl.core.sizes import Size
from impl.core.state import STATE
from impl.core.tensor_impl import TensorBase
from impl.tensor.function_modes import shortcut
from impl.tensor.tensor import PLAIN, Tensor, _TensorMeta
from impl.tensor.torch_function import (
    SILENT,
    ask,
    asked_for,
    handle_torch_function,
    overrides,
)

# -- functions that torch writes in Python --------------------------------------------------------

# The types of arguments that are looked at no further; none while a mode is active.
_QUIET: set[type] = set()


def overridable(*relevant: str, by_name: bool = False):
    """Decorator of a function that modes, and the classes of the arguments of these names, may take
    over. They get the arguments that have no default by position and the others `by_name`, or all
    of them."""

    def define(call):
        signature = inspect.signature(call)
        usual = _QUIET.issuperset

        @functools.wraps(call)
        def function(*args, **named):
            if usual(map(type, args)) and (not named or usual(map(type, named.values()))):
                return call(*args, **named)
            if asked_for((*args, *named.values())) is None:
                return call(*args, **named)
            try:
                given = signature.bind(*args, **named)
            except TypeError:
                return call(*args, **named)
            given.apply_defaults()
            asked = list(elements(given.arguments[name] for name in relevant))
            if not has_torch_function(asked):
                return call(*args, **named)
            if by_name:
                return handle_torch_function(function, asked, **given.arguments)
            positional, keywords = _divided(given)
            return handle_torch_function(function, asked, *positional, **keywords)

        function.__module__ = _public_module(call.__module__)
        return function

    return define


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is active, or the class of one of the arguments takes functions
    over."""
    if STATE.function_modes:
        return True
    return STATE.torch_function and any(map(overrides, relevant_args))


def elements(values: Iterable[Any]) -> Iterator[Any]:
    """The values, and in the place of sequences their elements."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from value
        else:
            yield value


def _divided(given: inspect.BoundArguments) -> tuple[list, dict]:
    """The arguments that have no default, and those that have one by their names."""
    positional: list = []
    keywords = {}
    for name, parameter in given.signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += given.arguments[name]
        elif parameter.default is parameter.empty:
            positional.append(given.arguments[name])
        else:
            keywords[name] = given.arguments[name]
    return positional, keywords


def _public_module(module: str) -> str:
    """The module by which a function is known: of the layers' functions torch.nn.functional."""
    if module.startswith("impl.nn.") and module != "impl.nn.init":
        return "impl.nn.functional"
    return "impl.functional" if module.startswith("impl._") else module


# -- the methods of tensors -----------------------------------------------------------------------


class Overridable:
    """The methods that a class derived from Tensor inherits before those of Tensor: each asks the
    classes of its arguments first."""

    __slots__ = ()

    def __iter__(self) -> Any:
        return iter(self.unbind(0))  # type: ignore[attr-defined]


_TensorMeta._overridable = Overridable
_DUNDERS = (
    *("__abs__", "__array__", "__array_wrap__", "__bool__", "__complex__", "__contains__"),
    *("__deepcopy__", "__dir__", "__float__", "__format__", "__index__", "__int__", "__invert__"),
    *("__len__", "__neg__", "__pos__", "__reduce_ex__", "__repr__", "__reversed__"),
)
# The methods that torch writes in Python, which hand arguments on as functions do.
_WRITTEN_IN_PYTHON = {
    *("__array__", "__array_wrap__", "__contains__", "__deepcopy__", "__dir__", "__format__"),
    *("__len__", "__reduce_ex__", "__repr__", "__reversed__", "backward", "dim_order"),
    *("is_shared", "istft", "lu", "module_load", "norm", "register_hook"),
    *("register_post_accumulate_grad_hook", "resize", "resize_as", "share_memory_", "split"),
    *("stft", "storage", "storage_type", "unflatten", "unique", "unique_consecutive"),
}
_PRIVATE = ("_base", "_grad", "_is_view", "_version")


# The members of Tensor while a mode is active, beside those of `Overridable`: operators, which ask
# by themselves, but never for plain tensors.
OPERATORS: dict[str, Any] = {}
# The members of Tensor that these stand in for meanwhile.
_hidden: dict[str, Any] = {}


def complete() -> None:
    """Give `Overridable` the methods and properties of tensors that do not ask by themselves, and
    each method the name by which a handler knows it; and open the short cuts past the question."""
    for owner in (TensorBase, Tensor):
        for name, member in list(vars(owner).items()):
            if isinstance(member, FunctionType) and _is_misnamed(member, owner):
                member.__name__, member.__qualname__ = name, f"Tensor.{name}"
            public = not name.startswith("_") or name in _DUNDERS or name in _PRIVATE
            if not public or hasattr(member, "_asks"):
                continue
            if isinstance(member, property):
                setattr(Overridable, name, _asking_property(member, name))
            elif callable(member):
                setattr(Overridable, name, _asking_method(member, name))
    shortcut(_close, _open)
    _open()


def _close() -> None:
    _QUIET.clear()
    for name, member in {**vars(Overridable), **OPERATORS}.items():
        if name in OPERATORS or isinstance(member, property) or hasattr(member, "__wrapped__"):
            if name in vars(Tensor):
                _hidden[name] = vars(Tensor)[name]
            setattr(Tensor, name, member)


def _open() -> None:
    _QUIET.update(SILENT, PLAIN, (list, tuple, Size))
    for name, member in {**vars(Overridable), **OPERATORS}.items():
        if name in _hidden:
            setattr(Tensor, name, _hidden.pop(name))
        elif vars(Tensor).get(name) is member:
            delattr(Tensor, name)


def _is_misnamed(function, owner: type) -> bool:
    own = vars(owner).get(function.__name__) is function
    return not own or "." not in function.__qualname__


def _asking_method(function, name: str):
    signature = inspect.signature(function)
    alone = len(signature.parameters) == 1
    in_python = name in _WRITTEN_IN_PYTHON

    @functools.wraps(function)
    def method(self, *args, **named):
        values = (self, *args)
        others = () if in_python else (*args, *named.values())  # none of which may be a tensor
        asked = asked_for((self, *(v for v in others if not isinstance(v, Tensor))))
        if asked is None:
            return function(self, *args, **named)
        public = getattr(Tensor, name)
        if not in_python:
            return ask(public, f"torch.Tensor.{name}", asked or [self] * alone, values, named)
        given = signature.bind(self, *args, **named)
        given.apply_defaults()
        positional, keywords = _divided(given)
        return handle_torch_function(public, (self,), *positional, **keywords)

    method.__module__ = "impl._tensor"
    return method


def _asking_property(member: property, name: str):
    def asked(kind: str, *values):
        asked = asked_for(values)
        if asked is None:
            return getattr(member, kind)(*values)
        public = getattr(getattr(Tensor, name), kind)
        return ask(public, f"torch.Tensor.{name}.{kind}", asked or [values[0]], values, {})

    return property(
        lambda self: asked("__get__", self),
        lambda self, value: asked("__set__", self, value),
        lambda self: asked("__delete__", self),
        member.__doc__,
    )
