"""The graph: nodes, their edges, and the leaves where gradients accumulate."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

next_sequence = itertools.count().__next__
_QUALIFIED = frozenset(("AccumulateGrad", "CopyBackwards", "CopySlices"))


class Node:
    """One recorded operation; its class carries the name torch gives it (`MulBackward0`).

    Per differentiable input there is one node in `next`, or None where no gradient goes, and the
    number of that node's output in `numbers` (None: all are 0). `meta` is what an incoming gradient
    must meet: for one output the entry of `meta_of`, for several (`width`) a tuple of them.
    """

    sequence: int
    next: tuple = ()
    numbers: tuple | None = None
    meta: Any = None
    width = 1
    plan: Any = None  # an operator's node: what it saves, and how it runs
    hooked = False  # whether any of the following four is there
    tensor_hooks: Any = None  # {output number: {handle id: hook}}
    retained: Any = None  # {output number: weak reference to the tensor that retains its gradient}
    pre_hooks: Any = None
    post_hooks: Any = None
    versions: Any = None  # {edge: version} of gradients that were written in place when made

    def __init__(self) -> None:
        self.sequence = next_sequence()

    def connect(self, edges) -> None:
        """Set where gradients go: one (node, output number), or None, per differentiable input."""
        self.next = tuple([None if edge is None else edge[0] for edge in edges])
        if any(edge is not None and edge[1] for edge in edges):
            self.numbers = tuple([0 if edge is None else edge[1] for edge in edges])

    def edges(self) -> list:
        """What `connect` was given."""
        return [None if n is None else (n, i) for n, i in self.next_functions]

    def describe(self, outputs) -> None:
        """Note the shapes and dtypes of the differentiable outputs, a sequence of tensors."""
        if len(outputs) == 1:
            self.meta = meta_of(outputs[0]._raw)
        else:
            self.width = len(outputs)
            self.meta = tuple([meta_of(output._raw) for output in outputs])

    def expected(self, number: int):
        """The `meta_of` that a gradient for output `number` must meet."""
        return self.meta if self.width == 1 else self.meta[number]

    def shape_of(self, number: int) -> tuple[int, ...]:
        """The shape of output `number`."""
        meta = self.expected(number)
        return meta[0] if type(meta) is tuple else ()

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
        numbers = self.numbers or (0,) * len(self.next)
        return tuple(zip(self.next, numbers, strict=True))

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
            self.hooked = True
        return RemovableHandle.add(self.post_hooks, hook)

    def register_prehook(self, hook):
        """Call `hook(grad_outputs)` before this node; returns a removable handle."""
        from impl.hooks import RemovableHandle

        if self.pre_hooks is None:
            self.pre_hooks = {}
            self.hooked = True
        return RemovableHandle.add(self.pre_hooks, hook)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def meta_of(raw):
    """What a gradient of the raw value must meet: (shape, NumPy dtype), or if 0-dim the dtype's
    scalar type, which most such gradients are instances of."""
    return (raw.shape, raw.dtype) if raw.ndim else raw.dtype.type


def meets(raw, meta) -> bool:
    """Whether a raw gradient has the shape and dtype that `meta_of` noted."""
    if type(meta) is tuple:
        return raw.shape == meta[0] and raw.dtype == meta[1]
    return type(raw) is meta or (raw.ndim == 0 and raw.dtype.type is meta)


class AccumulateGrad(Node):
    """The sink of a leaf: adds what arrives to `variable.grad`."""

    # It runs as soon as it is ready, before any operation (torch gives it the highest number).
    LAST = (1 << 63) - 1

    def __init__(self, variable) -> None:
        self.variable = variable
        self.sequence = self.LAST
        # The leaf's as it is now: what happens to its shape later does not matter.
        self.meta = meta_of(variable._raw)

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


def edge_node(tensor):
    """The node of `gradient_edge`, or None."""
    node = tensor._node if tensor._view is None else tensor.grad_fn
    if node is None and tensor._requires_grad:
        return accumulator(tensor)
    return node
