"""Gradient edges: a node and the number of one of its outputs (csrc/autograd/edge.h)."""

from __future__ import annotations

from typing import NamedTuple

from impl.core.state import STATE
from impl.graph.accumulate_grad import grad_accumulator
from impl.graph.node import Node


class GradientEdge(NamedTuple):
    """The gradient edge of a tensor, accepted in its place as a root or input of a backward pass.

    See torch.autograd.graph.GradientEdge. `ownership_token` keeps the graph alive in torch; here
    `node` does.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def gradient_edge(tensor):
    """The edge (node, output number) of a tensor; None if it does not require grad."""
    node = tensor._node if tensor._view is None else tensor._grad_fn
    if node is not None:
        return (node, tensor._nr)
    if tensor._requires_grad:
        return (grad_accumulator(tensor), 0)
    return None


def found_edge(tensor):
    """`gradient_edge`, as PyTorch's Python code finds it: that of a leaf by viewing it, for which
    AttributeError is raised where inference records nothing."""
    edge = gradient_edge(tensor)
    unrecorded = STATE.inference or tensor._inference
    if edge is not None and unrecorded and tensor._node is None:
        raise AttributeError("'NoneType' object has no attribute 'next_functions'")
    return edge


def edge_node(tensor):
    """The node of `gradient_edge`, or None."""
    node = tensor._node if tensor._view is None else tensor._grad_fn
    if node is None and tensor._requires_grad:
        return grad_accumulator(tensor)
    return node
