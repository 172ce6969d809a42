"""`__torch_function__`: classes of a program's own that take functions of torch over.

A function asks the arguments whose class has `__torch_function__` before it computes anything
(python_arg_parser.cpp, `handle_torch_function_no_python_arg_parser`). The parsed functions and
Python's operators do so themselves; the other methods of tensors are asked for by `Overridable`,
which stands before Tensor in the classes that are derived from it, so that tensors pay nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from types import FunctionType, NoneType
from typing import Any

import numpy as np

from impl.core.devices import device
from impl.core.dtypes import dtype
from impl.core.registry import FUNCTIONS, method_of, tensor_ops
from impl.core.sizes import Size
from impl.core.state import STATE
from impl.core.tensor_impl import TensorBase
from impl.tensor.batched_tensor import Batched
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.sparse_tensor import SparseTensor
from impl.tensor.tensor import PLAIN, Tensor, _TensorMeta, blank, copy_fields

# The classes that are looked at no further: they have no `__torch_function__` of a program.
_SILENT = {bool, int, float, complex, str, NoneType, slice, dict, type(...), np.ndarray}
_SILENT |= {device, dtype, Size, type, LazyConjTensor, SparseTensor, Batched}
_NO_SUBCLASS = (
    "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
    "Make sure your class inherits from Tensor."
)


class DisableTorchFunctionSubclass:
    """While it is entered, no class is asked (torch._C.DisableTorchFunctionSubclass)."""

    def __enter__(self) -> None:
        self._before = STATE.torch_function
        STATE.torch_function = False

    def __exit__(self, *exc) -> None:
        STATE.torch_function = self._before


def disabled(func, types, args=(), kwargs=None):
    """The `__torch_function__` of classes that take nothing over, such as Parameter
    (torch._C._disabled_torch_function_impl)."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def overrides(value) -> bool:
    """Whether the class of a value takes functions over."""
    kind = type(value)
    if kind in PLAIN or kind in _SILENT or kind is list or kind is tuple:
        return False
    handler = getattr(value, "__torch_function__", None)
    return handler is not None and handler is not disabled


def overriding(values: Iterable[Any]) -> list:
    """The values, and elements of lists, whose classes take functions over, in the order in which
    they are asked: one for each class, a derived class before its base."""
    found: list = []
    for value in values:
        kind = type(value)
        if kind is list or kind is tuple:
            for element in value:
                if overrides(element):
                    insert(found, element)
        elif kind not in PLAIN and kind not in _SILENT and overrides(value):
            insert(found, value)
    return found


def insert(found: list, value) -> None:
    """Add a value whose class is asked, unless one of the class is there: before those of classes
    that its class is derived from."""
    kind = type(value)
    if any(type(other) is kind for other in found):
        return
    for place, other in enumerate(found):
        if issubclass(kind, type(other)):
            found.insert(place, value)
            return
    found.append(value)


def ask(function, title: str, asked: list, args: tuple, named: dict):
    """The result of the first of the classes that takes the function over.

    Raises TypeError where all of them return NotImplemented.
    """
    types = tuple(map(type, asked))
    given = (function, types, args, named) if named else (function, types, args)
    for value in asked:
        result = value.__torch_function__(*given)
        if result is not NotImplemented:
            return result
    lines = [
        f"  - {'tensor subclass' if isinstance(value, Tensor) else 'object'} {type(value)!r}"
        for value in asked
    ]
    raise TypeError(
        f"Multiple dispatch failed for '{title}'; all __torch_function__ handlers returned "
        "NotImplemented:\n\n" + "\n".join(lines) + "\n\nFor more information, try re-running with "
        "TORCH_LOGS=not_implemented"
    )


def asking(function):
    """Mark a function that asks the classes of its arguments itself, or never."""
    function._asks = True
    return function


# -- the class of tensors -----------------------------------------------------------------------


def _torch_function(cls, func, types, args=(), kwargs=None):
    """Call the function, and give its results the class (torch.Tensor.__torch_function__)."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in kept_getters() else _converted(result, cls)


Tensor.__torch_function__ = classmethod(_torch_function)


@functools.cache
def kept_getters() -> tuple:
    """The getters whose results keep their class (torch.overrides.get_default_nowrap_functions)."""
    getters: Any = Tensor
    return getters._base.__get__, getters.grad.__get__, getters._grad.__get__


def _converted(result, cls):
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return as_subclass(result, cls)
    if isinstance(result, (tuple, list)):
        return type(result)([_converted(element, cls) for element in result])
    return result


@method_of(Tensor)
@asking
def as_subclass(self, cls) -> Any:
    """A view of the whole tensor that has a class derived from Tensor (Tensor.as_subclass)."""
    _check_class(cls)
    with DisableTorchFunctionSubclass():
        return of_class(tensor_ops.alias(self), cls)


def _make_subclass(cls, data, require_grad: bool = False) -> Any:
    """A detached alias of another class (torch.Tensor._make_subclass)."""
    _check_class(cls)
    with DisableTorchFunctionSubclass():
        result = of_class(data.detach(), cls)
        result.requires_grad = require_grad
        return result


Tensor._make_subclass = staticmethod(_make_subclass)


def _check_class(cls) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(_NO_SUBCLASS)


def of_class(tensor: Tensor, cls: type) -> Any:
    """A new tensor that nothing else holds, as one of another class."""
    if cls is Tensor:
        return tensor
    if isinstance(tensor, LazyConjTensor):  # whose own class has the bits: they are resolved
        tensor = FUNCTIONS["resolve_neg"](FUNCTIONS["resolve_conj"](tensor))
    result = blank(cls)
    copy_fields(result, tensor)
    return result


# -- the methods of derived classes -------------------------------------------------------------


class Overridable:
    """The methods that a class derived from Tensor inherits before those of Tensor: each asks the
    classes of its arguments first."""

    __slots__ = ()

    def __iter__(self) -> Any:
        return iter(self.unbind(0))  # type: ignore[attr-defined]


_TensorMeta._overridable = Overridable
_DUNDERS = (
    *("__abs__", "__array__", "__array_wrap__", "__bool__", "__complex__", "__contains__"),
    *("__deepcopy__", "__float__", "__format__", "__index__", "__int__", "__invert__"),
    *("__len__", "__neg__", "__pos__", "__reduce_ex__", "__repr__", "__reversed__"),
)
_PRIVATE = ("_base", "_grad", "_is_view", "_version")


def complete() -> None:
    """Give `Overridable` the methods and properties of tensors that do not ask by themselves, and
    each method the name by which a handler knows it."""
    for owner in (TensorBase, Tensor):
        for name, member in list(vars(owner).items()):
            if isinstance(member, FunctionType) and _is_misnamed(member, owner):
                member.__name__, member.__qualname__ = name, f"Tensor.{name}"
            public = not name.startswith("_") or name in _DUNDERS or name in _PRIVATE
            if not public or hasattr(member, "_asks"):
                continue
            if isinstance(member, property):
                setattr(Overridable, name, _asking_property(member))
            elif callable(member):
                setattr(Overridable, name, _asking_method(member, name))


def _is_misnamed(function, owner: type) -> bool:
    own = vars(owner).get(function.__name__) is function
    return not own or "." not in function.__qualname__


def _asking_method(function, name: str):
    @functools.wraps(function)
    def method(self, *args, **named):
        if STATE.torch_function:
            values = (self, *args)
            if asked := overriding((*values, *named.values())):
                return ask(function, f"torch.Tensor.{name}", asked, values, named)
        return function(self, *args, **named)

    return method


def _asking_property(member: property):
    def get(self):
        if STATE.torch_function and (asked := overriding((self,))):
            return ask(member.__get__, "torch.Tensor.__get__", asked, (self,), {})
        return member.__get__(self)

    def put(self, value):
        if STATE.torch_function and (asked := overriding((self, value))):
            return ask(member.__set__, "torch.Tensor.__set__", asked, (self, value), {})
        return member.__set__(self, value)

    def remove(self):
        if STATE.torch_function and (asked := overriding((self,))):
            return ask(member.__delete__, "torch.Tensor.__delete__", asked, (self,), {})
        return member.__delete__(self)

    return property(get, put, remove, member.__doc__)
