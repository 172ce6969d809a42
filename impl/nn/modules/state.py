"""`state_dict` and `load_state_dict` of modules, with their hooks."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from impl import __future__
from impl.core.grad_mode import no_grad
from impl.core.method_names import part_of
from impl.graph.hooks import RemovableHandle
from impl.nn.parameter import Parameter, is_lazy
from impl.tensor.tensor import Tensor
from impl.utils.swapping import swap_tensors

_EXTRA = "_extra_state"
_NO_OP = (
    "for {}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
    "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
    "state dictionary to their corresponding key in the module instead of copying them in place?)"
)


class _IncompatibleKeys(NamedTuple):
    """The names missing in a state dict, and the names that no module has."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        # super() does not work in the body of a NamedTuple.
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"


@part_of("Module")
class Stateful:
    """The part of a module that saves and loads its state."""

    _version = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_pre_hooks: dict[int, Any]
    _state_dict_hooks: dict[int, Any]
    _load_state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_post_hooks: dict[int, Any]

    def _impl_init_state_hooks(self) -> None:
        for name in ("hooks", "pre_hooks"):
            object.__setattr__(self, f"_state_dict_{name}", OrderedDict())
        for name in ("pre_hooks", "post_hooks"):
            object.__setattr__(self, f"_load_state_dict_{name}", OrderedDict())

    # -- hooks ----------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module's state is saved."""
        return RemovableHandle.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the state is saved; it may
        change the state in place. RuntimeError if it returns a value other than None."""
        hook._from_public_api = True
        return RemovableHandle.add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook) -> RemovableHandle:
        """Like `register_state_dict_post_hook`, but the hook may return another state dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return RemovableHandle.add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` before the module's state is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module: bool = False):
        return RemovableHandle.add(self._load_state_dict_pre_hooks, (hook, with_module))

    def register_load_state_dict_post_hook(self, hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after the module and its submodules are loaded; it
        may change the two lists in place. AssertionError if it returns a value."""
        return RemovableHandle.add(self._load_state_dict_post_hooks, hook)

    # -- saving ---------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Additional state that a subclass saves."""
        raise RuntimeError(_UNREACHABLE.format("get"))

    def set_extra_state(self, state: Any) -> None:
        """Load the value of `get_extra_state`."""
        raise RuntimeError(_UNREACHABLE.format("set"))

    def _save_to_state_dict(self, destination, prefix: str, keep_vars: bool) -> None:
        for name, value in self.__persistent():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def __persistent(self):
        every = itertools.chain(
            self._parameters.items(),
            ((k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set),
        )
        return ((name, value) for name, value in every if value is not None)

    def state_dict(self, *args, destination=None, prefix: str = "", keep_vars: bool = False):
        """Parameters and persistent buffers by their dotted names, detached unless `keep_vars`."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = (destination, prefix, keep_vars)
            destination, prefix, keep_vars = (*args, *given[len(args) :])[:3]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # the version of each module
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, metadata)
            if changed is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = changed
        return destination

    # -- loading --------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ):
        """Copy values into parameters and buffers of the same names, or replace them if `assign`.

        Returns the missing and the unexpected names. Raises TypeError unless given a mapping,
        RuntimeError for wrong sizes and, if `strict`, for missing and unexpected names.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None) or {}
        self.__load(OrderedDict(state_dict), "", metadata, assign, keys, errors)
        if strict:
            for what, names in (
                ("Unexpected", keys.unexpected_keys),
                ("Missing", keys.missing_keys),
            ):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{what} key(s) in state_dict: {listed}. ")
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(errors)
                )
            )
        return keys

    def __load(self, given, prefix: str, metadata, assign: bool, keys, errors: list[str]) -> None:
        own = metadata.get(prefix[:-1], {})
        if assign:
            own["assign_to_params_buffers"] = assign
        self._load_from_state_dict(
            given, prefix, own, True, keys.missing_keys, keys.unexpected_keys, errors
        )
        for name, child in self._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                part = {key: value for key, value in given.items() if key.startswith(inner)}
                child.__load(part, inner, metadata, assign, keys, errors)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict,
        prefix: str,
        local_metadata,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        rest = state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        for hook, with_module in self._load_state_dict_pre_hooks.values():
            hook(*(self, *rest) if with_module else rest)
        held = dict(self.__persistent())
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in held.items():
            key = prefix + name
            if key in state_dict:
                _load_one(self, name, key, target, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if not (first in self._modules if dot else first in held):
                        unexpected_keys.append(key)


_UNREACHABLE = (
    "Reached a code path in Module.{}_extra_state() that should never be called. Please file an "
    "issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report "
    "this bug."
)


def _load_one(module, name, key, target, value: Any, assign: bool, errors: list[str]) -> None:
    given: object = value
    if not isinstance(given, Tensor):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
        return
    if not is_lazy(target):
        if target._raw.ndim == 0 and value.shape == (1,):
            value = value[0]
        if value.shape != target.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {target.shape}."
            )
            return
    if target.is_meta and not value.is_meta and not assign:
        warnings.warn(_NO_OP.format(key), UserWarning, stacklevel=2)
    swapped = __future__.get_swap_module_params_on_conversion()
    try:
        if swapped:
            _swap(target, value, assign)
        else:
            _assign_or_copy(module, name, target, value, assign)
    except Exception as error:
        action = "swapping" if swapped else "copying"
        errors.append(
            f'While {action} the parameter named "{key}", whose dimensions in the model are '
            f"{target.size()} and whose dimensions in the checkpoint are {value.size()}, an "
            f"exception occurred : {error.args}."
        )


def _swap(target: Any, value: Any, assign: bool) -> None:
    """Swap a parameter or buffer with the result of its `module_load`. Raises RuntimeError for a
    result that is one of both."""
    with no_grad():
        loaded = target.module_load(value, assign=assign)
        if loaded is value or loaded is target:
            raise RuntimeError(
                "module_load returned one of self or other, please .detach() the result if "
                "returning one of the inputs in module_load"
            )
        if isinstance(target, Parameter):
            if isinstance(loaded, Parameter):
                loaded.requires_grad_(target.requires_grad)
            else:
                loaded = Parameter(loaded, requires_grad=target.requires_grad)
        swap_tensors(target, loaded)


def _assign_or_copy(module, name: str, target, value, assign: bool) -> None:
    with no_grad():
        if not assign:
            target.copy_(value)
            return
        if isinstance(target, Parameter):
            if isinstance(value, Parameter):
                value.requires_grad_(target.requires_grad)
            else:
                value = Parameter(value, requires_grad=target.requires_grad)
    setattr(module, name, value)
