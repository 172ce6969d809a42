"""Arguments that a transform has, but does not differentiate with respect to.

torch wraps them, as it does the others (`_wrap_all_tensors`): in the function they show no history
of outside, a write to them has a history at the level of the transform alone, and a flag that is
set there is that of the wrapper. Here the function has the caller's tensors, which lose the history
and the flags of the level when it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from impl.tensor.batched_tensor import BatchedTensor, physical
from impl.tensor.tensor import Tensor, requires_grad


def memories(leaves: Iterable[Any]) -> Iterator[Any]:
    """The leaves, with the values of batched ones and the bases of views."""
    for leaf in leaves:
        yield leaf
        if isinstance(leaf, Tensor):
            value = physical(leaf)
            yield from (value, value._view and value._view.base)


class Arguments:
    """The tensors among some arguments, with their values and bases, and their flags before."""

    def __init__(self, leaves: Iterable[Any] = ()) -> None:
        leaves = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        self.flagged: set[int] = set()
        """The ids of those of which the function has set the flag."""
        self._batched = [leaf for leaf in leaves if type(leaf) is BatchedTensor]
        self._ids = {id(one) for leaf in leaves for one in (leaf, physical(leaf))}
        found = {id(one): one for one in memories(leaves) if type(one) is not BatchedTensor}
        self._flags = [
            (one, requires_grad(one), getattr(one, "_level", None), one._storage.version)
            for one in found.values()
            if one is not None and one._storage is not None
        ]

    def __contains__(self, tensor: Any) -> bool:
        return id(tensor) in self._ids

    def lowered(self, lower: Callable[[Tensor], None]) -> None:
        """Let `lower` take the history of a level from those that were written, and restore the
        flags of the others."""
        for tensor, flag, level, version in self._flags:
            if tensor._node is None:
                if requires_grad(tensor) is not flag:
                    self.flagged.add(id(tensor))
                    tensor._requires_grad, tensor._level = flag, level
            elif tensor._storage.version != version:
                lower(tensor)
        for tensor in self._batched:
            _refresh(tensor)


def _refresh(tensor: Any) -> None:
    """Let a batched tensor, and those in it, have the flag of the value again."""
    if type(tensor) is BatchedTensor:
        _refresh(tensor._value)
        tensor._requires_grad = requires_grad(tensor._value)
