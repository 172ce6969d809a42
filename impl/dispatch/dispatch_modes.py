"""Operators that a mode or a class takes over below autograd (`impl.tensor.torch_dispatch`).

An operator is recorded outside the handler, which runs below autograd: its answer is the result of
the operator, and gets the history. Operators of the implementation are seen as those of
ATen that they stand for. The kernels of factories that are given no tensor, and gradient formulas
on arrays, are not seen.
"""

from __future__ import annotations

from typing import Any

from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.dispatch.aten import given, out_overload, overload_of
from impl.dispatch.op_overload import namespace
from impl.tensor.dispatching import set_modes
from impl.tensor.tensor import Tensor
from impl.tensor.torch_dispatch import dispatched, share_version


class TorchDispatchMode:
    """Base class of modes; while one is entered, each operator that is called in this thread
    becomes a call of its `__torch_dispatch__` (torch.utils._python_dispatch.TorchDispatchMode).

    Of nested modes the innermost is called, and is not active in its own handler.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """The result of `func(*args, **kwargs)`; `func` is an OpOverload."""
        raise NotImplementedError

    def __enter__(self):
        set_modes((*STATE.dispatch_modes, self))
        return self

    def __exit__(self, *exc: Any) -> None:
        set_modes(STATE.dispatch_modes[:-1])


def called(op, args: tuple, written: bool = False) -> Any:
    """The result of a handler for a call of an operator, `written` for one in place."""
    return dispatched(overload_of(op, args, written), *given(op, args))


def called_out(op, args: tuple, out: Tensor) -> Any:
    """The result of a handler for a call of an operator with `out=`."""
    positional, named = given(op, args)
    return dispatched(out_overload(op, args), positional, {**named, "out": out})


def checked(result: Any) -> Tensor | None:
    """The tensor, or None, that a handler returned. Raises RuntimeError for anything else."""
    if result is None or isinstance(result, Tensor):
        return result
    raise RuntimeError(f"Unable to cast {result} to Tensor")


def called_aten(name: str, *args: Any, overload: str = "default", **named: Any) -> Any:
    """The result of a handler for an operator of ATen that none of the implementation is."""
    return dispatched(getattr(namespace("aten").packet(name), overload), args, named)


def _detach(tensor: Tensor) -> Tensor:
    """An alias without history that shares the version counter, made by the tensor's class."""
    result = called_aten("detach", tensor)
    share_version(result, tensor)
    return result


def _like(name: str, *args: Any, **named: Any) -> Any:
    """The result of a factory that a program calls with a tensor whose class is asked."""
    order = ("dtype", "layout", "device", "pin_memory", "memory_format")
    given = {"pin_memory": False, **named}
    return called_aten(
        name, *args, **{key: given[key] for key in order if given.get(key) is not None}
    )


tensor_ops.dispatched_detach = _detach
tensor_ops.dispatched_like = _like
tensor_ops.dispatched_aten = called_aten
