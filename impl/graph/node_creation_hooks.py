"""Hooks on the creation of nodes, by thread (ATen/NodeCreationHooks.cpp)."""

from __future__ import annotations

from impl.core.checks import check_callable
from impl.core.state import STATE

_INSIDE = (
    "Creating a new autograd node from inside a node creation hook is not supported. Node creation "
    "hooks should only observe the node (e.g. record it, stash metadata, or register backward "
    "hooks on it); got a new node of type {} while a hook was running."
)
_PUSH = (
    "_push_node_creation_hook(): incompatible function arguments. The following argument types are "
    "supported:\n    1. (arg0: collections.abc.Callable) -> None\n\nInvoked with: "
)


class node_creation_hook:
    """Calls a hook with each node that is created in the block (torch.autograd.graph).

    The node is complete: it has its edges, the metadata of its outputs and its saved values. Hooks
    of nested blocks are called outermost first. They are the thread's own. A hook may observe a
    node; a node that it creates raises RuntimeError. Entering raises TypeError for a hook that
    cannot be called.
    """

    def __init__(self, hook) -> None:
        self.hook = hook

    def __enter__(self) -> None:
        check_callable(_PUSH, (self.hook,))
        STATE.node_creation_hooks = (*STATE.node_creation_hooks, self.hook)
        STATE.fast_path_blockers += 1

    def __exit__(self, *exc: object) -> None:
        STATE.node_creation_hooks = STATE.node_creation_hooks[:-1]
        STATE.fast_path_blockers -= 1


def created(node) -> None:
    """Call the hooks with a node that has its edges, metadata and saved values, outermost first.

    Raises RuntimeError for a node that a hook makes, and any exception of a hook.
    """
    if STATE.creation_hook_runs:
        raise RuntimeError(_INSIDE.format(node.name()))
    STATE.creation_hook_runs = True
    try:
        for hook in STATE.node_creation_hooks:
            hook(node)
    finally:
        STATE.creation_hook_runs = False
