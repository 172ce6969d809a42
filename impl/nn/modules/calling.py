"""Calls of a module: registration of hooks, and `forward` with hooks around it."""

from __future__ import annotations

import warnings
from typing import Any

from impl.graph.hooks import RemovableHandle
from impl.nn.modules import global_hooks
from impl.nn.modules.backward_hooks import BackwardHook, hook_last_node
from impl.nn.modules.global_hooks import ForwardHook
from impl.tensor.tensor import Tensor


def _register(hooks: dict, hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle.add(hooks, hook)
    if prepend:
        others = {number: other for number, other in hooks.items() if number != handle.id}
        hooks.clear()
        hooks[handle.id] = hook
        hooks.update(others)
    return handle


class Calling:
    """The part of a module that registers hooks and calls them around `forward`."""

    _forward_pre_hooks: dict[int, ForwardHook]
    _forward_hooks: dict[int, ForwardHook]
    _backward_pre_hooks: dict[int, Any]
    _backward_hooks: dict[int, Any]
    _is_full_backward_hook: bool | None = None  # None without backward hooks

    def _init_hooks(self) -> None:
        for direction in ("forward", "backward"):
            for name in ("pre_hooks", "hooks"):
                object.__setattr__(self, f"_{direction}_{name}", {})

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Call `hook(module, args)` before `forward`; it may return other arguments.

        With `with_kwargs`, `hook(module, args, kwargs)`, which may return both.
        """
        return _register(self._forward_pre_hooks, ForwardHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ):
        """Call `hook(module, args, output)` after `forward`; it may return another output.

        With `with_kwargs`, `hook(module, args, kwargs, output)`; with `always_call`, also when
        `forward` raises.
        """
        return _register(self._forward_hooks, ForwardHook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Call `hook(module, grad_output)` when the outputs' gradients are known; it may return
        other gradients."""
        return _register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known; it
        may return other gradients of the inputs. RuntimeError after `register_backward_hook`."""
        return self._register_backward(hook, True, prepend)

    def register_backward_hook(self, hook):
        """Call `hook(module, grad_input, grad_output)` with the gradients of the call's last node
        (deprecated). RuntimeError after `register_full_backward_hook`."""
        return self._register_backward(hook, False)

    def _register_backward(self, hook, full: bool, prepend: bool = False) -> RemovableHandle:
        kinds = () if self._is_full_backward_hook is None else (self._is_full_backward_hook,)
        global_hooks.check_same_kind(kinds, full, "on a single Module")
        self._is_full_backward_hook = full
        return _register(self._backward_hooks, hook, prepend)

    def _backward_hooks_of(self, full: bool) -> list:
        hooks = [hook for hook, kind in global_hooks.BACKWARD.values() if kind is full]
        own = self._backward_hooks.values() if self._is_full_backward_hook is full else ()
        return [*hooks, *own]

    def __call__(self, *args, **kwargs):
        if not (
            self._forward_pre_hooks
            or self._forward_hooks
            or self._backward_pre_hooks
            or self._backward_hooks
            or global_hooks.any_on_calls()
        ):
            return self.forward(*args, **kwargs)  # type: ignore[attr-defined]
        called: set[int] = set()
        try:
            return self._call(args, kwargs, called)
        except Exception:
            self._call_after_failure(args, kwargs, called)
            raise

    def _call(self, args, kwargs, called):
        for entry in (*global_hooks.FORWARD_PRE.values(), *self._forward_pre_hooks.values()):
            args, kwargs = self._call_pre_hook(entry, args, kwargs)
        backward_hook = None
        hooks = self._backward_hooks_of(True)
        pre_hooks = [*global_hooks.BACKWARD_PRE.values(), *self._backward_pre_hooks.values()]
        if pre_hooks or hooks:
            backward_hook = BackwardHook(self, hooks, pre_hooks)
            args = backward_hook.wrap_inputs(args)
        result = self.forward(*args, **kwargs)  # type: ignore[attr-defined]
        for number, entry in (*global_hooks.FORWARD.items(), *self._forward_hooks.items()):
            if entry.always_call:
                called.add(number)
            given = (args, kwargs, result) if entry.with_kwargs else (args, result)
            changed = entry.hook(self, *given)
            if changed is not None:
                result = changed
        if backward_hook is not None:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(result)}",
                    stacklevel=3,
                )
            result = backward_hook.wrap_outputs(result)
        non_full = self._backward_hooks_of(False)
        if non_full:
            hook_last_node(self, non_full, args, result)
        return result

    def _call_pre_hook(self, entry: ForwardHook, args, kwargs):
        if not entry.with_kwargs:
            changed = entry.hook(self, args)
            if changed is None:
                return args, kwargs
            return (changed if isinstance(changed, tuple) else (changed,)), kwargs
        changed = entry.hook(self, args, kwargs)
        if changed is None:
            return args, kwargs
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(
                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                f"{changed}."
            )
        return changed

    def _call_after_failure(self, args, kwargs, called) -> None:
        for number, entry in (*global_hooks.FORWARD.items(), *self._forward_hooks.items()):
            if not entry.always_call or number in called:
                continue
            which = "global module" if number in global_hooks.FORWARD else "module"
            try:
                given = (args, kwargs, None) if entry.with_kwargs else (args, None)
                entry.hook(self, *given)
            except Exception as error:
                warnings.warn(
                    f"{which} forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {error}",
                    stacklevel=3,
                )
