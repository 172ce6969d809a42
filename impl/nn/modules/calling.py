"""Calling a module: hooks before and after `forward`, and around its backward."""

from __future__ import annotations

import warnings
from typing import Any

from impl.hooks import RemovableHandle
from impl.modes import STATE
from impl.nn.modules import every_module as every
from impl.nn.modules.every_module import Settings
from impl.nn.modules.last_node import hook_last_node
from impl.tensor import Tensor


def _register(hooks: dict, hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle.add(hooks, hook)
    if prepend:
        others = {number: other for number, other in hooks.items() if number != handle.id}
        hooks.clear()
        hooks[handle.id] = hook
        hooks.update(others)
    return handle


class Calling:
    """The part of a module that calls `forward` with hooks around it."""

    _before: dict[int, Settings]
    _after: dict[int, Settings]
    _entering: dict[int, Any]
    _leaving: dict[int, Any]
    _is_full_backward_hook: bool | None = None  # of which kind those are that leave

    def _without_hooks(self) -> None:
        for name in ("_before", "_after", "_entering", "_leaving"):
            object.__setattr__(self, name, {})

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Call `hook(module, args)` before `forward`; it may return other arguments.

        With `with_kwargs`, `hook(module, args, kwargs)`, which may return both.
        """
        return _register(self._before, Settings(hook, with_kwargs), prepend)

    def _hooks_before(self) -> list:
        return [settings.hook for settings in self._before.values()]

    def _take_hook_before(self, chosen):
        """The first hook before `forward` that `chosen` says yes to, which is no more; or None."""
        for number, settings in self._before.items():
            if chosen(settings.hook):
                del self._before[number]
                return settings.hook
        return None

    def register_forward_hook(
        self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ):
        """Call `hook(module, args, output)` after `forward`; it may return another output.

        With `with_kwargs`, `hook(module, args, kwargs, output)`; with `always_call`, also when
        `forward` has raised.
        """
        return _register(self._after, Settings(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Call `hook(module, grad_output)` when the outputs' gradients are known; it may return
        others."""
        return _register(self._entering, hook, prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known; it
        may return other gradients of the inputs. RuntimeError after `register_backward_hook`."""
        return self._register_leaving(hook, True, prepend)

    def register_backward_hook(self, hook):
        """Call `hook(module, grad_input, grad_output)` with the gradients of the call's last node
        (deprecated). RuntimeError after `register_full_backward_hook`."""
        return self._register_leaving(hook, False)

    def _register_leaving(self, hook, full: bool, prepend: bool = False) -> RemovableHandle:
        kinds = () if self._is_full_backward_hook is None else (self._is_full_backward_hook,)
        every.check_one_kind(kinds, full, "on a single Module")
        self._is_full_backward_hook = full
        return _register(self._leaving, hook, prepend)

    def _backward_hooks_of(self, full: bool) -> list:
        hooks = [hook for hook, kind in every.LEAVING.values() if kind is full]
        own = self._leaving.values() if self._is_full_backward_hook is full else ()
        return [*hooks, *own]

    def __call__(self, *args, **kwargs):
        hooked = self._before or self._after or self._entering or self._leaving
        if not (hooked or every.are_hooked()):
            return self.forward(*args, **kwargs)  # type: ignore[attr-defined]
        called: set[int] = set()
        try:
            return self._call(args, kwargs, called)
        except Exception:
            self._after_failure(args, kwargs, called)
            raise

    def _call(self, args, kwargs, called):
        for settings in (*every.BEFORE.values(), *self._before.values()):
            args, kwargs = self._prepared(settings, args, kwargs)
        around = None
        leaving = self._backward_hooks_of(True)
        entering = [*every.ENTERING.values(), *self._entering.values()]
        if entering or leaving:
            around = _Around(self, leaving, entering)
            args = around.enter(args)
        result = self.forward(*args, **kwargs)  # type: ignore[attr-defined]
        for number, settings in (*every.AFTER.items(), *self._after.items()):
            if settings.always:
                called.add(number)
            given = (args, kwargs, result) if settings.named else (args, result)
            changed = settings.hook(self, *given)
            if changed is not None:
                result = changed
        if around is not None:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(result)}",
                    stacklevel=3,
                )
            result = around.leave(result)
        older = self._backward_hooks_of(False)
        if older:
            hook_last_node(self, older, args, result)
        return result

    def _prepared(self, settings: Settings, args, kwargs):
        if not settings.named:
            changed = settings.hook(self, args)
            if changed is None:
                return args, kwargs
            return (changed if isinstance(changed, tuple) else (changed,)), kwargs
        changed = settings.hook(self, args, kwargs)
        if changed is None:
            return args, kwargs
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(
                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                f"{changed}."
            )
        return changed

    def _after_failure(self, args, kwargs, called) -> None:
        for number, settings in (*every.AFTER.items(), *self._after.items()):
            if not settings.always or number in called:
                continue
            which = "global module" if number in every.AFTER else "module"
            try:
                given = (args, kwargs, None) if settings.named else (args, None)
                settings.hook(self, *given)
            except Exception as error:
                warnings.warn(
                    f"{which} forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {error}",
                    stacklevel=3,
                )


class _Around:
    """The backward hooks of one call: identities around the module catch its gradients.

    The node after the outputs runs first and keeps their gradients; the one before the inputs runs
    last and hands both to the hooks.
    """

    def __init__(self, module, hooks, pre_hooks) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.gradients: tuple | None = None
        self.inputs: list[int] | None = None
        self.input_count = 0

    def enter(self, args: tuple) -> tuple:
        """The arguments behind an identity, if any of them requires grad."""
        node, self.inputs, args = _identities(args)
        self.input_count = len(args)
        if node is not None:
            node.register_hook(self._left)
        return args

    def leave(self, result):
        """The result behind an identity, if any part of it requires grad."""
        alone = not isinstance(result, tuple)
        node, outputs, results = _identities((result,) if alone else result)
        if node is not None:
            count = len(results)
            node.register_hook(lambda _, gradients: self._entered(gradients, outputs, count))
        return results[0] if alone else results

    def _entered(self, gradients, outputs, count: int):
        packed = _packed(outputs, gradients, count)
        for hook in self.pre_hooks:
            changed = hook(self.module, packed)
            if changed is None:
                continue
            if len(changed) != count:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(changed)}, but expected {count}"
                )
            packed = changed
        self.gradients = packed
        if self.inputs is None:
            self._leave_at_once(packed)
        return tuple(packed[i] for i in outputs)

    def _leave_at_once(self, gradients) -> None:
        """No input requires grad, so that there is nothing to wait for."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See https://docs.pytorch.org/docs/main/"
            "generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more "
            "details.",
            stacklevel=5,
        )
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.input_count, gradients)
            nothing = isinstance(result, tuple) and all(r is None for r in result)
            if result is not None and not nothing:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.gradients = None

    def _left(self, gradients, _):
        if self.gradients is None:
            # It came to the input by another way than through the output.
            return None
        assert self.inputs is not None
        packed = _packed(self.inputs, gradients, self.input_count)
        for hook in self.hooks:
            changed = hook(self.module, packed, self.gradients)
            if changed is None:
                continue
            if len(changed) != len(packed):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, got "
                    f"{len(changed)}, but expected {len(packed)}"
                )
            packed = changed
        self.gradients = None
        return tuple(packed[i] for i in self.inputs)


def _packed(places, values, count: int) -> tuple:
    result = [None] * count
    for place, value in zip(places, values, strict=True):
        result[place] = value
    return tuple(result)


def _identities(values: tuple):
    """The node of an identity on all tensors, their places, and the values with what it returns.

    Without a node, and without places, where nothing is recorded.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (STATE.enabled and any(values[i].requires_grad for i in places)):
        return None, None, values
    made = _identity()(*(values[i] for i in places))
    node = next(t.grad_fn for t in made if t.grad_fn is not None)
    changed = list(values)
    for place, value in zip(places, made, strict=True):
        changed[place] = value
    rest = tuple(changed) if type(values) is tuple else type(values)(*changed)
    return node, places, rest


def _identity():
    from impl.nn.modules.identity import BackwardHookFunction

    return BackwardHookFunction.apply
