"""`torch.autograd.graph`: nodes, gradient edges, and hooks on the graph or on several tensors."""

from impl.autograd.variable import Variable
from impl.core.named_types import type_name
from impl.core.registry import name_home
from impl.engine.multi_grad_hooks import register_multi_grad_hook
from impl.graph.edge import GradientEdge, found_edge
from impl.graph.node import Node
from impl.graph.node_creation_hooks import node_creation_hook
from impl.tape.mutation_on_saved import allow_mutation_on_saved_tensors
from impl.tape.saved_tensor_hooks import (
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from impl.tape.versions import increment_version

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "node_creation_hook",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Set whether a gradient from another stream than its leaf's warns; without streams, no effect.

    Raises RuntimeError unless `enabled` is a bool.
    """
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type_name(enabled)}")


def queue_callback(callback) -> None:
    """Call `callback()` at the end of the current backward pass, unless the pass raises.

    Callbacks run in the order in which they were queued. Raises RuntimeError outside of a backward
    pass.
    """
    Variable._execution_engine.queue_callback(callback)


def get_gradient_edge(tensor) -> GradientEdge:
    """The gradient edge of `tensor`. Raises RuntimeError if it does not require grad."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(*found_edge(tensor))


name_home(globals())
