"""Hooks on all modules: around calls and backward passes, and when something gets a name."""

from __future__ import annotations

from typing import Any

from impl.hooks import RemovableHandle


class Settings:
    """How a hook on the forward pass wants to be called."""

    __slots__ = ("always", "hook", "named")

    def __init__(self, hook, named: bool = False, always: bool = False) -> None:
        self.hook = hook
        self.named = named
        self.always = always


BEFORE: dict[int, Settings] = {}
AFTER: dict[int, Settings] = {}
ENTERING: dict[int, Any] = {}
LEAVING: dict[int, tuple[Any, bool]] = {}  # with whether it is called with all gradients
NAMING: dict[str, dict[int, Any]] = {"parameter": {}, "buffer": {}, "module": {}}


def are_hooked() -> bool:
    """Whether there is a hook around the calls of all modules."""
    return bool(BEFORE or AFTER or ENTERING or LEAVING)


def named(what: str, module, name: str, value):
    """The value that a module keeps under a name, after the hooks on that."""
    for hook in NAMING[what].values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def check_one_kind(kinds, full: bool, where: str) -> None:
    """Raise RuntimeError where hooks of both kinds would be on the same backward pass."""
    if any(kind is not full for kind in kinds):
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use "
            "only one of them."
        )


def register_module_forward_pre_hook(hook) -> RemovableHandle:
    """Call `hook(module, args)` before each module's `forward`; it may return other arguments."""
    return RemovableHandle.add(BEFORE, Settings(hook))


def register_module_forward_hook(
    hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after each module's `forward`; it may return another
    output. With `with_kwargs` it is given these after `args`, with `always_call` it is called also
    when `forward` has raised."""
    return RemovableHandle.add(AFTER, Settings(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` when the gradients of a module's outputs are known."""
    return RemovableHandle.add(ENTERING, hook)


def _register_leaving(hook, full: bool) -> RemovableHandle:
    check_one_kind((kind for _, kind in LEAVING.values()), full, "as a global Module hook")
    return RemovableHandle.add(LEAVING, (hook, full))


def register_module_full_backward_hook(hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradients of a module's inputs are
    known. RuntimeError after `register_module_backward_hook`."""
    return _register_leaving(hook, True)


def register_module_backward_hook(hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` with the gradients of a module's last node
    (deprecated). RuntimeError after `register_module_full_backward_hook`."""
    return _register_leaving(hook, False)


def register_module_parameter_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` before each registration; it may return another."""
    return RemovableHandle.add(NAMING["parameter"], hook)


def register_module_buffer_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before each registration; it may return another."""
    return RemovableHandle.add(NAMING["buffer"], hook)


def register_module_module_registration_hook(hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before each registration; it may return another."""
    return RemovableHandle.add(NAMING["module"], hook)
