"""Version counters by hand, and saved tensors that may be overwritten."""

from __future__ import annotations

import weakref
from contextlib import contextmanager

from impl.modes import STATE
from impl.saved_hooks import saved_tensors_hooks
from impl.tensor import Tensor

_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    "in which the graph was originally recorded."
)


def increment_version(tensor) -> None:
    """Count a write that was made past the operators, on a tensor or each of an iterable of them.

    Inference tensors, which have no counter, are left out. Raises RuntimeError for anything else
    (torch.autograd.graph.increment_version).
    """
    if not isinstance(tensor, Tensor):
        try:
            tensors = list(tensor)
        except TypeError:
            raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    else:
        tensors = [tensor]
    for one in tensors:
        if not isinstance(one, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor"
            )
        if not one.is_inference():
            one._storage.version += 1


class _unsafe_preserve_version_counter:
    """Put the counters of one tensor, or a tuple of them, back at the end of the block: writes in
    it go unnoticed. Raises AssertionError for anything else."""

    def __init__(self, tensors) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.versions = [tensor._version for tensor in self.tensors]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            tensor._storage.version = version


# -- mutation -----------------------------------------------------------------------------------


class _Held:
    """A saved tensor, or once somebody writes it a copy of it."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor: Tensor | None = tensor
        self.copied = False


class _AllowMutationOnSavedContext:
    """What was saved in one context, by the address and version that a write will show.

    torch goes by the address of the first element, so a write that begins elsewhere is not seen.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], weakref.WeakSet[_Held]] = {}
        self.every: weakref.WeakSet[_Held] = weakref.WeakSet()

    def pack(self, tensor: Tensor) -> _Held:
        """Keep a tensor that is saved."""
        held = _Held(tensor)
        self.every.add(held)
        self.held.setdefault(_place(tensor), weakref.WeakSet()).add(held)
        return held

    def unpack(self, held: _Held) -> Tensor:
        """The value that was saved. Raises AssertionError once it was let go."""
        if held.tensor is None:
            raise AssertionError(_OUTSIDE)
        return held.tensor

    def before_write(self, tensor: Tensor) -> None:
        """Copy what is saved in the memory that is about to be written."""
        for held in self.held.pop(_place(tensor), ()):
            if held.tensor is not None and not held.copied:
                held.copied = True
                held.tensor = held.tensor.detach().clone()

    def clear(self) -> None:
        """Let go of everything that was saved, which backward then refuses."""
        for held in self.every:
            held.tensor = None
        self.every.clear()
        self.held.clear()


def _place(tensor: Tensor) -> tuple[int, int]:
    return tensor.data_ptr(), tensor._version


@contextmanager
def allow_mutation_on_saved_tensors():
    """Within the block, overwriting a saved tensor is no error: backward finds its old value.

    Forward and backward both belong into the block: AssertionError otherwise. Raises RuntimeError
    when such a block is open already (torch.autograd.graph.allow_mutation_on_saved_tensors).
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
