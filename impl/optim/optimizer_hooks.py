"""Hooks of optimizers: around `step`, `state_dict` and `load_state_dict`, of one or of all."""

from __future__ import annotations

import functools
from collections import OrderedDict
from itertools import chain
from typing import Any

from impl.core.method_names import part_of
from impl.graph.hooks import RemovableHandle

_KINDS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)
_BEFORE_ALL: OrderedDict[int, Any] = OrderedDict()
_AFTER_ALL: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return RemovableHandle.add(_BEFORE_ALL, hook)


def register_optimizer_step_post_hook(hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return RemovableHandle.add(_AFTER_ALL, hook)


@part_of("Optimizer")
class Hooked:
    """The part of an optimizer that registers hooks, and calls them around its class's `step`."""

    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def _impl_init_hooks(self) -> None:
        for kind in _KINDS:
            self.__dict__.setdefault(kind, OrderedDict())
        self._patch_step_function()

    def _patch_step_function(self) -> None:
        """Have the `step` of the class call hooks; optimizers that wrap another call this, rather
        than the constructor."""
        cls: Any = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{cls.__name__}.zero_grad"
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    @staticmethod
    def profile_hook_step(func):
        """A `step` that calls the hooks of the optimizer, and of all optimizers, around `func`.

        Raises RuntimeError for a hook before the step that returns anything but new arguments.
        """

        @functools.wraps(func)
        def step(*args, **kwargs):
            self, *_ = args
            for hook in chain(_BEFORE_ALL.values(), self._optimizer_step_pre_hooks.values()):
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"{func} must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{changed}."
                    )
                args, kwargs = changed
            result = func(*args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _AFTER_ALL.values()):
                hook(self, args, kwargs)
            return result

        return step

    def __register(self, kind: str, hook, first: bool = False) -> RemovableHandle:
        hooks = getattr(self, kind)
        handle = RemovableHandle.add(hooks, hook)
        if first:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before every step; it may return new arguments."""
        return self.__register("_optimizer_step_pre_hooks", hook)

    def register_step_post_hook(self, hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after every step."""
        return self.__register("_optimizer_step_post_hooks", hook)

    def register_state_dict_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before the state is saved."""
        return self.__register("_optimizer_state_dict_pre_hooks", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after the state is saved; it may return another."""
        return self.__register("_optimizer_state_dict_post_hooks", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before a state is loaded; it may return another."""
        return self.__register("_optimizer_load_state_dict_pre_hooks", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after a state is loaded."""
        return self.__register("_optimizer_load_state_dict_post_hooks", hook, prepend)
