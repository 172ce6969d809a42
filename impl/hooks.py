"""Hooks: registration, removal, and the checks on what they return."""

from __future__ import annotations

import itertools
import weakref

from impl.dtypes import BY_NUMPY

_ids = itertools.count()


class RemovableHandle:
    """What a registration returns; `remove()` undoes it, as does leaving a `with` block."""

    def __init__(self, hooks: dict, number: int) -> None:
        # A weak reference cannot point at a plain dict, and the hooks live as long as their node.
        self._hooks = hooks
        self.id = number

    @classmethod
    def add(cls, hooks: dict, hook) -> RemovableHandle:
        """Register `hook` among `hooks`, after those that are there."""
        number = next(_ids)
        hooks[number] = hook
        return cls(hooks, number)

    def remove(self) -> None:
        """Take the hook away; safe to call twice."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc) -> None:
        self.remove()


def register_tensor_hook(tensor, hook) -> RemovableHandle:
    """Call `hook(grad)` when the gradient of `tensor` is known; it may return a replacement.

    The hook belongs to the tensor's present history: an in-place change later does not move it.
    Raises RuntimeError for a tensor that does not require grad (torch.Tensor.register_hook).
    """
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if tensor._hooks is None:
        tensor._hooks = {}
        node = tensor.grad_fn
        if node is not None:
            if node.tensor_hooks is None:
                node.tensor_hooks = {}
                node.hooked = True
            node.tensor_hooks[tensor._nr] = tensor._hooks
    return RemovableHandle.add(tensor._hooks, hook)


def register_post_accumulate(leaf, hook) -> RemovableHandle:
    """Call `hook(leaf)` after a backward has updated `leaf.grad`.

    Raises RuntimeError for non-leaves and for tensors that do not require grad
    (torch.Tensor.register_post_accumulate_grad_hook).
    """
    if not leaf.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if leaf.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if leaf._post_accumulate is None:
        leaf._post_accumulate = {}
    return RemovableHandle.add(leaf._post_accumulate, hook)


def retain_grad(tensor) -> None:
    """Have backward store `.grad` of a non-leaf too; nothing happens on a leaf.

    Raises RuntimeError for a tensor that does not require grad (torch.Tensor.retain_grad).
    """
    if not tensor.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = tensor.grad_fn
    if node is None or tensor._retains_grad:
        return
    tensor._retains_grad = True
    keep_for(node, tensor)


def keep_for(node, tensor) -> None:
    """Let `node` store the gradient of its output `tensor`, which it does not keep alive."""
    if node.retained is None:
        node.retained = {}
        node.hooked = True
    node.retained[tensor._nr] = weakref.ref(tensor)


def move_to(node, tensor) -> None:
    """After an in-place change old hooks stay with the old value, retain_grad follows."""
    tensor._hooks = None
    if tensor._retains_grad:
        old = tensor._node
        if old is not None and old.retained:
            old.retained.pop(tensor._nr, None)
        keep_for(node, tensor)


def run_tensor_hooks(hooks: dict, grad):
    """Pass `grad` through the hooks in the order of registration; returns the last replacement.

    Raises TypeError or RuntimeError when a replacement is no tensor, or of another size or dtype.
    """
    from impl.tensor import Tensor

    for hook in list(hooks.values()):
        result = hook(grad)
        if result is None:
            continue
        if not isinstance(result, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
        if grad is not None:
            _check_replacement(hook, grad, result)
        grad = result
    return grad


def _check_replacement(hook, grad, result) -> None:
    name = getattr(hook, "__name__", None) or type(hook).__name__
    old, new = grad._raw.dtype, result._raw.dtype
    if old != new:
        was, got = (f"torch.{BY_NUMPY[d].legacy}Tensor" for d in (old, new))
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {was} got {got})")
    if grad._raw.shape != result._raw.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def run_node_hooks(hooks: dict, values: tuple, *rest) -> tuple:
    """Pass `values` through node hooks; each may return a replacement of the same length."""
    from impl.tensor import Tensor

    for hook in list(hooks.values()):
        result = hook(values, *rest)
        if result is None:
            continue
        name = getattr(hook, "__name__", None) or type(hook).__name__
        if isinstance(result, Tensor) or not isinstance(result, (tuple, list)):
            result = (result,)
        if len(result) != len(values):
            raise RuntimeError(
                f"hook '{name}' has returned an incorrect number of values (got {len(result)}, "
                f"but expected {len(values)})"
            )
        values = tuple(result)
    return values
