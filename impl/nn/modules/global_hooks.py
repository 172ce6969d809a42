"""Global hooks: on the calls and backward passes of all modules, and on registrations."""

from __future__ import annotations

from typing import Any

from impl.graph.hooks import RemovableHandle


class ForwardHook:
    """A forward hook or forward pre-hook, and how to call it."""

    __slots__ = ("always_call", "hook", "with_kwargs")

    def __init__(self, hook, with_kwargs: bool = False, always_call: bool = False) -> None:
        self.hook = hook
        self.with_kwargs = with_kwargs
        self.always_call = always_call


FORWARD_PRE: dict[int, ForwardHook] = {}
FORWARD: dict[int, ForwardHook] = {}
BACKWARD_PRE: dict[int, Any] = {}
BACKWARD: dict[int, tuple[Any, bool]] = {}  # the hook, and whether it is a full backward hook
_KINDS: set[bool] = set()  # of backward hooks, also of those that are removed
REGISTRATION: dict[str, dict[int, Any]] = {"parameter": {}, "buffer": {}, "module": {}}


def any_on_calls() -> bool:
    """Whether a global hook is called around forward or backward passes."""
    return bool(FORWARD_PRE or FORWARD or BACKWARD_PRE or BACKWARD)


def registered(kind: str, module, name: str, value):
    """The value to register under a name: the given value, or a hook's replacement."""
    for hook in REGISTRATION[kind].values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def check_same_kind(kinds, full: bool, where: str) -> None:
    """Raise RuntimeError if full and non-full backward hooks would be mixed."""
    if any(kind is not full for kind in kinds):
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use "
            "only one of them."
        )


def register_module_forward_pre_hook(hook) -> RemovableHandle:
    """Call `hook(module, args)` before each module's `forward`; it may return other arguments."""
    return RemovableHandle.add(FORWARD_PRE, ForwardHook(hook))


def register_module_forward_hook(
    hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after each module's `forward`; it may return another
    output. With `with_kwargs` the keyword arguments follow `args`; with `always_call` the hook is
    also called if `forward` raises."""
    return RemovableHandle.add(FORWARD, ForwardHook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` when the gradients of a module's outputs are known."""
    return RemovableHandle.add(BACKWARD_PRE, hook)


def _register_backward(hook, full: bool) -> RemovableHandle:
    check_same_kind(_KINDS, full, "as a global Module hook")
    _KINDS.add(full)
    return RemovableHandle.add(BACKWARD, (hook, full))


def register_module_full_backward_hook(hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradients of a module's inputs are
    known. RuntimeError after `register_module_backward_hook`."""
    return _register_backward(hook, True)


def register_module_backward_hook(hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` with the gradients of a module's last node
    (deprecated). RuntimeError after `register_module_full_backward_hook`."""
    return _register_backward(hook, False)


def register_module_parameter_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` before each registration; it may return another."""
    return RemovableHandle.add(REGISTRATION["parameter"], hook)


def register_module_buffer_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before each registration; it may return another."""
    return RemovableHandle.add(REGISTRATION["buffer"], hook)


def register_module_module_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before each registration; it may return another."""
    return RemovableHandle.add(REGISTRATION["module"], hook)
