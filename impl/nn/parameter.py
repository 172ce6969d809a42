"""Parameters and buffers, initialised or not."""

from __future__ import annotations

import types
from collections import OrderedDict
from typing import Any

import numpy as np

from impl.core import inference_mode, messages
from impl.core.devices import CPU
from impl.core.dtypes import FLOATING, get_default_dtype
from impl.core.grad_mode import check_bool
from impl.core.registry import C
from impl.core.sizes import Size
from impl.core.state import STATE
from impl.factories.copy_and_pickle import own_attributes, with_state
from impl.factories.creation import empty
from impl.tensor.dispatching import DisableTorchDispatch
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.sparse_tensor import SPARSE, SparseTensor
from impl.tensor.tensor import PLAIN, Tensor, blank, copy_fields, new
from impl.tensor.torch_function import SILENT, DisableTorchFunctionSubclass, disabled, overrides


class _ParameterType(type(Tensor)):  # type: ignore[misc]
    """Tensors with the mark `_is_param` are instances of `Parameter`."""

    def __instancecheck__(cls, instance) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and _is_marked(instance)


def _is_marked(tensor: Tensor) -> bool:
    return getattr(tensor, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterType):
    """A detached alias of `data` that requires grad (torch.nn.Parameter); data of a program's own
    class keeps its class.

    Raises RuntimeError for integers unless `requires_grad=False`, and where `detach` changes the
    class.
    """

    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = new(np.empty(0, get_default_dtype().numpy))
        if overrides(data) or type(data) not in PLAIN | SILENT:
            return _marked(data, requires_grad)
        source = _unseen_alias(data) if STATE.dispatch_modes else data.detach()
        check_bool("_make_subclass", "require_grad", 3, requires_grad)
        if isinstance(source, LazyConjTensor):
            raise NotImplementedError("a Parameter over memory that is conjugated when it is read")
        if requires_grad and source.dtype.category < FLOATING:
            raise RuntimeError(messages.ONLY_FLOATING)
        if requires_grad:
            inference_mode.check_flag(source)
        result = blank(_SparseParameter if source.is_sparse and cls is Parameter else cls)
        copy_fields(result, source)
        result._requires_grad = bool(requires_grad)
        return result

    def __deepcopy__(self, memo: dict) -> Parameter:
        """A parameter with a copy of the data, without the gradient."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        """The call that rebuilds the parameter, without hooks, of which nothing warns."""
        attributes = own_attributes(self)
        parts: tuple = self.data, self.requires_grad, OrderedDict()
        if attributes:
            return _rebuild_parameter_with_state, (*parts, attributes)
        return _rebuild_parameter, parts

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()


class _SparseParameter(SparseTensor, Parameter):  # type: ignore[metaclass]
    """A Parameter over a sparse tensor."""

    __deepcopy__ = Parameter.__deepcopy__
    __reduce_ex__ = Parameter.__reduce_ex__
    __repr__ = Parameter.__repr__


_SparseParameter.__name__ = _SparseParameter.__qualname__ = "Parameter"  # torch has only one class
SPARSE.add(_SparseParameter)
PLAIN.add(Parameter)
SILENT.add(_SparseParameter)


def _rebuild_parameter(data, requires_grad, backward_hooks) -> Any:
    """A parameter (torch._utils._rebuild_parameter)."""
    parameter = Parameter(data, requires_grad)
    parameter._hooks = backward_hooks
    return parameter


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state) -> Any:
    """A parameter with a program's attributes (torch._utils._rebuild_parameter_with_state)."""
    return with_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


_rebuild_parameter.__module__ = _rebuild_parameter_with_state.__module__ = "impl._utils"


def _unseen_alias(data: Tensor) -> Tensor:
    """The detached alias that no dispatch mode sees."""
    with DisableTorchDispatch():
        return data.detach()


def _marked(data: Tensor, requires_grad: bool) -> Tensor:
    result = data.detach()._requiring_grad(requires_grad)
    if type(result) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
            f"detach() returns an instance of the same type, but return type "
            f"{type(result).__name__} was found instead. To use the type as a Parameter, please "
            "correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    result._is_param = True  # type: ignore[attr-defined]
    return result


def empty_parameter(size, wanted: Any = True, *, device=None, dtype=None) -> Any:
    """A parameter without initial values; None unless `wanted`."""
    return Parameter(C.empty(size, device=device, dtype=dtype)) if wanted else None


class _BufferType(type(Tensor)):  # type: ignore[misc]
    """Tensors with the mark `_is_buffer` are instances of `Buffer`."""

    def __instancecheck__(cls, instance) -> bool:
        marked = isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return (marked and cls is Buffer) or super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferType):
    """A detached alias of `data`, which a module registers as a buffer when it is assigned; it is
    part of the state if `persistent` (torch.nn.Buffer)."""

    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Any = None, *, persistent: bool = True):
        if data is None:
            data = empty(0)
        result = data.detach()._requiring_grad(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


# -- uninitialised ------------------------------------------------------------------------------


_METHODS = (types.FunctionType, types.MethodDescriptorType)
_CONVERSIONS = ("half", "float", "double", "char", "short", "int", "long", "cuda", "cpu", "to")
_ALLOWED = {
    "copy_",
    "share_memory_",
    "size",
    "is_complex",
    "is_floating_point",
    "get_device",
    *_CONVERSIONS,
}


class UninitializedTensorMixin:
    """A tensor with a dtype, but without shape and values until `materialize`.

    Raises RuntimeError for access to its shape, ValueError for operators on it, unless no
    `__torch_function__` is asked: then it is a tensor without elements.
    """

    __slots__ = ()

    cls_to_become: type[Tensor] = Tensor
    _requires_grad: bool
    _kind: Any

    def materialize(self, shape, device=None, dtype=None) -> None:
        """Become an uninitialised tensor of a shape, and of another dtype if one is given."""
        value = C.empty(shape, device=device, dtype=dtype or self._kind)
        itself: Any = self
        required, memory = itself._requires_grad, itself._memory
        uncounted = itself._uncounted
        del itself._kind
        itself.__class__ = self.cls_to_become
        copy_fields(itself, value)
        itself._requires_grad = required
        # The version counter stays, as where `data` is set.
        itself._uncounted = uncounted
        if memory is not None and memory.version:
            itself._storage.version = memory.version

    def size(self, dim: int | None = None):
        """The size of a tensor without elements."""
        return Size((0,)) if dim is None else 0

    def copy_(self, src, non_blocking: bool = False):
        """Copy no elements: a state without shapes is loaded so, which counts as a write."""
        with DisableTorchFunctionSubclass():
            return super().copy_(src, non_blocking)  # type: ignore[misc]

    def __getattribute__(self, name: str):
        found = super().__getattribute__(name)
        if not STATE.torch_function:
            return found
        public = name == "_is_view" or not name.startswith("_")
        if public and name not in _ALLOWED and isinstance(getattr(Tensor, name, None), _METHODS):
            return lambda *args, **kwargs: self._refuse(
                f"<method '{name}' of 'torch._C.TensorBase' objects>"
            )
        return found

    @property
    def device(self):
        """The device on which it will be materialised: the CPU."""
        return CPU

    @property
    def is_meta(self) -> bool:
        """False: it is on the CPU."""
        return False

    @property
    def _raw(self):
        if STATE.torch_function:
            self._refuse("an operator")
        return np.empty(0, self._kind.numpy)

    def _refuse(self, what: str):
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {what}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating `torch.nn.parameter."
            f"{type(self).__name__}` objects. When using LazyModules Call `forward` with a dummy "
            "batch to initialize the parameters before calling torch functions"
        )

    @property
    def dtype(self):
        return self._kind

    @property
    def data(self):
        return empty(0, dtype=self._kind)

    @data.setter
    def data(self, value) -> None:
        self._kind = value.dtype

    @property
    def ndim(self) -> int:
        return 1

    @property
    def itemsize(self) -> int:
        return self._kind.itemsize

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return f"<{type(self).__name__}>"

    def share_memory_(self):
        """Raises RuntimeError."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __reduce_ex__(self, protocol):
        return type(self), (self._requires_grad,)


def _conversion(name: str):
    def convert(self, *args, **named):
        made = getattr(empty(0, dtype=self._kind), name)(*args, **named)
        return type(self)(False, dtype=made.dtype)

    convert.__name__ = name
    convert.__doc__ = f"An uninitialised tensor of the dtype that `{name}` gives."
    return convert


for _name in _CONVERSIONS:
    setattr(UninitializedTensorMixin, _name, _conversion(_name))


def is_lazy(param) -> bool:
    """Whether a parameter or buffer is uninitialised."""
    return isinstance(param, UninitializedTensorMixin)


def _without_value(cls, requires_grad: bool, device, dtype):
    kind = C.empty(0, device=device, dtype=dtype).dtype
    check_bool("_make_subclass", "require_grad", 3, requires_grad)
    if requires_grad and kind.category < FLOATING:
        raise RuntimeError(messages.ONLY_FLOATING)
    result = blank(cls)
    result._kind = kind
    result._requires_grad = requires_grad
    if STATE.inference:
        result._inference = result._uncounted = True
    return result


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc, metaclass]
    """A parameter without a shape yet (torch.nn.UninitializedParameter)."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _without_value(cls, requires_grad, device, dtype)

    def __deepcopy__(self, memo: dict):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self._requires_grad, None, self._kind)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer without a shape yet (torch.nn.UninitializedBuffer)."""

    __torch_function__ = staticmethod(disabled)

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        result = _without_value(cls, requires_grad, device, dtype)
        result.persistent = persistent
        result._is_buffer = True
        return result

    def __deepcopy__(self, memo: dict):
        """Raises ValueError: torch copies uninitialised parameters alone."""
        self._refuse(f"<function Tensor.__deepcopy__ at {id(Tensor.__deepcopy__):#x}>")
