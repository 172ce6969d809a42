"""Recording of fused operators: one function for a composition of several operators.

After a product of large matrices the caches hold matrices, and the cost of the next operation is
the amount of code it runs through. So a linear layer, a cross entropy and a product of batches are
computed and recorded by one function each, which leaves the same views and the same nodes as the
operators that it stands for. These functions record through this module alone.
"""

from __future__ import annotations

from impl.graph.edge import edge_node
from impl.graph.input_metadata import tensor_meta
from impl.graph.node import Node, next_sequence
from impl.tape.saved_variable import save, unpack_array
from impl.tensor.tensor import Tensor, new, requires_grad
from impl.tensor.views import DEFAULT, NO_GRAD, ViewMeta

__all__ = ["connection", "record", "save", "tensor_meta", "unpack_array", "view_of"]


def connection(tensor: Tensor) -> tuple[Node | None, bool]:
    """The node that the gradient of `tensor` goes to, or None, and whether that is all there is.

    It is not for a view that requires grad because its base does, and is connected to nothing: the
    operators themselves record that.
    """
    node = edge_node(tensor)
    return node, node is not None or not requires_grad(tensor)


def view_of(source: Tensor, base: Tensor, raw, strides, recorded=True) -> Tensor:
    """A view of `base` over the memory of `source`: `raw` with strides in elements (None:
    row-major), and the offset of `source`."""
    view = new(raw, strides)
    if source._offset:
        view._offset = source._offset
    memory = source._storage if source._memory is None else source._memory
    view._memory = memory
    view._view = ViewMeta(base, DEFAULT if recorded else NO_GRAD, memory.version)
    return view


def record(
    output: Tensor, node, plan, next_node, saved: tuple, meta, compiled_backward=None
) -> None:
    """Make `node`, new and of an operator's class, the history of `output`.

    Args:
        plan: the operator's GradientPlan for the inputs that require grad.
        next_node: the node at the only edge, or for several edges the tuple of their nodes.
        saved: the saved values of the node, in the order of `plan.names`.
        meta: the shape and dtype of the output (`tensor_meta`).
        compiled_backward: replaces the plan's own.
    """
    node._plan = plan
    node._compiled_backward = compiled_backward or plan.compiled_backward
    if type(next_node) is tuple:
        node._next_node, node._next_nodes = None, next_node
    else:
        node._next_node = next_node
    node._saved = saved
    node._meta = meta
    node._sequence = next_sequence()
    output._node = node
