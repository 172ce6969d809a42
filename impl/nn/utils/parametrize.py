"""Parametrisations: a parameter or buffer of a module computed from others each time it is read.

The module gets a class of its own, in which the name is a property; what it is computed from lives
in `module.parametrizations`.
"""

from __future__ import annotations

import contextlib
import copy
import copyreg
from collections.abc import Sequence
from typing import Any

from impl.modes import no_grad
from impl.nn.modules.container import ModuleDict, ModuleList
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.tensor import Tensor


class _Cache:
    """What was computed inside `cached()`, by module and name."""

    depth = 0
    values: dict[tuple[int, str], Tensor] = {}  # noqa: RUF012 - there is one, as there is one depth


@contextlib.contextmanager
def cached():
    """A block in which a parametrised tensor is computed once, however often it is read
    (torch.nn.utils.parametrize.cached)."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


def _register(module: Module, name: str, value) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _check_like(made, like: Tensor, texts: tuple[str, str, str], the: str = "") -> None:
    """Raise ValueError unless `made` has the dtype and shape of `like`; `texts` are what the
    message calls the operation and the two values."""
    operation, before, after = texts
    for what in ("dtype", "shape"):
        old, new = getattr(like, what), getattr(made, what)
        if old != new:
            raise ValueError(
                f"{operation.format(what)}, unless {the}`unsafe` flag is enabled.\n"
                f"{before.format(what)}: {old}\n{after.format(what)}: {new}"
            )


_CHANGED = "Registering a parametrization may not change the {} of the tensor"


class ParametrizationList(ModuleList):
    """The parametrisations of one tensor, in order, and what the first is applied to: `original`,
    or `original0`, `original1` and so on where its `right_inverse` gives several tensors.

    Raises ValueError without modules, and where a result has not the tensor's dtype and shape
    unless `unsafe` (torch.nn.utils.parametrize.ParametrizationList).
    """

    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, kind = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(self):  # type: ignore[call-overload]
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            made = self()
            if not isinstance(made, Tensor):
                raise ValueError(
                    f"A parametrization must return a tensor. Got {type(made).__name__}."
                )
            for what, old in (("dtype", kind), ("shape", shape)):
                if getattr(made, what) != old:
                    raise ValueError(
                        f"{_CHANGED.format(what)}, unless `unsafe` flag is enabled.\n"
                        f"unparametrized {what}: {old}\nparametrized {what}: {getattr(made, what)}"
                    )

    def _keep_one(self, original: Tensor, new: Tensor) -> None:
        if original.dtype != new.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
            )
        # The tensor stays the one that an optimizer may know.
        with no_grad():
            original.set_(new)
        _register(self, "original", original)

    def _keep_several(self, original: Tensor, new: Sequence) -> None:
        for i, value in enumerate(new):
            if not isinstance(value, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                    f"tuple...). Got element {i} of the sequence with type {type(value).__name__}."
                )
            kept = value
            if isinstance(original, Parameter):
                kept = Parameter(kept, original.requires_grad)
            kept.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", kept)

    def right_inverse(self, value) -> None:
        """Set what the tensor is computed from so that it becomes `value`, by the inverses in
        reverse order. Raises RuntimeError where there is none, ValueError for what does not fit."""
        with no_grad():
            for module in reversed(self):  # type: ignore[call-overload]
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                self._set_one(value)
            else:
                self._set_several(value)

    def _set_one(self, value) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` "
                f"has dtype {self.original.dtype}"
            )
        self.original.set_(value)

    def _set_several(self, value) -> None:
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, tensor in enumerate(value):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {i} of type {type(tensor).__name__}."
                )
            kept = getattr(self, f"original{i}")
            if kept.dtype != tensor.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} "
                    f"while `original{i}` has dtype {kept.dtype}"
                )
            kept.set_(tensor)

    def forward(self) -> Tensor:
        if self.is_tensor:
            value = self[0](self.original)
        else:
            value = self[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for i in range(1, len(self)):
            value = self[i](value)
        return value


# -- the class of a parametrised module ---------------------------------------------------------


def _no_state(self):
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _copied(self, memo: dict):
    """A deep copy, of the same class; what `copy.deepcopy` makes of any object."""
    if id(self) in memo:
        return memo[id(self)]
    memo[id(self)] = replica = self.__new__(type(self))
    replica.__dict__ = copy.deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(replica, slot, copy.deepcopy(getattr(self, slot), memo))
    return replica


def _inject_class(module: Module) -> None:
    kind = type(module)
    body: dict[str, Any] = {"__getstate__": _no_state}
    if not hasattr(kind, "__deepcopy__"):
        body["__deepcopy__"] = _copied
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), body)


def _inject_property(module: Module, name: str) -> None:
    def read(self) -> Tensor:
        parametrization = self.parametrizations[name]
        if not _Cache.depth:
            return parametrization()
        key = id(module), name
        if key not in _Cache.values:
            _Cache.values[key] = parametrization()
        return _Cache.values[key]

    def write(self, value) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


# -- registering and removing -------------------------------------------------------------------


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of the module by `parametrization`, each time it is read, from
    what it was, or from what its `right_inverse` made of that; after those registered before.

    Raises ValueError for a name that the module has not, and where dtype or shape change unless
    `unsafe`; returns the module (torch.nn.utils.parametrize.register_parametrization).
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_further(module: Module, name: str, parametrization: Any) -> None:
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    texts = _CHANGED, f"module.{name}.{{}}", f"parametrization(module.{name}).{{}}"
    _check_like(after, before, texts, "the ")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(
            "parametrization.right_inverse must return a tensor. Got: " + type(inverse).__name__
        )
    returned = "The tensor returned by parametrization.right_inverse must have the same {} as "
    texts = f"{returned}module.{name}", f"module.{name}.{{}}", "returned {}"
    _check_like(inverse, before, texts, "the ")


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether that tensor of the module, or any, is parametrised."""
    held = getattr(module, "parametrizations", None)
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Give the module the tensor itself again: its present value, or the original unless
    `leave_parametrized`. Raises ValueError for one that is not parametrised, and where there are
    several originals to leave (torch.nn.utils.parametrize.remove_parametrizations)."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if held.is_tensor:
        original = held.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        original = getattr(module, tensor_name)
        if original.requires_grad:
            original = Parameter(original)
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before anything of it was parametrised."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrise another module alike, all tensors or one, with the same originals; returns it."""
    if not is_parametrized(from_module):
        return to_module
    for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
        held = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in held:
            register_parametrization(to_module, name, parametrization)
        for kept, original in held.named_parameters(recurse=False):
            setattr(to_module.parametrizations[name], kept, original)
        for kept, original in held.named_buffers(recurse=False):
            setattr(to_module.parametrizations[name], kept, original)
    return to_module
