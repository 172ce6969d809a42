"""Hooks on tensors and on nodes: registration, calls, and checks of the returned gradients."""

from __future__ import annotations

import weakref
from typing import Any

from impl.core import messages
from impl.core.dtypes import BY_NUMPY
from impl.core.state import STATE
from impl.core.tensor_impl import TensorBase


class RemovableHandle:
    """The handle of a registered hook; `remove()`, or leaving its `with` block, unregisters it."""

    next_id = 0
    """The number of the next hook."""

    def __init__(self, hooks_dict: dict, *, extra_dict: Any = None) -> None:
        """The handle of the next entry of a dictionary that can be referenced weakly, and of those
        of the same number in one more dictionary, or in a list of them; TypeError for others."""
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        marks = tuple(each for each in extra if extra is extra_dict or isinstance(each, dict))
        for each in (hooks_dict, *marks):
            weakref.ref(each)
        self._name(hooks_dict, marks)

    def _name(self, hooks: dict, marks: tuple[dict, ...]) -> None:
        # Strong references: plain dicts have no weak ones, and the hooks live with their node.
        self._hooks = hooks
        self._marks = marks
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    @classmethod
    def add(cls, hooks: dict, hook, marks: tuple[dict, ...] = ()) -> RemovableHandle:
        """Append `hook` to `hooks`, with True under its number in each of `marks`."""
        handle = cls.__new__(cls)
        handle._name(hooks, marks)
        hooks[handle.id] = hook
        for mark in marks:
            mark[handle.id] = True
        return handle

    def remove(self) -> None:
        """Unregister the hook; a second call has no effect."""
        self._hooks.pop(self.id, None)
        for mark in self._marks:
            mark.pop(self.id, None)

    def __repr__(self) -> str:
        return f"<torch.utils.hooks.RemovableHandle object at {id(self):#x}>"

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc) -> None:
        self.remove()


# -- registration -------------------------------------------------------------------------------


def register_tensor_hook(tensor, hook) -> RemovableHandle:
    """Register `hook(grad)`, called when the gradient is computed; it may return a replacement.

    The hook belongs to the tensor's current grad_fn: a later in-place operation does not move it.
    Raises RuntimeError for a tensor that does not require grad (torch.Tensor.register_hook).
    """
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if STATE.transforms:
        hook = STATE.transforms[-1].hooked(hook)
    if tensor._hooks is None:
        node = tensor._grad_fn  # that of a stale view is regenerated, which leaves its hooks behind
        tensor._hooks = {}
        if node is not None:
            _attach(node, tensor._nr, tensor._hooks)
    return RemovableHandle.add(tensor._hooks, hook)


def register_inner_hook(tensor, hook) -> None:
    """Register a hook of the implementation's own, which a non-leaf does not show among the hooks
    of `register_hook`."""
    node = tensor._grad_fn
    if node is None:
        register_tensor_hook(tensor, hook)
        return
    hooks: dict = {}
    RemovableHandle.add(hooks, hook)
    _attach(node, tensor._nr, hooks)


def _attach(node, number: int, hooks: dict) -> None:
    """Have a node call hooks with the gradient of the output of that number."""
    node._tensor_hooks = [*(node._tensor_hooks or ()), (number, hooks)]
    node._compiled_backward = None


def register_post_accumulate(leaf, hook) -> RemovableHandle:
    """Register `hook(leaf)`, called after a backward has accumulated into `leaf.grad`.

    Raises RuntimeError for non-leaves and for tensors that do not require grad
    (torch.Tensor.register_post_accumulate_grad_hook).
    """
    if not leaf.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if leaf._grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if leaf._post_accumulate is None:
        leaf._post_accumulate = {}
    return RemovableHandle.add(leaf._post_accumulate, hook)


def register_node_hook(node, kind: str, *hook, **named) -> RemovableHandle:
    """Register `hook` on a node, called before it (`_pre_hooks`) or after it (`_post_hooks`).

    Raises TypeError unless there is one hook, given by position.
    """
    if named or len(hook) != 1:
        what = "register_prehook" if kind == "_pre_hooks" else "register_hook"
        count = "no keyword arguments" if named else f"exactly one argument ({len(hook)} given)"
        raise TypeError(f"{type(node).__name__}.{what}() takes {count}")
    hooks = getattr(node, kind)
    if hooks is None:
        hooks = {}
        setattr(node, kind, hooks)
        node._compiled_backward = None
    return RemovableHandle.add(hooks, hook[0])


def retain_grad(tensor) -> None:
    """Make backward store `.grad` of a non-leaf; no effect on a leaf.

    Raises RuntimeError for a tensor that does not require grad, and in a function that is being
    transformed (torch.Tensor.retain_grad).
    """
    if not tensor.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if STATE.transforms:
        raise RuntimeError(messages.TRANSFORMED.format("retain_grad", ""))
    # As in torch, a view whose grad_fn has not been regenerated since a write counts as a leaf.
    if tensor._node is None or tensor._retains_grad:
        return
    node = tensor._grad_fn
    tensor._retains_grad = True
    set_retains_grad(node, tensor)


def set_retains_grad(node, tensor) -> None:
    """Make `node` store the gradient of its output `tensor`, which it references weakly."""
    if node._retains_grad_of is None:
        node._retains_grad_of = {}
        node._compiled_backward = None
    node._retains_grad_of[tensor._nr] = weakref.ref(tensor)


def move_hooks(node, tensor, number: int = 0) -> None:
    """After an in-place operation, leave hooks on the old grad_fn and move retain_grad to the new.

    The new value of `tensor` is output `number` of `node`.
    """
    tensor._hooks = None
    if tensor._retains_grad:
        old = tensor._node
        if old is not None and old._retains_grad_of:
            old._retains_grad_of.pop(tensor._nr, None)
        tensor._nr = number
        set_retains_grad(node, tensor)


# -- running ------------------------------------------------------------------------------------


def run_tensor_hooks(hooks: dict, grad):
    """Call the hooks with `grad`, a tensor or None, in the order of registration.

    Returns the gradient after all replacements. Raises TypeError or RuntimeError for a replacement
    that is no tensor, has another dtype or size, or replaces None.
    """
    for hook in list(hooks.values()):
        result = hook(grad)
        if result is not None and result is not grad:
            _check_replacement(hook, grad, result)
            grad = result
    return grad


def run_node_hooks(hooks: dict, values: tuple, *rest) -> tuple:
    """Call the hooks of a node with `values` and the `rest`, in the order of registration.

    Returns the values after all replacements. Raises TypeError or RuntimeError for a replacement
    that is no tuple, has another length, or has an invalid entry (see `run_tensor_hooks`).
    """
    for hook in list(hooks.values()):
        result = hook(values, *rest)
        if result is None or result is values:
            continue
        if not isinstance(result, tuple):
            raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
        if len(result) != len(values):
            raise RuntimeError(
                f"hook '{_name(hook)}' has returned an incorrect number of values (got "
                f"{len(result)}, but expected {len(values)})"
            )
        for old, new in zip(values, result, strict=True):
            if new is not None and new is not old:
                _check_replacement(hook, old, new)
        values = result
    return values


def run_post_accumulate(leaf) -> None:
    """Call the leaf's post-accumulate hooks; RuntimeError or TypeError if one returns a value."""
    for hook in list(leaf._post_accumulate.values()):
        result = hook(leaf)
        if result is None or result is leaf:
            continue
        if not isinstance(result, TensorBase):
            raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _check_replacement(hook, old, new) -> None:
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if (
        old._raw.dtype != new._raw.dtype
        or old.is_meta != new.is_meta
        or old.is_sparse != new.is_sparse
    ):
        was, got = map(_type, (old, new))
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was {was} got {got})"
        )
    if old._raw.shape != new._raw.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")


def _type(tensor) -> str:
    """The name that a tensor's type had before there were dtypes and layouts."""
    return messages.tensor_type(BY_NUMPY[tensor._raw.dtype], tensor.is_meta, tensor.is_sparse)


def _name(hook) -> str:
    name = getattr(hook, "__name__", None)
    return name if isinstance(name, str) else "<unknown>"
