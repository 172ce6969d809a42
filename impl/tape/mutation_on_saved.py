"""`allow_mutation_on_saved_tensors`: copy on write for saved tensors (torch/autograd/graph.py)."""

from __future__ import annotations

import weakref
from contextlib import contextmanager

from impl.core.state import STATE
from impl.core.tensor_impl import TensorBase
from impl.tape.saved_tensor_hooks import saved_tensors_hooks
from impl.tensor.batched_tensor import physical
from impl.tensor.tensor import Tensor

_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    "in which the graph was originally recorded."
)


# -- mutation -----------------------------------------------------------------------------------


class _Held:
    """A saved tensor, replaced by a copy before it is written in place (torch's _Handle)."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor: Tensor | None = tensor
        self.copied = False


class _AllowMutationOnSavedContext:
    """The tensors saved in one context, keyed by address and version.

    As in torch, the key has the address of the first element, so that a write through a view with
    another offset is not noticed.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], weakref.WeakSet[_Held]] = {}
        self.every: weakref.WeakSet[_Held] = weakref.WeakSet()

    def pack(self, tensor: Tensor) -> _Held:
        """Pack hook: store a saved tensor."""
        held = _Held(tensor)
        self.every.add(held)
        self.held.setdefault(_place(tensor), weakref.WeakSet()).add(held)
        return held

    def unpack(self, held: _Held) -> Tensor:
        """Unpack hook: the saved value. Raises AssertionError after `clear`."""
        if held.tensor is None:
            raise AssertionError(_OUTSIDE)
        return held.tensor

    def before_write(self, tensor: Tensor) -> None:
        """Copy the saved tensors whose memory is about to be written."""
        for held in self.held.pop(_place(tensor), ()):
            if held.tensor is not None and not held.copied:
                held.copied = True
                held.tensor = held.tensor.detach().clone()

    def clear(self) -> None:
        """Release all saved tensors at the end of the context; unpacking one then raises."""
        for held in self.every:
            held.tensor = None
        self.every.clear()
        self.held.clear()


def _place(tensor: Tensor) -> tuple[int, int]:
    memory = physical(tensor)  # a dispatch mode sees it below all transforms
    return TensorBase.data_ptr(memory), memory._version


@contextmanager
def allow_mutation_on_saved_tensors():
    """Allow in-place operations on saved tensors within the block: backward uses the old values.

    Forward and backward must both run in the block, else backward raises AssertionError. Raises
    RuntimeError if blocks are nested (torch.autograd.graph.allow_mutation_on_saved_tensors).
    """
    context = _AllowMutationOnSavedContext()
    with saved_tensors_hooks(context.pack, context.unpack):
        if STATE.before_write is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        STATE.before_write = context.before_write
        try:
            yield context
        finally:
            STATE.before_write = None
            context.clear()
