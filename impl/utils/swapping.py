"""`swap_tensors`: exchange of two tensors' contents and state."""

from __future__ import annotations

import weakref

from impl.core.tensor_impl import FIELDS
from impl.tensor.tensor import Tensor

_POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when "
    "you try to run backward on a tensor that was swapped. For a module m with `torch.__future__."
    "set_swap_module_params_on_conversion(True)` you should not change the device or dtype of the "
    "module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, "
    "please only change the device/dtype before running forward (or after both forward and "
    "backward)."
)


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Swap the tensors' values, flags, gradients, histories and attributes, but not identities.

    Graphs that end at one of the tensors can no longer run. Raises RuntimeError for a tensor with a
    weak reference, AttributeError for anything but tensors (torch.utils.swap_tensors).
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    for tensor in (t1, t2):
        if not isinstance(tensor, Tensor):
            name = type(tensor).__name__
            raise AttributeError(f"{name!r} object has no attribute '_use_count'")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    for field in ("__dict__", *FIELDS):
        first, second = getattr(t1, field), getattr(t2, field)
        setattr(t1, field, second)
        setattr(t2, field, first)
    for tensor in (t1, t2):
        node = tensor._grad_accumulator and tensor._grad_accumulator()
        if node is not None:
            node.variable = tensor
            node.register_prehook(_refuse)


def _refuse(grads):
    raise RuntimeError(_POISONED)
