"""Parametrisations: parameters or buffers of a module that are computed on each access.

The module gets a class of its own, in which the name is a property; the tensors that it is computed
from belong to `module.parametrizations`.
"""

from __future__ import annotations

import contextlib
import copy
import copyreg
from collections.abc import Sequence
from typing import Any

from impl.core.grad_mode import no_grad
from impl.nn.modules.container import ModuleDict, ModuleList
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.tensor.tensor import Tensor


class _Cache:
    """The tensors computed inside `cached()`, by module and name."""

    depth = 0
    values: dict[tuple[int, str], Tensor] = {}  # noqa: RUF012 - one for all, as `depth`


@contextlib.contextmanager
def cached():
    """A context in which a parametrised tensor is computed only on its first access
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


def _check_like(made, expected: dict[str, Any], texts: tuple[str, str, str], the="") -> None:
    """Raise ValueError unless `made` has the expected dtype and shape.

    `texts` name the operation, the expected and the actual attribute `{}` in the message.
    """
    operation, before, after = texts
    for name, old in expected.items():
        new = getattr(made, name)
        if old != new:
            raise ValueError(
                f"{operation.format(name)}, unless {the}`unsafe` flag is enabled.\n"
                f"{before.format(name)}: {old}\n{after.format(name)}: {new}"
            )


def _check_tensor(made) -> None:
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")


_CHANGED = "Registering a parametrization may not change the {} of the tensor"


class ParametrizationList(ModuleList):
    """The parametrisations of one tensor, in order, and the input of the first: `original`, or
    `original0`, `original1` and so on if its `right_inverse` returns several tensors.

    Raises ValueError without modules, and for a result of another dtype or shape than the tensor's
    unless `unsafe` (torch.nn.utils.parametrize.ParametrizationList).
    """

    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape = original.shape  # the error for None names this attribute
        expected = {"dtype": original.dtype, "shape": shape}
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
            _check_tensor(made)
            _check_like(made, expected, (_CHANGED, "unparametrized {}", "parametrized {}"))

    def _keep_one(self, original: Tensor, new: Tensor) -> None:
        if original.dtype != new.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
            )
        # The same tensor object: an optimizer may refer to it.
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
        """Set the originals so that the tensor becomes `value`, by the inverses in reverse order.

        Raises RuntimeError for a missing inverse, ValueError if an inverse returns another number,
        type or dtype of originals.
        """
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
    """A deep copy of the same class, without the class's `__getstate__`."""
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
    """Compute a parameter or buffer of the module by `parametrization` on each access.

    Its input is the original tensor, or the `right_inverse` of that, or the result of the
    parametrisations registered before. Raises ValueError for an unknown name, and if dtype or shape
    change unless `unsafe`; returns the module
    (torch.nn.utils.parametrize.register_parametrization).
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
    _check_tensor(after)
    expected = {"dtype": before.dtype, "shape": before.shape}
    texts = _CHANGED, f"module.{name}.{{}}", f"parametrization(module.{name}).{{}}"
    _check_like(after, expected, texts, "the ")
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
    _check_like(inverse, expected, texts, "the ")


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of the module is parametrised, or any tensor if none is named."""
    held = getattr(module, "parametrizations", None)
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Register the tensor itself again: its current value, or the original unless
    `leave_parametrized`. Raises ValueError for a tensor that is not parametrised, and if there are
    several originals (torch.nn.utils.parametrize.remove_parametrizations)."""
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
    """The class of the module without parametrisations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrisations of all tensors or of one, and share the originals.

    Returns the other module.
    """
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
