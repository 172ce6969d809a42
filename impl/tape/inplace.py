"""In-place operations: check_inplace and rebase_history (csrc/autograd/VariableTypeUtils.h).

*CheckInplace* and *RebaseHistory* of the specification's algorithms
(reference/spec/00-algorithms.md), whose steps are named.
"""

from __future__ import annotations

from typing import Any
from weakref import getweakrefcount

from impl.core import messages
from impl.core.state import STATE
from impl.graph import hooks
from impl.graph.input_metadata import tensor_meta
from impl.graph.node import Node
from impl.tape.copy_slices import CopySlices
from impl.tensor.batched_tensor import physical
from impl.tensor.tensor import Tensor, requires_grad
from impl.tensor.views import DEFAULT, ViewMeta, check_creation


def check(target: Tensor, differentiable: bool) -> None:
    """Raise RuntimeError if a write to `target` must not be recorded (torch's check_inplace).

    `differentiable` says that the target or an operand requires grad. Errors are a view whose
    creation forbids writes, a leaf that requires grad, and a view of such a leaf.
    """
    # CheckInplace 2
    if not (differentiable and STATE.enabled):
        return
    if STATE.batched:
        target = physical(target)
    # CheckInplace 4
    node = target._node
    if node is not None and node._wrapper_of is not None:  # the alias is a leaf in its transform
        raise RuntimeError(messages.LEAF_INPLACE)
    if target._view is not None:
        check_view(target)
    if requires_grad(target) and target._node is None:
        raise RuntimeError(messages.LEAF_INPLACE)


def check_view(target: Tensor) -> None:
    """Raise RuntimeError if the view's creation forbids recorded writes, or its base is a leaf."""
    check_creation(target, base_changed=False)
    if requires_grad(target) and target._view.base._node is None:
        raise RuntimeError(messages.VIEW_LEAF_INPLACE)


def rebase_history(target: Tensor, node: Node, number: int = 0) -> Node:
    """Set output `number` of `node` as the grad_fn of `target` after a write (rebase_history);
    returns the node that has become the new history.

    For a view, the base gets a CopySlices node, which applies `node` to the slice of the gradient;
    the grad_fn of the view is then regenerated from the base.
    """
    view = target._view
    # RebaseHistory 1
    if view is None:
        set_history(target, node, number)
        return node
    # RebaseHistory 2
    history = CopySlices(view.base, target, node)
    # RebaseHistory 3
    set_history(view.base, history)
    target._grad_fn  # noqa: B018  regenerates the grad_fn of the view
    if target._retains_grad:
        hooks.move_hooks(target._node, target)
    target._hooks = None
    return history


def set_history(tensor: Tensor, node: Node, number: int = 0) -> None:
    """Set output `number` of `node` as the grad_fn; hooks stay on the old one (set_history)."""
    hooks.move_hooks(node, tensor, number)
    tensor._node = node
    tensor._nr = number
    if tensor._view is not None:
        tensor._view.version = tensor._storage.version


NEEDS_SLOW_PATH: Any = (
    object()
)  # result of `fast_path_history` for a target that needs the slow path


def fast_path_history(target: Tensor):
    """The grad_fn that a write to a row-major tensor replaces: its own, or that of its base.

    None if it does not require grad; NEEDS_SLOW_PATH if the write needs it, because of an error
    to raise, or hooks or retain_grad to move.
    """
    view, owner = target._view, target
    if view is not None:
        owner = view.base
        if view.creation != DEFAULT or view.view_fn is not None or type(view) is not ViewMeta:
            return NEEDS_SLOW_PATH
        if owner._strides is not None or target._retains_grad or target._hooks is not None:
            return NEEDS_SLOW_PATH
        if (owner._node is None) != (target._node is None) or target._requires_grad:
            return NEEDS_SLOW_PATH
    if owner._requires_grad or owner._retains_grad or owner._hooks is not None:
        return NEEDS_SLOW_PATH
    return owner._node


def rewrite(target: Tensor, node: Node) -> None:
    """`rebase_history` on the fast path, after `overwrite`.

    For a target whose `fast_path_history` is not NEEDS_SLOW_PATH.
    """
    view = target._view
    if view is None:
        target._node = node
        target._nr = 0
        return
    base = view.base
    base._node = CopySlices._row_major(
        base, target, node, base._dense_meta or tensor_meta(base._raw)
    )
    base._nr = 0
    if target._node is None:  # stale like that of any view of the base, but no longer a leaf's
        target._node = base._node
    elif getweakrefcount(target._node):
        # A former write saved its result, with this node as its history. An edge leads to it in
        # torch, and keeps it alive.
        node.__dict__["_replaced"] = target._node
