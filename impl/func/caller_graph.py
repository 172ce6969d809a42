"""The caller's graph of a transform's results: without the edges to the inputs of its level.

torch records an operator at each level for which an operand requires grad, and the nodes of a level
have no edges to tensors that require grad at an inner one alone. Here an operator is recorded once,
and the passes of the level follow all its edges. So nodes of which an edge leads nowhere for the
caller are copied for it, without that edge.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from impl.dispatch.operator_node import OperatorNode
from impl.graph.accumulate_grad import AccumulateGrad
from impl.tape.saved_variable import SavedVariable, Versioned
from impl.tensor.tensor import Tensor

_OF_LEVEL = ("_tensor_hooks", "_retains_grad_of", "_pre_hooks", "_post_hooks", "_input_nrs")
"""Attributes of a node that its copy does not take over: hooks belong to the level."""


class CallerGraph:
    """The nodes of a level as its caller sees them.

    `is_of_caller` says whether a leaf is one of the caller's, `is_wrapper` whether a node stands
    for an input of the level that has a history; `shown` is a tensor of the level for the caller.
    """

    def __init__(
        self,
        is_of_caller: Callable[[Tensor], bool],
        is_wrapper: Callable[[Any], bool],
        shown: Callable[[Tensor], Tensor],
    ) -> None:
        self._is_of_caller, self._is_wrapper, self._shown = is_of_caller, is_wrapper, shown
        self._copies: dict[Any, Any] = {}
        self._found: dict[Any, Any] | None = None  # of the walk that is under way

    def edge(self, root: Any, number: int) -> tuple | None:
        """The caller's edge for one to a node of the level: to that, to a copy, or for an input to
        the history outside; None if no path leads from it to a tensor of the caller."""
        if self._found is not None:  # a tensor that a node saves has the history in which it stands
            return self._walked(root, number, self._found)
        self._found = {}
        try:
            return self._walked(root, number, self._found)
        finally:
            self._found = None

    def _walked(self, root: Any, number: int, found: dict[Any, Any]) -> tuple | None:
        left = [root]
        while left:
            node = left[-1]
            targets = _targets(node) if node not in found else ()
            ahead = [target for target in targets if target not in found]
            left += ahead
            if not ahead:
                left.pop()
                if node not in found:
                    found[node] = self._made(node, found)
        return _edge((root, number), found)

    def _made(self, node: Any, found: dict[Any, Any]) -> Any:
        """The caller's node; of an input that has a history, the edge of that."""
        if isinstance(node, AccumulateGrad):
            return node if self._is_of_caller(node.variable) else None
        edges = node._edges()
        left = [_edge(edge, found) for edge in edges]
        if not any(left):
            return None
        if self._is_wrapper(node):
            return left[0]
        return (
            node if left == edges or not isinstance(node, OperatorNode) else self._copy(node, left)
        )

    def _copy(self, node: Any, edges: list) -> Any:
        made = self._copies.get(node)
        if made is not None and made._edges() == edges:
            return made
        made = self._copies[node] = object.__new__(type(node))
        for name in OperatorNode.__slots__:
            if hasattr(node, name):
                setattr(made, name, getattr(node, name))
        vars(made).update({k: v for k, v in vars(node).items() if k not in _OF_LEVEL})
        made._set_next_edges(edges)
        if node._next_node is not None:
            made._next_node = next(edge[0] for edge in edges if edge is not None)
        if node._saved is not None:
            made._saved = [self._saved(value) for value in node._saved]
        return made

    def _saved(self, value: Any) -> Any:
        """A saved value; a tensor has the history that the caller sees."""
        if type(value) is list:
            return [self._saved(entry) for entry in value]
        if isinstance(value, Tensor):
            return self._shown(value)
        if type(value) is Versioned:
            return Versioned(self._shown(value.tensor), value.version)
        if type(value) is SavedVariable and value.tensor is not None:
            made = copy.copy(value)
            made.tensor = shown = self._shown(value.tensor)
            made.number, made.history = shown._nr, shown._node is not None
            return made
        return value


def _edge(edge: tuple | None, found: dict[Any, Any]) -> tuple | None:
    made = None if edge is None else found[edge[0]]
    if edge is None or made is None:
        return None
    return made if isinstance(made, tuple) else (made, edge[1])


def _targets(node: Any) -> list:
    if isinstance(node, AccumulateGrad):
        return []
    return [target for target in node._edge_nodes() if target is not None]


def nodes_from(root: Any) -> Iterator[Any]:
    """The nodes of the graph from a root on."""
    seen, left = set(), [root]
    while left:
        node = left.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            left += _targets(node)
