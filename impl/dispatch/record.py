"""Recording by hand, for operators that a definition does not describe: writes and custom nodes."""

from __future__ import annotations

from impl.core import messages
from impl.graph.edge import gradient_edge
from impl.tape.custom_function import Function
from impl.tape.inplace import check, rebase_history
from impl.tape.once_differentiable import Error
from impl.tensor.tensor import Tensor, requires_grad

__all__ = [
    "Function",
    "check_write",
    "edges_of",
    "gradient_edges",
    "record_undifferentiable",
]

# The node of an operation that torch records and has no derivative for.
_NotImplemented: type[Error] = type("NotImplemented", (Error,), {})


def check_write(target: Tensor, differentiable: bool = False) -> None:
    """Raise RuntimeError where a write to `target` cannot be recorded: on leaves that require grad,
    on their views, and on views that must not be written.

    `differentiable` says that the written values require grad.
    """
    check(target, differentiable or requires_grad(target))


def edges_of(*tensors: Tensor) -> list:
    """The edges of tensors; None for those that do not require grad."""
    return [*map(gradient_edge, tensors)]


def gradient_edges(*tensors: Tensor) -> list:
    """The edges of the tensors that require grad."""
    return [edge for edge in edges_of(*tensors) if edge is not None]


def record_undifferentiable(name: str, edges: list, out: Tensor) -> None:
    """Make the history of `out`, which has been written, a node that raises when it runs.

    The error (RuntimeError) names the operator.
    """
    node = _NotImplemented(messages.UNDIFFERENTIABLE.format(name))
    node._set_next_edges(edges)
    node._set_input_metadata((out,))
    rebase_history(out, node)
