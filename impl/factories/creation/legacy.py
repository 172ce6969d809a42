"""`new_*`, and the constructors from before there were factories: `torch.FloatTensor(...)`."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

import numpy as np

from impl.core import context, dtypes, inference_mode
from impl.core.devices import device
from impl.core.dtypes import dtype
from impl.core.registry import tensor_ops
from impl.core.sizes import negative_size, sizes_of
from impl.core.storage import Storage
from impl.core.strides import unboxed
from impl.core.warning import warn, warn_once
from impl.dispatch.batching_rules import sized
from impl.factories.creation.constants import empty_strided, full
from impl.factories.creation.from_data import (
    COPY_WARNING,
    array_copy,
    as_tensor,
    copy_of,
    lifted,
    moved,
)
from impl.factories.creation.literals import array_of
from impl.factories.creation.options import check_place, factory, flagged, listed, one_by_one
from impl.factories.creation.placement import place_of
from impl.factories.storages import TypedStorage
from impl.tensor.tensor import Tensor, new, new_constant
from impl.tensor.torch_function import DisableTorchFunction


def _new_constant(name: str, make):
    @sized
    def constant(self, size, *, dtype=None):
        made = make(size, self._raw.dtype if dtype is None else dtype.numpy)
        return made if make is np.empty else inference_mode.count_made(self, new(unboxed(made)))

    constant.__name__ = constant.__qualname__ = name
    constant.__doc__ = f"A tensor of the given sizes in the dtype of this one (Tensor.{name})."
    return factory(constant, sized=one_by_one, method=True)


new_zeros = _new_constant("new_zeros", np.zeros)
new_ones = _new_constant("new_ones", np.ones)
new_empty = _new_constant("new_empty", np.empty)


@factory(sized=listed, method=True)
@sized
def new_full(self, size, fill_value, *, dtype=None):
    """A tensor filled with one value, in the dtype of this one (torch.Tensor.new_full)."""
    return inference_mode.count_made(self, full(size, fill_value, dtype=dtype or self.dtype))


@factory(method=True)
def new_empty_strided(self, size, stride, dtype=None):
    """A tensor with the given strides in the dtype of this one (Tensor.new_empty_strided)."""
    return empty_strided(size, stride, dtype=dtype or self.dtype)


def new_tensor(
    self, data, *, dtype=None, requires_grad=False, device=None, pin_memory=False
) -> Tensor:
    """A copy of `data` in the dtype of this tensor (torch.Tensor.new_tensor)."""
    if isinstance(data, Tensor):
        warn(COPY_WARNING.format("tensor.new_tensor"))
        made = copy_of(data, dtype or self.dtype, device)
        return flagged("new_tensor", made, requires_grad)
    check_place(device, pin_memory)
    if isinstance(data, np.ndarray):
        made = array_copy(data, dtype or self.dtype)
    else:
        made = new_constant(array_of(data, dtype or self.dtype))
    made = lifted(moved(made, place_of(device, self)))
    return flagged("new_tensor", made, requires_grad)


def legacy_constructor(
    d: dtype, *args, device=None, size=None, data=None, any_dtype: bool = False
) -> Tensor:
    """`torch.FloatTensor(...)`: data if a sequence is given, else uninitialised sizes.

    An array's memory is shared, and so is a tensor's. Raises TypeError for a number that is no
    size, and for a tensor of another dtype unless `any_dtype`; RuntimeError for another device.
    """
    if device is not None:
        _check_cpu(device)
    args = args if data is None else (data,)
    if size is not None:
        args = tuple(size)
    if len(args) == 1 and _is_data(args[0]):
        (data,) = args
        if isinstance(data, TypedStorage):
            data = data.untyped()
        if isinstance(data, Storage):
            return new(np.empty(0, d.numpy)).set_(data)
        if isinstance(data, Tensor):
            with DisableTorchFunction():
                return _alias_of(data, d, any_dtype)
        if isinstance(data, tuple) and hasattr(data, "numel"):  # a torch.Size gives sizes
            return _uninitialised(data, d)
        if not hasattr(data, "__getitem__") or isinstance(data, np.generic):
            raise TypeError(f"new(): data must be a sequence (got {_name_of(type(data))})")
        return as_tensor(data, d)
    if not args:
        return new(np.empty(0, d.numpy))
    return _uninitialised(sizes_of(args), d)


def _alias_of(data: Tensor, d: dtype, any_dtype: bool) -> Tensor:
    if data.dtype is not d and not any_dtype:
        raise TypeError(f"expected {_options_text(d)} (got {_options_text(data.dtype)})")
    return tensor_ops.alias(data)


def _uninitialised(sizes, d: dtype) -> Tensor:
    if any(n < 0 for n in sizes):
        raise negative_size(sizes)
    result = new(np.empty(sizes, d.numpy))
    if context.fills_uninitialised():
        context.fill_uninitialised(result._array())
    return result


def _is_data(value) -> bool:
    """Whether the only argument is data, not a size."""
    if isinstance(value, np.ndarray):
        return value.ndim != 0 or value.dtype.kind not in "iu"
    return isinstance(value, (bool, Tensor)) or not hasattr(value, "__index__")


def _name_of(kind: type) -> str:
    return f"numpy.{kind.__name__}" if issubclass(kind, np.generic) else kind.__name__


def _check_cpu(place) -> None:
    kind = device(place).type
    if kind != "cpu":
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {kind} was passed"
        )


def _options_text(d: dtype) -> str:
    return (
        f"TensorOptions(dtype={d.c_name}, device=cpu, layout=Strided, "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    )


def _new(self, *args, device=None, size=None, data=None) -> Tensor:
    """The legacy constructor in the dtype of this tensor (torch.Tensor.new)."""
    return legacy_constructor(self.dtype, *args, device=device, size=size, data=data)


_new.reads_sequences = True  # type: ignore[attr-defined]


Tensor.new, Tensor.new_tensor = _new, new_tensor


class _LegacyType(type):
    """`torch.FloatTensor` and its like: callable, and a class tensors are instances of."""

    dtype: dtypes.dtype

    def __call__(cls, *args, **kwargs):
        return legacy_constructor(cls.dtype, *args, **kwargs)

    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


LEGACY_TYPES = {
    f"{d.legacy}Tensor": _LegacyType(f"{d.legacy}Tensor", (), {"dtype": d, "__module__": "torch"})
    for d in dtypes.ALL
    if d.category < dtypes.COMPLEX
}


def set_default_tensor_type(t: Any, /) -> None:
    """Make the dtype of a legacy type, such as `torch.DoubleTensor`, the default floating dtype.

    `t` is the type or its name with a module ("torch.DoubleTensor"). Deprecated: warns, once in a
    process, of UserWarning. Raises TypeError for a type of no floating dtype, of CUDA, and for
    anything that is no legacy type; ImportError or AttributeError for a name that is not there
    (torch.set_default_tensor_type).
    """
    if isinstance(t, str):
        first, *rest = t.split(".")
        library = import_module("impl" if first == "torch" else first)
        t = functools.reduce(getattr, rest, library)
    warn_once(_DEFAULT_TYPE_IS_DEPRECATED)
    if isinstance(t, type) and f"{t.__module__}.{t.__name__}" in _OF_CUDA:
        t()  # raises: there is no CUDA
    if not isinstance(t, _LegacyType):
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type"
        )
    dtypes.set_default_dtype(t.dtype)


_DEFAULT_TYPE_IS_DEPRECATED = (
    "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
    "torch.set_default_dtype() and torch.set_default_device() as alternatives."
)

_OF_CUDA = {f"torch.cuda.{name}" for name in LEGACY_TYPES}
