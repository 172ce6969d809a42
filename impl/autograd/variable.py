"""`Variable`, torch's tensor class before 0.4, and its `_execution_engine`."""

from __future__ import annotations

import warnings
from typing import Any

from impl.core import messages
from impl.core.dtypes import FLOATING
from impl.core.state import STATE
from impl.engine import execution
from impl.engine.backward import truth
from impl.factories import creation
from impl.tensor.tensor import Tensor

_VOLATILE = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
_GRAD_FN = (
    "_grad_fn argument to legacy Variable constructor is no longer supported.  Instead, please "
    "invoke your _grad_fn to produce a variable with it as the _grad_fn."
)


def _volatile(self) -> bool:
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


def _set_volatile(self, value) -> None:
    warnings.warn(_VOLATILE, stacklevel=2)


def _names(self) -> list[str]:
    """The names of its class but for the deprecated one, and of its attributes."""
    return sorted(({*dir(type(self))} - {"volatile"}) | self.__dict__.keys())


Tensor.volatile = property(_volatile, _set_volatile)
Tensor.__dir__ = _names  # type: ignore[method-assign]


class ImperativeEngine:
    """The engine object with the methods of torch's: `Variable._execution_engine`."""

    def queue_callback(self, callback) -> None:
        """Call `callback()` at the end of the current backward pass, unless the pass raises.

        Callbacks run in the order in which they were queued, in the pass's grad mode. Raises
        RuntimeError outside of a backward pass.
        """
        if STATE.graph_task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        STATE.graph_task.callbacks.append(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether every running backward pass accumulates into all leaves (no `inputs` given)."""
        return STATE.accumulates_all

    def run_backward(
        self,
        tensors: tuple,
        grad_tensors: tuple,
        keep_graph: bool,
        create_graph: bool,
        inputs: tuple = (),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ) -> tuple | None:
        """Run a pass with checked arguments: `backward` if it accumulates, else `grad`.

        Raises RuntimeError for a root without a seed, for an input without a gradient (unless
        `allow_unreachable`), and if there are neither inputs nor accumulation.
        """
        if not (accumulate_grad or inputs):
            raise RuntimeError("grad requires non-empty inputs.")
        aims = inputs or None
        given = tensors, grad_tensors, keep_graph, create_graph, aims, accumulate_grad
        results = execution.run_backward(*given)
        if accumulate_grad:
            return None
        if not allow_unreachable and None in results:
            raise RuntimeError(messages.UNUSED.format(results.index(None)))
        return tuple(results)


class VariableMeta(type):
    """Metaclass that makes every tensor an instance of Variable."""

    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """A tensor that shares another's memory and version counter but not its history.

    A call returns a Tensor; without `data` an empty one. `volatile` has no effect and warns.
    Raises TypeError for data other than a tensor, ValueError for both flags at once, RuntimeError
    for `requires_grad` on integer or inference tensors (torch.autograd.Variable).
    """

    _execution_engine = ImperativeEngine()

    def __new__(  # type: ignore[misc]
        cls, data=None, requires_grad=False, volatile=False, _grad_fn=None, name=None
    ) -> Tensor:
        flagged, volatile = truth(requires_grad), truth(volatile)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"argument 5 must be str or None, not {type(name).__name__}")
        if volatile:
            warnings.warn(_VOLATILE, UserWarning, stacklevel=2)
            if flagged:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if _grad_fn is not None:
            if not getattr(_grad_fn, "_is_custom_function", False):
                kind = type(_grad_fn).__name__
                raise TypeError(f"_grad_fn has to be a Function object or None, but got {kind}")
            raise RuntimeError(_GRAD_FN)
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        result: Any = creation.empty(0) if data is None else data.detach()
        if flagged:
            if result.dtype.category < FLOATING:
                raise RuntimeError(messages.ONLY_FLOATING)
            result.requires_grad = True
        result._name = name
        return result
