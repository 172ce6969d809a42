"""Calls of a module: registration of hooks, and `forward` with hooks around it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from impl.core.method_names import part_of
from impl.graph.hooks import RemovableHandle
from impl.nn.modules import global_hooks
from impl.nn.modules.backward_hooks import BackwardHook, hook_last_node
from impl.nn.modules.global_hooks import ForwardHook
from impl.tensor.tensor import Tensor

_HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_is_full_backward_hook",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
)


def _register(
    hooks: OrderedDict, hook, prepend: bool = False, marks: tuple[dict, ...] = ()
) -> RemovableHandle:
    handle = RemovableHandle.add(hooks, hook, marks)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


@part_of("Module")
class Calling:
    """The part of a module that registers hooks and calls them around `forward`."""

    _forward_pre_hooks: OrderedDict[int, Any]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: OrderedDict[int, Any]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _backward_pre_hooks: OrderedDict[int, Any]
    _backward_hooks: OrderedDict[int, Any]
    _is_full_backward_hook: bool | None  # None without backward hooks

    def _impl_init_hooks(self) -> None:
        for name in _HOOKS:
            made: Any = None if name == "_is_full_backward_hook" else OrderedDict()
            object.__setattr__(self, name, made)

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Call `hook(module, args)` before `forward`; it may return other arguments.

        With `with_kwargs`, `hook(module, args, kwargs)`, which may return both.
        """
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return _register(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ):
        """Call `hook(module, args, output)` after `forward`; it may return another output.

        With `with_kwargs`, `hook(module, args, kwargs, output)`; with `always_call`, also when
        `forward` raises.
        """
        marks = (self._forward_hooks_with_kwargs,) if with_kwargs else ()
        if always_call:
            marks = (*marks, self._forward_hooks_always_called)
        return _register(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Call `hook(module, grad_output)` when the outputs' gradients are known; it may return
        other gradients."""
        return _register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known; it
        may return other gradients of the inputs. RuntimeError after `register_backward_hook`."""
        return self.__register_backward(hook, True, prepend)

    def register_backward_hook(self, hook):
        """Call `hook(module, grad_input, grad_output)` with the gradients of the call's last node
        (deprecated). RuntimeError after `register_full_backward_hook`."""
        return self.__register_backward(hook, False)

    def __register_backward(self, hook, full: bool, prepend: bool = False) -> RemovableHandle:
        kinds = () if self._is_full_backward_hook is None else (self._is_full_backward_hook,)
        global_hooks.check_same_kind(kinds, full, "on a single Module")
        self._is_full_backward_hook = full
        return _register(self._backward_hooks, hook, prepend)

    def _impl_pre_hooks_of_calls(self) -> list[ForwardHook]:
        asking = self._forward_pre_hooks_with_kwargs
        own = [ForwardHook(hook, n in asking) for n, hook in self._forward_pre_hooks.items()]
        return [*global_hooks.FORWARD_PRE.values(), *own]

    def _impl_hooks_of_calls(self) -> list[tuple[int, ForwardHook]]:
        """Numbers and hooks, those of all modules first."""
        asking, always = self._forward_hooks_with_kwargs, self._forward_hooks_always_called
        own = [
            (n, ForwardHook(hook, n in asking, n in always))
            for n, hook in self._forward_hooks.items()
        ]
        return [*global_hooks.FORWARD.items(), *own]

    def _impl_backward_hooks_of(self, full: bool) -> list:
        hooks = [hook for hook, kind in global_hooks.BACKWARD.values() if kind is full]
        own = self._backward_hooks.values() if self._is_full_backward_hook is full else ()
        return [*hooks, *own]

    def __call__(self, *args, **kwargs):
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or global_hooks.any_on_calls()
        ):
            return self.forward(*args, **kwargs)  # type: ignore[attr-defined]
        call = _Call(self, args, kwargs)
        try:
            return call.run()
        except Exception:
            call.run_always_called()
            raise


class _Call:
    """One call of a module with hooks: arguments and result, as the hooks so far have left them."""

    def __init__(self, module: Calling, args: tuple, kwargs: dict) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.always_called: set[int] = set()  # the hooks with `always_call` that have begun

    def run(self):
        """The result of `forward`, with all hooks around it."""
        module = self.module
        # Which backward hooks there are is settled before the first hook of forward runs.
        hooks, non_full = (
            module._impl_backward_hooks_of(True),
            module._impl_backward_hooks_of(False),
        )
        pre_hooks = [*global_hooks.BACKWARD_PRE.values(), *module._backward_pre_hooks.values()]
        for entry in module._impl_pre_hooks_of_calls():
            self._run_pre_hook(entry)
        backward_hook = None
        if pre_hooks or hooks:
            backward_hook = BackwardHook(module, hooks, pre_hooks)
            self.args = backward_hook.wrap_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)  # type: ignore[attr-defined]
        for number, entry in module._impl_hooks_of_calls():
            if entry.always_call:
                self.always_called.add(number)
            self._run_hook(entry, entry.with_kwargs)
        if backward_hook is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}",
                    stacklevel=2,
                )
            self.result = backward_hook.wrap_outputs(self.result)
        if non_full:
            hook_last_node(module, non_full, self.args, self.result)
        return self.result

    def run_always_called(self) -> None:
        """Run the hooks with `always_call` that have not run, after an exception."""
        for number, entry in self.module._impl_hooks_of_calls():
            if not entry.always_call or number in self.always_called:
                continue
            everywhere = number in global_hooks.FORWARD
            try:
                # As in torch, a global hook gets no keyword arguments here, also if it asks.
                self._run_hook(entry, entry.with_kwargs and not everywhere)
            except Exception as error:
                which = "global module" if everywhere else "module"
                warnings.warn(
                    f"{which} forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {error}",
                    stacklevel=2,
                )

    def _run_hook(self, entry: ForwardHook, with_kwargs: bool) -> None:
        given = (self.args, self.kwargs) if with_kwargs else (self.args,)
        changed = entry.hook(self.module, *given, self.result)
        if changed is not None:
            self.result = changed

    def _run_pre_hook(self, entry: ForwardHook) -> None:
        given = (self.args, self.kwargs) if entry.with_kwargs else (self.args,)
        changed = entry.hook(self.module, *given)
        if changed is None:
            return
        if not entry.with_kwargs:
            self.args = changed if isinstance(changed, tuple) else (changed,)
        elif isinstance(changed, tuple) and len(changed) == 2:
            self.args, self.kwargs = changed
        else:
            raise RuntimeError(
                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                f"{changed}."
            )
