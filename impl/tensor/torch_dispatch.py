"""`__torch_dispatch__`: classes of a program's own that operators ask below autograd.

An operator asks the innermost TorchDispatchMode, then the tensors among its arguments whose class
has `__torch_dispatch__`, in the place of its kernel, and records their answer as its result
(python_arg_parser.cpp, PythonFallbackKernel.cpp). A wrapper subclass has no memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.below_autograd import BelowAutograd
from impl.core.devices import CPU, device, is_meta_device
from impl.core.dtypes import FLOATING, dtype, get_default_dtype
from impl.core.meta_arrays import meta_strided
from impl.core.named_types import type_name
from impl.core.state import STATE
from impl.core.storage import Replaced
from impl.core.strides import contiguous_strides
from impl.core.wrapper_arrays import wrapper_array
from impl.tensor.dispatching import disabled, note, set_modes
from impl.tensor.tensor import DISPATCHING, Tensor, blank
from impl.tensor.torch_function import check_class, insert, unanswered


def asked_of(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among values, and elements of lists, whose classes are asked, in that order: one
    for each class, a derived class before its base."""
    found: list[Tensor] = []
    if not STATE.torch_dispatch:
        return found
    for value in values:
        kind = type(value)
        if kind in DISPATCHING:
            insert(found, value)
        elif kind is list or kind is tuple:
            for element in value:
                if type(element) in DISPATCHING:
                    insert(found, element)
    return found


def asks(values: Iterable[Any]) -> bool:
    """Whether a mode is asked for a call with these arguments, or the class of one of them: not for
    the kernel of a sampler, whose draws are arrays."""
    if STATE.dispatch_modes:
        return not any(isinstance(value, np.ndarray) for value in values)
    return bool(DISPATCHING) and bool(asked_of(values))


def dispatched(overload, args: tuple, named: dict | None = None) -> Any:
    """The result for an operator of the innermost mode, or of the first class that is asked and
    takes it over; or of the operator itself, where there is none.

    A mode is not active in its own handler, nor is an autocast block. Raises TypeError where all
    return NotImplemented.
    """
    named = {} if named is None else named
    asked = asked_of((*args, *named.values())) if DISPATCHING else []
    modes = STATE.dispatch_modes
    with BelowAutograd():
        if not (modes or asked):
            return overload(*args, **named)
        within, block, spelled = STATE.within_dispatch, STATE.autocast, STATE.spelled
        STATE.within_dispatch, STATE.autocast, STATE.spelled = True, None, None
        STATE.fast_path_blockers -= block is not None
        try:
            result = _answer(overload, asked, modes, args, named)
        finally:
            STATE.within_dispatch, STATE.autocast, STATE.spelled = within, block, spelled
            STATE.fast_path_blockers += block is not None
    if result is NotImplemented:
        raise unanswered("__torch_dispatch__", f"torch._ops.{overload}", modes[-1:], asked)
    return result


def _answer(overload, asked: list[Tensor], modes: tuple, args: tuple, named: dict) -> Any:
    types, rules = tuple(map(type, asked)), overload.torch_dispatch_rules
    if modes:
        rule = rules.get(type(modes[-1]))
        handler = partial(rule, modes[-1]) if rule else modes[-1].__torch_dispatch__
        set_modes(modes[:-1])
        try:
            result = handler(overload, types, args, named)
        finally:
            set_modes(modes)
        if result is not NotImplemented:
            return result
    for tensor in asked:
        handler = rules.get(type(tensor)) or tensor.__torch_dispatch__
        result = handler(overload, types, args, named)
        if result is not NotImplemented:
            return result
    return NotImplemented


def share_version(result: Tensor, tensor: Tensor) -> None:
    """Give an alias that a handler made of a tensor the version counter of that."""
    if result._storage is not tensor._storage:
        result._storage = Replaced(result._storage, tensor._storage)


# -- tensors without memory ------------------------------------------------------------------------


def _make_wrapper_subclass(
    cls,
    size,
    *,
    strides=None,
    storage_offset=None,
    memory_format=None,
    dtype: dtype | None = None,
    layout=None,
    device: device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **policies,
) -> Any:
    """A tensor of a class with `__torch_dispatch__` that has sizes, but no memory. A memory format
    says nothing about its strides. Raises RuntimeError for an offset without strides
    (torch.Tensor._make_wrapper_subclass)."""
    check_class(cls)
    if getattr(cls, "__torch_dispatch__", disabled) is disabled:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            "_make_wrapper_subclass(): argument 'size' (position 2) must be tuple of ints, not "
            f"{type_name(size)}"
        )
    kind = get_default_dtype() if dtype is None else dtype
    shape, row_major = tuple(size), contiguous_strides(tuple(size))
    steps = tuple(strides) if strides is not None else row_major
    if storage_offset is not None and strides is None:
        raise RuntimeError("setting storage offset without stride not supported")
    on_meta = is_meta_device(CPU if device is None else device)
    make = meta_strided if on_meta else wrapper_array
    result = blank(cls)
    result._raw = make(shape, np.dtype(kind.numpy), None if steps == row_major else steps)
    result._strides = steps if on_meta or steps != row_major else None
    if storage_offset:
        result._offset = storage_offset
    if STATE.inference:
        inference_mode.mark(result)
    note(result)
    if requires_grad and kind.category < FLOATING:
        raise RuntimeError(messages.ONLY_FLOATING)
    result._requires_grad = requires_grad
    return result


Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)
