"""The graph: nodes, their edges, and the leaves where gradients accumulate."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, NamedTuple

import numpy as np

from impl import anomaly
from impl.attributes import read_only
from impl.devices import CPU
from impl.dtypes import BY_NUMPY

next_sequence = itertools.count().__next__
_QUALIFIED = frozenset(("AccumulateGrad", "CopyBackwards", "CopySlices"))


class Node:
    """One recorded operation; its class carries the name torch gives it (`MulBackward0`).

    Per differentiable input there is one node in `_targets()`, or None where no gradient goes, and
    the number of that node's output in `_numbers` (None: all are 0). What an incoming gradient must
    meet is noted by `meta_of`: in `_meta` for one output, in `_metas` for several.

    No class of nodes has a `__getattr__`: it would make every attribute many times slower to read.
    """

    # Small objects without a dictionary of their own until somebody asks for one: of these there
    # are as many as operations.
    __slots__ = ("__dict__", "__weakref__")

    _sequence: int
    _branches: tuple = ()  # what `_targets()` returns, where there is no `_only`
    _numbers: tuple | None = None
    _meta: Any = None
    _metas: tuple | None = None
    _authored = False  # whether its backward is a user's, who may be wrong
    _takes_real_part = False  # of a complex gradient, for an input that is real
    # The plan's straight function; None where the node needs the general way: it has none, or
    # somebody wants to see what happens here.
    _run: Any = None
    # The node at the only edge, if there is but one and `_run` returns only its gradient.
    _only: Any = None
    # What makes the gradient at the only edge, where that is but a view of the incoming one.
    _shown: Any = None
    _passes = False  # whether what arrives goes on to the only edge as it is
    _plan: Any = None  # an operator's node: what it saves, and how it runs
    _tensor_hooks: Any = None  # [(output number, {handle id: hook})], in the order of registration
    _retained: Any = None  # {output number: weak reference to the tensor that retains its gradient}
    _pre_hooks: Any = None
    _post_hooks: Any = None
    _makes_gradient = False  # whether it never passes a gradient on, but makes a new one
    _tangent: Any = None  # {output number: tangent} of what it saved (see `impl.forward`)
    _versions: Any = None  # {edge: version} of gradients that were written in place when made

    def __init__(self) -> None:
        self._sequence = next_sequence()
        if anomaly.MODE.enabled:
            anomaly.note(self)

    def _connect(self, edges) -> None:
        """Set where gradients go: one (node, output number), or None, per differentiable input."""
        self._branches = tuple([None if edge is None else edge[0] for edge in edges])
        if any(edge is not None and edge[1] for edge in edges):
            self._numbers = tuple([0 if edge is None else edge[1] for edge in edges])

    def _targets(self) -> tuple:
        """Where gradients go: a node, or None, per differentiable input."""
        return self._branches

    def _edges(self) -> list:
        """What `_connect` was given."""
        return [None if n is None else (n, i) for n, i in self.next_functions]

    def _describe(self, outputs) -> None:
        """Note the shapes and dtypes of the differentiable outputs, a sequence of tensors."""
        if len(outputs) == 1:
            self._meta = meta_of(outputs[0]._raw)
        else:
            self._meta = None
            self._metas = tuple([meta_of(output._raw) for output in outputs])

    def _expected(self, number: int):
        """The `meta_of` that a gradient for output `number` must meet."""
        return self._meta if self._metas is None else self._metas[number]

    @property
    def _width(self) -> int:
        """The number of differentiable outputs."""
        return 1 if self._metas is None else len(self._metas)

    def _shape_of(self, number: int) -> tuple[int, ...]:
        """The shape of output `number`."""
        meta = self._expected(number)
        return meta[0] if type(meta) is tuple else ()

    def _evaluate(self, grads, interpretation, wanted):
        """The gradients for `_edges()`, from those of the outputs; None where there is none.

        `wanted` says of each edge whether anybody needs it (None: all). Raises RuntimeError when
        a saved tensor was freed, or modified since it was saved.
        """
        raise NotImplementedError

    def _release(self) -> None:
        """Free what was saved."""

    def _dtype_of(self, number: int) -> np.dtype:
        """The NumPy dtype of output `number`."""
        meta = self._expected(number)
        return meta[1] if type(meta) is tuple else np.dtype(meta)

    def _hooks_of_outputs(self):
        """The hooks on gradients of outputs: [(number, {handle id: hook})], or None."""
        return self._tensor_hooks

    def name(self) -> str:
        """The node's name, which is its class's; torch qualifies those that are no operator's."""
        name = type(self).__name__
        plain = "Backward" in name and name != "CopyBackwards"
        return name if plain else f"torch::autograd::{name}"

    @read_only
    def next_functions(self) -> tuple:
        """One (node, input number) pair per input; (None, 0) where no gradient goes."""
        numbers = self._numbers or (0,) * len(self._targets())
        return tuple(zip(self._targets(), numbers, strict=True))

    @read_only
    def requires_grad(self) -> bool:
        """True, as of every node."""
        return True

    @read_only
    def metadata(self) -> dict:
        """A dictionary for the user's own notes on this node."""
        return self.__dict__.setdefault("_notes", {})

    @read_only
    def _input_metadata(self) -> tuple[OutputDescription, ...]:
        """What the gradients that come in must look like, one entry per differentiable output."""
        return tuple(OutputDescription(self._expected(i)) for i in range(self._width))

    def _sequence_nr(self) -> int:
        return self._sequence

    def register_hook(self, *hook, **named):
        """Call `hook(grad_inputs, grad_outputs)` after this node; returns a removable handle."""
        from impl.hooks import register_node_hook

        return register_node_hook(self, "_post_hooks", *hook, **named)

    def register_prehook(self, *hook, **named):
        """Call `hook(grad_outputs)` before this node; returns a removable handle."""
        from impl.hooks import register_node_hook

        return register_node_hook(self, "_pre_hooks", *hook, **named)

    def __call__(self, *grads):
        """Run the formula alone; see `impl.execution.run_alone`."""
        from impl.execution import run_alone

        return run_alone(self, grads)

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class OutputDescription:
    """The shape and dtype of one output of a node."""

    def __init__(self, meta) -> None:
        shape, numpy_dtype = meta if type(meta) is tuple else ((), np.dtype(meta))
        self.shape = list(shape)
        self.dtype = None if numpy_dtype is None else BY_NUMPY[numpy_dtype]
        self.device = CPU
        self.is_nested_tensor = False


def meta_of(raw):
    """What a gradient of a raw value must meet: (shape, NumPy dtype), or if it is 0-dim the dtype's
    scalar type, of which most such gradients are instances. Equal ones are mostly one object."""
    if not raw.ndim:
        return raw.dtype.type
    meta = (raw.shape, raw.dtype)
    known = _METAS.get(meta)
    if known is None:
        if len(_METAS) >= 4096:
            _METAS.clear()
        known = _METAS[meta] = meta
    return known


_METAS: dict[tuple, tuple] = {}


def meets(raw, meta) -> bool:
    """Whether a raw gradient has the shape and dtype that `meta_of` noted."""
    if type(meta) is tuple:
        return raw.shape == meta[0] and raw.dtype == meta[1]
    return type(raw) is meta or (raw.ndim == 0 and raw.dtype.type is meta)


class AccumulateGrad(Node):
    """The sink of a leaf: adds what arrives to `variable.grad`."""

    __slots__ = ("_meta", "variable")

    # It runs as soon as it is ready, before any operation.
    _sequence = (1 << 64) - 1

    def __init__(self, variable) -> None:
        self.variable = variable
        # The leaf's as it is now: what happens to its shape later does not matter.
        self._meta = variable._common
        if self._meta is None or variable._grad_dtype is not ...:
            self._expect(variable)
        if anomaly.MODE.enabled:
            anomaly.note(self)

    @property
    def _hooked(self) -> bool:
        """Whether anybody wants to see what arrives here, or that it has."""
        leaf = self.variable
        return (
            leaf._hooks or leaf._post_accumulate or self._pre_hooks or self._post_hooks
        ) is not None

    def _hooks_of_outputs(self):
        hooks = self.variable._hooks
        return [(0, hooks)] if hooks else None

    def _expect(self, leaf) -> None:
        """Take gradients in the leaf's `grad_dtype`."""
        wanted = leaf._grad_dtype
        if wanted is ...:
            self._meta = leaf._common or meta_of(leaf._raw)
        else:
            self._meta = (leaf._raw.shape, wanted and wanted.numpy)


def accumulator(leaf) -> AccumulateGrad:
    """The leaf's AccumulateGrad: one while any graph holds it, as torch's weak pointer has it."""
    reference = leaf._accumulator
    if reference is None or (node := reference()) is None:
        node = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(node)
    return node


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes; stands for the tensor as a root or an input of a pass.

    `ownership_token` is what torch needs to keep a graph alive; here the node does that.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


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
