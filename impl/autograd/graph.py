"""`torch.autograd.graph`: nodes, edges, and the hooks that are no tensor's own."""

from impl.graph import GradientEdge, Node, gradient_edge
from impl.multi_hooks import register_multi_grad_hook
from impl.saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from impl.versions import allow_mutation_on_saved_tensors, increment_version

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether to warn when gradients come from another stream than their leaf's: there are none.

    Raises RuntimeError for what is no bool.
    """
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def get_gradient_edge(tensor) -> GradientEdge:
    """Where the gradient of `tensor` goes. Raises RuntimeError if it does not require grad."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(*gradient_edge(tensor))
