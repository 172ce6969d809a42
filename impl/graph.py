"""The graph: nodes, their edges, what they saved, and the leaves where gradients accumulate."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from impl import messages
from impl.dtypes import BY_NUMPY

_sequence = itertools.count()
_QUALIFIED = frozenset(("AccumulateGrad", "CopyBackwards", "CopySlices"))


class Node:
    """One recorded operation; its class carries the name torch gives it (`MulBackward0`).

    `edges` has one (node, input number) or None per differentiable input; `meta` one
    (shape, NumPy dtype) per differentiable output, which every incoming gradient must meet.
    """

    edges: tuple = ()
    meta: tuple = ()
    tensor_hooks: Any = None  # {output number: {handle id: hook}}
    retained: Any = None  # {output number: weak reference to the tensor that retains its gradient}
    versions: Any = None  # {edge: version} of gradients that were written in place when made
    pre_hooks: Any = None
    post_hooks: Any = None

    def __init__(self) -> None:
        self.sequence = next(_sequence)

    def evaluate(self, grads, interpretation, wanted):
        """The gradients for `edges`, from those of the outputs; None where there is none.

        `wanted` says of each edge whether anybody needs it (None: all). Raises RuntimeError when
        a saved tensor was freed, or modified since it was saved.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Free what was saved."""

    def hooks_of_output(self, number: int):
        """The hooks on the gradient of output `number`, None or {handle id: hook}."""
        return self.tensor_hooks.get(number) if self.tensor_hooks else None

    def name(self) -> str:
        """The node's name, which is its class's; torch qualifies those that are no operator's."""
        name = type(self).__name__
        plain = "Backward" in name and name != "CopyBackwards"
        return name if plain else f"torch::autograd::{name}"

    @property
    def next_functions(self) -> tuple:
        """One (node, input number) pair per input; (None, 0) where no gradient goes."""
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    @property
    def metadata(self) -> dict:
        """A dictionary for the user's own notes on this node."""
        return self.__dict__.setdefault("_notes", {})

    def _sequence_nr(self) -> int:
        return self.sequence

    def register_hook(self, hook):
        """Call `hook(grad_inputs, grad_outputs)` after this node; returns a removable handle."""
        from impl.hooks import RemovableHandle

        if self.post_hooks is None:
            self.post_hooks = {}
        return RemovableHandle.add(self.post_hooks, hook)

    def register_prehook(self, hook):
        """Call `hook(grad_outputs)` before this node; returns a removable handle."""
        from impl.hooks import RemovableHandle

        if self.pre_hooks is None:
            self.pre_hooks = {}
        return RemovableHandle.add(self.pre_hooks, hook)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class SavedTensor:
    """A tensor a node keeps for its formula, with the version it had.

    A saved input is the tensor itself; a saved output is kept without its history, which is this
    node, so that no reference cycle arises (torch's SavedVariable).
    """

    __slots__ = ("history", "number", "raw", "storage", "strides", "tensor", "version")

    def __init__(self, tensor, is_output: bool) -> None:
        self.storage = storage = tensor._storage
        self.version = storage.version
        self.number = tensor._nr
        self.history = tensor._node is not None
        if is_output:
            self.tensor = None
            self.raw = tensor._raw
            self.strides = (tensor._strides, tensor._offset)
        else:
            self.tensor = tensor

    def array(self, node: Node):
        """The raw value. Raises RuntimeError if it was modified since."""
        storage = self.storage
        if self.history and self.tensor is not None and self.tensor._node is None:
            raise RuntimeError(messages.DETACHED)
        if storage.version != self.version:
            raise RuntimeError(self.stale(node))
        if self.tensor is not None:
            return self.tensor._raw
        raw = self.raw
        # A scalar became an array when somebody shared it; the array is what it is now.
        return raw if raw.ndim or type(raw) is type(storage.buffer) else storage.buffer

    def stale(self, node: Node) -> str:
        """torch's text for a saved tensor that was modified in place."""
        if self.tensor is None:
            producer, raw = node, self.raw
        else:
            producer, raw = self.tensor.grad_fn, self.tensor._raw
        d = BY_NUMPY[raw.dtype]
        return messages.stale(
            d, raw.shape, producer, self.number, self.storage.version, self.version
        )


class AccumulateGrad(Node):
    """The sink of a leaf: adds what arrives to `variable.grad`."""

    # It runs as soon as it is ready, before any operation (torch gives it the highest number).
    LAST = (1 << 63) - 1

    def __init__(self, variable) -> None:
        self.variable = variable
        self.sequence = self.LAST
        # The leaf's as it is now: what happens to its shape later does not matter.
        self.meta = ((variable._raw.shape, variable._raw.dtype),)

    def hooks_of_output(self, number: int):
        return self.variable._hooks


def accumulator(leaf) -> AccumulateGrad:
    """The leaf's AccumulateGrad: one while any graph holds it, as torch's weak pointer has it."""
    reference = leaf._accumulator
    node = reference and reference()
    if node is None:
        node = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(node)
    return node


def gradient_edge(tensor):
    """Where the gradient of `tensor` goes: (node, number), or None if nowhere."""
    node = tensor._node if tensor._view is None else tensor.grad_fn
    if node is not None:
        return (node, tensor._nr)
    if tensor._requires_grad:
        return (accumulator(tensor), 0)
    return None
