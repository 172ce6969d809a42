"""Node: a recorded operation with its next edges (csrc/autograd/function.h)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from impl.core.c_methods import without_arguments
from impl.core.read_only import read_only
from impl.graph import anomaly_mode
from impl.graph.hooks import register_node_hook
from impl.graph.input_metadata import InputMetadata, shape_and_dtype, tensor_meta

# How the other attributes begin that `dir` lists.
_SHOWN = ("__", "_saved_", "_raw_saved_", "_input_metadata", "_sequence_nr", "_forward_cls")

_ABSTRACT = (
    *("_input_metadata", "_register_hook_dict", "_sequence_nr", "metadata", "name"),
    *("next_functions", "register_hook", "register_prehook"),
)
"""The methods that torch.autograd.graph.Node leaves to the classes of nodes."""

next_sequence = itertools.count().__next__
RUNS_FIRST = (1 << 64) - 1
"""The sequence number of leaves, and of nodes that only raise: the largest."""


class Node:
    """One recorded operation, the grad_fn of its outputs; its class is named as in torch.

    The next edges, one per differentiable input, are in two places: `_edge_nodes()` has their
    nodes, None for an input that does not require grad, and `_input_nrs` the numbers of those
    nodes' outputs (None: all are 0). The metadata of incoming gradients is kept as `tensor_meta`:
    in `_meta` for one output, in `_metas` for several.

    No class of nodes has a `__getattr__`: it would make every attribute many times slower to read.
    """

    # Slots keep nodes small, as there is one per operation; the dictionary is created on demand.
    __slots__ = ("__dict__", "__weakref__")

    _sequence: int
    _next_nodes: tuple = ()  # the nodes of the next edges, unless `_next_node` is set
    _input_nrs: tuple | None = None
    _meta: Any = None
    _metas: tuple | None = None
    _is_custom_function = False  # custom Function: the results are validated
    _takes_real_part = False  # of a complex gradient for a real input
    # The plan's compiled backward, for the fast path. None if there is none, or if a hook or
    # retain_grad observes this node; then the engine calls `_evaluate`.
    _compiled_backward: Any = None
    # The next node if exactly one input requires grad; `_compiled_backward` then returns one
    # gradient, not a list.
    _next_node: Any = None
    # For a view operator: function that returns the gradient of the only input as a view of the
    # incoming gradient.
    _view_backward: Any = None
    # For an operator of several inputs: a function (node, gradient, keep, dependencies) that runs
    # this node and views behind it at once, where nothing observes those. It returns the gradients
    # and the nodes that they go to, or None if it cannot.
    _fused_backward: Any = None
    _wrapper_of: Any = None  # the transform whose wrapper of an input it stands for, without a node
    _leaf: Any = None  # the AccumulateGrad that is shown in the place of such a node
    _is_identity = False  # whether the incoming gradient is passed on unchanged to the only edge
    _plan: Any = None  # the GradientPlan of an operator's node
    _tensor_hooks: Any = None  # [(output number, {handle id: hook})], in the order of registration
    _retains_grad_of: Any = None  # {output number: weak reference to a tensor with retain_grad}
    _pre_hooks: Any = None
    _post_hooks: Any = None
    _makes_gradient = False  # whether no outgoing gradient aliases an incoming one
    _tangents: Any = None  # {level: {output number: tangent}} of saved outputs; see `note_on_node`
    _keeps_memory = False  # whether outgoing gradients lie in memory as incoming ones do
    _versions: Any = None  # {edge: version} of outgoing gradients that the formula wrote in place

    def __dir__(self):
        """The names that nodes have in torch."""
        return [n for n in super().__dir__() if not n.startswith("_") or n.startswith(_SHOWN)]

    def __init__(self) -> None:
        self._sequence = next_sequence()
        if anomaly_mode.MODE.enabled:
            anomaly_mode.note(self)

    def _set_next_edges(self, edges) -> None:
        """Set the next edges: (node, output number) or None per differentiable input."""
        self._next_nodes = tuple([None if edge is None else edge[0] for edge in edges])
        if any(edge is not None and edge[1] for edge in edges):
            self._input_nrs = tuple([0 if edge is None else edge[1] for edge in edges])

    def _edge_nodes(self) -> tuple:
        """The nodes of the next edges: a node or None per differentiable input."""
        return self._next_nodes

    def _edges(self) -> list:
        """The next edges, in the form of the argument of `_set_next_edges`."""
        return [None if n is None else (n, i) for n, i in self._edge_pairs()]

    def _set_input_metadata(self, outputs) -> None:
        """Store the metadata of the differentiable outputs, a sequence of tensors."""
        if len(outputs) == 1:
            self._meta = tensor_meta(outputs[0]._raw)
        else:
            self._meta = None
            self._metas = tuple([tensor_meta(output._raw) for output in outputs])

    def _input_meta(self, number: int):
        """The `tensor_meta` of the gradient of output `number`."""
        return self._meta if self._metas is None else self._metas[number]

    @property
    def _num_inputs(self) -> int:
        """The number of differentiable outputs."""
        return 1 if self._metas is None else len(self._metas)

    def _shape_of(self, number: int) -> tuple[int, ...]:
        """The shape of output `number`."""
        meta = self._input_meta(number)
        return shape_and_dtype(meta)[0]

    def _evaluate(self, grads, form, wanted):
        """The backward formula: gradients of the inputs, one per edge, from those of the outputs.

        `form` is the representation of gradients (`impl.engine.gradient_values`); None stands for
        no gradient. `wanted` is a flag per edge, whether its gradient is needed (None: all are).
        Raises RuntimeError if a saved tensor was freed, or modified since it was saved.
        """
        raise NotImplementedError

    def _release(self) -> None:
        """Release the saved variables."""

    def _dtype_of(self, number: int) -> np.dtype:
        """The NumPy dtype of output `number`."""
        meta = self._input_meta(number)
        return shape_and_dtype(meta)[1]

    def _hooks_of_outputs(self):
        """The hooks on gradients of outputs: [(number, {handle id: hook})], or None."""
        return self._tensor_hooks

    @without_arguments
    def name(self) -> str:
        """The node's name: that of its class, qualified as in torch if it is no operator's."""
        name = type(self).__name__
        plain = "Backward" in name and name != "CopyBackwards"
        return name if plain else f"torch::autograd::{name}"

    def _edge_pairs(self) -> tuple:
        """One (node, input number) pair per input; (None, 0) for one that does not require grad."""
        nodes = self._edge_nodes()
        return tuple(zip(nodes, self._input_nrs or (0,) * len(nodes), strict=True))

    @read_only
    def next_functions(self) -> tuple:
        """The edges, as a user sees them: the inputs of a transform of torch.func are leaves."""
        edges = self._edge_pairs()
        if any(node is not None and node._wrapper_of for node, _ in edges):
            return tuple(
                (node._leaf, 0) if node is not None and node._wrapper_of else (node, number)
                for node, number in edges
            )
        return edges

    @read_only
    def requires_grad(self) -> bool:
        """True for every node."""
        return True

    @read_only
    def metadata(self) -> dict:
        """A dictionary for the user's data about this node; anomaly mode uses it too."""
        return self.__dict__.setdefault("_notes", {})

    @read_only
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        """The metadata of incoming gradients, one entry per differentiable output."""
        return tuple(InputMetadata(self._input_meta(i)) for i in range(self._num_inputs))

    def _sequence_nr(self) -> int:
        return self._sequence

    def register_hook(self, *hook, **named):
        """Register `hook(grad_inputs, grad_outputs)`, called after this node."""
        return register_node_hook(self, "_post_hooks", *hook, **named)

    def register_prehook(self, *hook, **named):
        """Register `hook(grad_outputs)`, called before this node."""
        return register_node_hook(self, "_pre_hooks", *hook, **named)

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


# Of this class alone there are no instances. Without ABCMeta `isinstance` stays fast.
Node.__abstractmethods__ = frozenset(_ABSTRACT)  # type: ignore[attr-defined]
