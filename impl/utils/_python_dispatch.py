"""`torch.utils._python_dispatch`: modes and classes that see the operators below autograd."""

from __future__ import annotations

from typing import Any

from impl.dispatch.dispatch_modes import TorchDispatchMode
from impl.dispatch.op_overload import OpOverload
from impl.tensor.tensor import DISPATCHING

__all__ = ["TorchDispatchMode", "return_and_correct_aliasing"]


def return_and_correct_aliasing(func: OpOverload, args: Any, kwargs: Any, out: Any) -> Any:
    """The answer of a wrapper subclass's handler, whose result is `out`: the argument that an
    operator writes, else the result, which as a view gets the storage of the argument."""
    if func._schema.is_mutable:
        return kwargs.get("out", args[0])
    if func.is_view:
        for alias in out if isinstance(out, (tuple, list)) else (out,):
            if type(alias) in DISPATCHING:
                alias._storage = args[0]._storage
    return out
