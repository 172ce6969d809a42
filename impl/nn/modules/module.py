"""`Module`: parameters, buffers and modules by name, and calls with hooks around them."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from impl.core.registry import FUNCTIONS
from impl.nn.modules.calling import Calling
from impl.nn.modules.conversion import Convertible
from impl.nn.modules.global_hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from impl.nn.modules.state import Stateful
from impl.nn.parameter import Buffer, Parameter
from impl.tensor.tensor import Tensor

__all__ = [
    "Module",
    "check_buffer",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


# Hooks that modules of older versions do not have.
_ADDED = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _cannot_assign(value, target: str, expected: str) -> TypeError:
    return TypeError(f"cannot assign '{FUNCTIONS['typename'](value)}' {target} ({expected})")


def check_buffer(name: str, value) -> None:
    """Raise TypeError for a buffer that is neither a tensor nor None."""
    if value is not None and not isinstance(value, Tensor):
        raise _cannot_assign(value, f"object to buffer '{name}'", "torch Tensor or None required")


class Module(Calling, Convertible, Stateful):
    """The base of all layers and models (torch.nn.Module).

    Parameters and modules are registered when they are assigned as attributes, buffers by
    `register_buffer`. Subclasses define `forward`.
    """

    training: bool
    call_super_init = False  # whether `__init__` passes its arguments on to the next class
    dump_patches = False
    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    #: Attributes that modules of older versions do not have, with the values that they get.
    _impl_added_attributes: ClassVar[dict[str, Any]] = {}

    def __init__(self, *args, **kwargs) -> None:
        if (args or kwargs) and not self.call_super_init:
            why = f"takes 1 positional argument but {len(args) + 1} were given"
            if kwargs:
                why = f"got an unexpected keyword argument '{next(iter(kwargs))}'"
            raise TypeError(f"{type(self).__name__}.__init__() {why}")
        set_attribute = super().__setattr__
        set_attribute("training", True)
        set_attribute("_parameters", {})
        set_attribute("_buffers", {})
        set_attribute("_non_persistent_buffers_set", set())
        self._impl_init_hooks()
        self._impl_init_state_hooks()
        set_attribute("_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over the attributes that `__getstate__` returned, and add those that modules of
        older versions lack."""
        self.__dict__.update(state)
        for name in _ADDED:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)
        self.__dict__.setdefault("_backward_pre_hooks", OrderedDict())
        for name, value in self._impl_added_attributes.items():
            self.__dict__.setdefault(name, value)

    def compile(self, *args, **kwargs) -> None:
        """Nothing: calls are not compiled (torch.nn.Module.compile)."""

    def forward(self, *input) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    forward.__qualname__ = "_forward_unimplemented"

    # -- parameters, buffers and submodules -----------------------------------------------------

    def __setattr__(self, name: str, value) -> None:
        held = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in held:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self.__forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in held.get("_parameters", ()):
            if value is not None:
                expected = "torch.nn.Parameter or None expected"
                raise _cannot_assign(value, f"as parameter '{name}'", expected)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in held:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self.__forget(name, "_modules")
            self._modules[name] = registered("module", self, name, value)
        elif name in held.get("_modules", ()):
            if value is not None:
                expected = "torch.nn.Module or None expected"
                raise _cannot_assign(value, f"as child module '{name}'", expected)
            self._modules[name] = registered("module", self, name, value)
        elif isinstance(value, Buffer) or name in held.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                expected = "torch.nn.Buffer, torch.Tensor or None expected"
                raise _cannot_assign(value, f"as buffer '{name}'", expected)
            if isinstance(value, Buffer):
                persistent = value.persistent
            else:
                persistent = name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, persistent)
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(kind)
            if held is not None and name in held:
                return held[name]
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self
        )

    def __delattr__(self, name: str) -> None:
        if not self.__forget(name):
            super().__delattr__(name)

    def __forget(self, name: str, but: str = "") -> bool:
        """Remove an attribute, except from the kind `but`; whether it existed."""
        found = False
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind == but:
                continue
            found = getattr(self, kind).pop(name, self) is not self or found
        self._non_persistent_buffers_set.discard(name)
        if name in self.__dict__:
            del self.__dict__[name]
            found = True
        return found

    def __check_name(self, what: str, name, held: dict) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {FUNCTIONS['typename'](name)}")
        if "." in name:
            got = f", got: {name}" if what == "module" else ""
            raise KeyError(f'{what} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in held:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param) -> None:
        """Add a parameter, or None as a placeholder.

        Raises KeyError for an invalid or existing name, TypeError unless given a Parameter,
        ValueError for a non-leaf.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self.__check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            expected = "torch.nn.Parameter or None required"
            raise _cannot_assign(param, f"object to parameter '{name}'", expected)
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, "
                "compute the value in the forward() method."
            )
        if param is not None:
            param = registered("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor, persistent: bool = True) -> None:
        """Add a buffer, which is part of the state if `persistent`.

        Raises KeyError for an invalid or existing name, TypeError unless given a tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self.__check_name("buffer", name, self._buffers)
        check_buffer(name, tensor)
        self._buffers[name] = registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module) -> None:
        """Add a submodule, or None.

        Raises KeyError for an invalid or existing name, TypeError unless given a module.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{FUNCTIONS['typename'](module)} is not a Module subclass")
        self.__check_name("module", name, self._modules)
        self._modules[name] = registered("module", self, name, module)

    def register_module(self, name: str, module) -> None:
        """Like `add_module`."""
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """The submodule of a dotted name; this one for "". AttributeError if there is none."""
        module = self
        for name in () if target == "" else target.split("."):
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Set the submodule of a dotted name, which must exist if `strict`.

        Raises ValueError for an empty name and unless given a module, AttributeError if the name is
        missing or not a module's.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        *path, name = target.split(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(".".join(path))
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def __owner(self, target: str) -> tuple[Module, str]:
        """The module that a dotted name's attribute belongs to, and the attribute's name.

        Raises AttributeError if there is none.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module, name

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name. Raises AttributeError if there is none."""
        module, name = self.__owner(target)
        found = getattr(module, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name. Raises AttributeError if there is none."""
        module, name = self.__owner(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    # -- traversal ------------------------------------------------------------------------------

    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True):
        """This module and its submodules with their dotted names, without duplicates."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inner = prefix + ("." if prefix else "") + name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def _named_members(self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool):
        memo = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for place, module in modules:
            for name, value in getattr(module, kind).items():
                if value is None or value in memo:
                    continue
                if remove_duplicate:
                    memo.add(value)
                yield place + ("." if place else "") + name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names, without duplicates."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, without duplicates."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names, without duplicates."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, without duplicates."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names, without duplicates."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules, without duplicates."""
        for _, module in self.named_children():
            yield module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and its submodules, without duplicates."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call `fn` with each submodule, then with this module; returns this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- modes ----------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Module:
        """Set training mode of this module and its submodules. ValueError unless given a bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """Set evaluation mode of this module and its submodules."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set `requires_grad` of all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set all gradients to None, or to zero in place."""
        for parameter in self.parameters():
            if parameter._own_grad is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            gradient = parameter._own_grad
            if gradient.grad_fn is not None:
                gradient.detach_()
            else:
                gradient.requires_grad_(False)
            gradient.zero_()

    # -- text -----------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The settings in the module's text."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        inner = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        if lines and not inner and len(lines) == 1:
            return f"{self._get_name()}({lines[0]})"
        body = lines + inner
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(body) + "\n" if body else "") + ")"

    def __dir__(self):
        held = (self._parameters, self._buffers, self._modules)
        names = itertools.chain(super().__dir__(), *held)
        return sorted(name for name in set(names) if not name[0].isdigit())
