"""Operators that a mode or a class takes over below autograd (`impl.tensor.torch_dispatch`).

An operator is recorded outside the handler, which runs below autograd: its answer is the result of
the operator, and gets the history. Operators of the implementation, and factories, are seen as
those of ATen that they stand for; in a mode a pass runs formulas on tensors, so that it is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import BoundArguments
from typing import Any

from impl.core.devices import default_device
from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.dispatch.aten import (
    factory_overload,
    given,
    out_overload,
    overload_of,
    sampler_arguments,
    sampler_overload,
)
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


@dataclass(frozen=True)
class Draw:
    """The last operand of a sampler's operator, in the place of the samples, where a handler draws.

    `name` is ATen's, with the overload; `numbers` are the arguments behind the tensors.
    """

    name: str
    numbers: tuple = ()
    generator: Any = None

    def __call__(self, *operands: Any) -> Any:
        """The result of a handler."""
        named = {} if self.generator is None else {"generator": self.generator}
        args = sampler_arguments(self.name, (*operands, *self.numbers))
        return dispatched(sampler_overload(self.name), args, named)


def called(op, args: tuple, written: bool = False) -> Any:
    """The result of a handler for a call of an operator, `written` for one in place. Raises
    RuntimeError for one of another kind than the operator's."""
    if isinstance(args[-1], Draw):
        return checked(args[-1](*args[:-1]))
    result = dispatched(overload_of(op, args, written), *given(op, args))
    several = getattr(op, "multiple", False) or len(getattr(op, "outputs", ())) > 1
    if written or not several:
        return checked(result)
    if not isinstance(result, Sequence):
        kind = type(result)
        raise RuntimeError(
            f"Unable to cast Python instance of type {kind} to C++ type '?' (#define "
            "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
            if hasattr(op, "multiple")
            else f"Object of type '{kind.__name__}' is not an instance of 'sequence'"
        )
    return result


def called_out(op, args: tuple, out: Tensor) -> Any:
    """The result of a handler for a call of an operator with `out=`."""
    positional, named = given(op, args)
    return checked(dispatched(out_overload(op, args), positional, {**named, "out": out}))


def checked(result: Any) -> Tensor | None:
    """The tensor, or None, that a handler returned. Raises RuntimeError for anything else."""
    if result is None or isinstance(result, Tensor):
        return result
    raise RuntimeError(f"Unable to cast {result} to Tensor")


def called_aten(name: str, *args: Any, overload: str = "default", **named: Any) -> Any:
    """The result of a handler for an operator of ATen that none of the implementation is."""
    result = dispatched(getattr(namespace("aten").packet(name), overload), args, named)
    return result if name in _OF_NUMBERS else checked(result)


_OF_NUMBERS = ("_local_scalar_dense", "allclose", "equal")


def _detach(tensor: Tensor) -> Tensor:
    """An alias without history that shares the version counter, made by the tensor's class."""
    result = called_aten("detach", tensor)
    share_version(result, tensor)
    return result


_OPTIONS = ("dtype", "layout", "device", "pin_memory", "memory_format")


def _factory(
    name: str, make: Callable[..., Any], is_like: bool, given: BoundArguments, options: dict
) -> Any:
    """The result of a factory that a mode, or the class of the tensor that it is given, answers.

    `given` are the arguments of its maker (`impl.factories.creation.options.factory`).
    """
    values = dict(given.arguments)
    named = {"generator": values.pop("generator")} if "generator" in values else {}
    options = {**options, **{key: values.pop(key) for key in _OPTIONS if key in values}}
    if not is_like and options["device"] is None:
        options["device"] = default_device()
    if name == "randint":  # whose maker gets the sizes first
        values = {key: values[key] for key in ("low", "high", "size") if values[key] is not None}
    defaults = {key: p.default for key, p in given.signature.parameters.items()}
    while values and not isinstance(last := list(values)[-1], Tensor):
        if values[last] is not defaults[last] and values[last] != defaults[last]:
            break
        del values[last]
    overload = factory_overload(name, make, len(given.args), tuple(values), bool(named))
    named.update({key: options[key] for key in _OPTIONS if options.get(key) is not None})
    args = tuple(list(a) if type(a) is tuple else a for a in values.values())
    return checked(dispatched(overload, args, named))


tensor_ops.dispatched_detach = _detach
tensor_ops.dispatched_factory = _factory
tensor_ops.dispatched_aten = called_aten
