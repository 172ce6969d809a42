"""`__torch_function__`: classes of a program's own that take functions of torch over.

A function asks the innermost mode, then the arguments whose class has `__torch_function__`, before
it computes anything (python_arg_parser.cpp, `handle_torch_function_no_python_arg_parser`, and
torch/overrides.py). The parsed functions and Python's operators do so themselves, the functions
that torch writes in Python and the other methods of tensors by `impl.tensor.overridable`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any

import numpy as np

from impl.core import messages
from impl.core.devices import device
from impl.core.dtypes import FLOATING, dtype
from impl.core.registry import FUNCTIONS, method_of, tensor_ops
from impl.core.sizes import Size
from impl.core.state import STATE
from impl.core.warning import warn, warn_once
from impl.tensor.batched_tensor import BatchedTensor
from impl.tensor.dispatching import DisabledHandler, note
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.legacy_batched_tensor import Batched
from impl.tensor.sparse_tensor import SparseTensor
from impl.tensor.tensor import PLAIN, Tensor, _TensorMeta, blank, copy_fields

# The classes that are looked at no further: they have no `__torch_function__` of a program.
SILENT = {bool, int, float, complex, str, NoneType, slice, dict, type(...), np.ndarray}
SILENT |= {device, dtype, Size, type, LazyConjTensor, SparseTensor, Batched, BatchedTensor}
_PLAIN_METHOD = (
    "Defining your `__torch_function__{} as a plain method is deprecated and will be an error in "
    "future, please define it as a classmethod."
)
_NO_SUBCLASS = (
    "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
    "Make sure your class inherits from Tensor."
)


class DisableTorchFunctionSubclass:
    """While it is entered, no class is asked (torch._C.DisableTorchFunctionSubclass). Arguments
    are without effect."""

    def __init__(self, *args, **named) -> None:
        pass

    def __enter__(self) -> None:
        self._before = STATE.torch_function
        STATE.torch_function = False

    def __exit__(self, *exc) -> None:
        STATE.torch_function = self._before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """While it is entered, neither a class nor a mode is asked (torch._C.DisableTorchFunction)."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes = STATE.function_modes
        STATE.function_modes = ()

    def __exit__(self, *exc) -> None:
        STATE.function_modes = self._modes
        super().__exit__(*exc)


# The `__torch_function__` of classes that take nothing over, such as Parameter
# (torch._C._disabled_torch_function_impl).
disabled = DisabledHandler("_disabled_torch_function_impl", DisableTorchFunctionSubclass)
_TensorMeta._disabled = disabled


def overrides(value) -> bool:
    """Whether the class of a value takes functions over."""
    kind = type(value)
    if kind in PLAIN or kind in SILENT or kind is list or kind is tuple:
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
        elif kind not in PLAIN and kind not in SILENT and overrides(value):
            insert(found, value)
    return found


def asked_for(values: Iterable[Any]) -> list | None:
    """The result of `overriding`; None where neither a class nor a mode is asked."""
    found = overriding(values) if STATE.torch_function else []
    return found if found or STATE.function_modes else None


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
    """The result of the innermost mode, or of the first of the classes that takes the function
    over.

    Raises TypeError where all of them return NotImplemented.
    """
    given = (args, named) if named else (args,)
    _warn_of_plain_methods(asked, functools.partial(warn_once, _PLAIN_METHOD.format("`")))
    result = _answer(function, asked, given)
    if result is not NotImplemented:
        return result
    raise unanswered("__torch_function__", title, STATE.function_modes[-1:], asked)


def _warn_of_plain_methods(asked: list, warning: Callable[[], None]) -> None:
    """Warn of a `__torch_function__` that is bound to a value that is asked."""
    for value in asked:
        if getattr(value.__torch_function__, "__self__", None) is value:
            warning()


def unanswered(protocol: str, title: str, modes: tuple, asked: list) -> TypeError:
    """The error where the handlers of a mode and of classes have all returned NotImplemented."""
    lines = [f"  - mode object {mode!r}" for mode in modes]
    lines += [f"  - tensor subclass {type(value)!r}" for value in asked]
    return TypeError(
        f"Multiple dispatch failed for '{title}'; all {protocol} handlers returned "
        "NotImplemented:\n\n" + "\n".join(lines) + "\n\nFor more information, try re-running with "
        "TORCH_LOGS=not_implemented"
    )


def _answer(function, asked: list, given: tuple):
    """The result of the innermost mode, else of the first class, that is not NotImplemented. A mode
    is not active in its own handler."""
    types = tuple(map(type, asked))
    modes = STATE.function_modes
    if modes:
        STATE.function_modes = modes[:-1]
        try:
            result = modes[-1].__torch_function__(function, types, *given)
        finally:
            STATE.function_modes = modes
        if result is not NotImplemented:
            return result
    for value in asked:
        result = value.__torch_function__(function, types, *given)
        if result is not NotImplemented:
            return result
    return NotImplemented


def handle_torch_function(
    public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """The result of the innermost mode, or of the first of the arguments' classes that takes a
    function over, which one written in Python calls (torch.overrides.handle_torch_function).

    Raises TypeError where all of them return NotImplemented.
    """
    asked: list = []
    if STATE.torch_function:
        for value in relevant_args:
            handler = getattr(type(value), "__torch_function__", disabled)
            if handler is not disabled:
                insert(asked, value)
    _warn_of_plain_methods(
        asked, functools.partial(warn, _PLAIN_METHOD.format(""), DeprecationWarning)
    )
    result = _answer(public_api, asked, (args, kwargs))
    if result is not NotImplemented:
        return result
    module = public_api.__module__.replace("impl", "torch", 1)
    where = f" nor in mode {STATE.function_modes[-1]}" if STATE.function_modes else ""
    raise TypeError(
        f"no implementation found for '{module}.{public_api.__name__}' on types "
        f"that implement __torch_function__: {list(map(type, asked))}{where}"
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
    check_class(cls)
    with DisableTorchFunctionSubclass():
        return of_class(tensor_ops.alias(self), cls)


def _make_subclass(cls, data, require_grad: bool = False) -> Any:
    """A detached alias of another class (torch.Tensor._make_subclass)."""
    check_class(cls)
    if not isinstance(data, Tensor):
        raise TypeError(
            "_make_subclass(): argument 'data' (position 2) must be Tensor, not "
            f"{type(data).__name__}"
        )
    with DisableTorchFunctionSubclass():
        result = of_class(data.detach(), cls)
        if require_grad and result.dtype.category < FLOATING:
            raise RuntimeError(messages.ONLY_FLOATING)
        result.requires_grad = require_grad
        return result


Tensor._make_subclass = staticmethod(_make_subclass)


def check_class(cls) -> None:
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
    note(result)
    return result
