"""Conversions of tensors to Python numbers and lists, and to arrays of NumPy, as methods of Tensor
(csrc/autograd/python_variable.cpp, csrc/utils/tensor_numpy.cpp)."""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dtypes import FLOATING
from impl.core.meta_arrays import MetaArray
from impl.core.registry import method_of, tensor_ops
from impl.core.sparse_array import SparseArray
from impl.core.state import STATE
from impl.core.traced import check_not_traced
from impl.core.warning import warn_once
from impl.tensor.tensor import DISPATCHING, Tensor, dispatches, is_asked, requires_grad
from impl.tensor.wrappers import refuse_pointer


@method_of(Tensor)
def item(self):
    """The only element as a Python number. Raises RuntimeError for more than one, on the meta
    device, and for a value that a function of `linearize` computes."""
    if self._raw.size != 1:
        raise RuntimeError(f"a Tensor with {self._raw.size} elements cannot be converted to Scalar")
    if (STATE.dispatch_modes or DISPATCHING) and is_asked(self):
        return tensor_ops.dispatched_aten("_local_scalar_dense", self)
    if type(self._raw) is MetaArray:
        raise RuntimeError(messages.META_ITEM)
    if STATE.transforms:
        check_not_traced(self)
    return _python(_single(self._raw))


@method_of(Tensor)
def tolist(self):
    """The elements as nested lists of Python numbers (a number if 0-dim).

    Raises RuntimeError for a ZeroTensor with elements, and for a class with
    `__torch_dispatch__`; NotImplementedError on the meta device.
    """
    if DISPATCHING and dispatches(self):
        raise RuntimeError(messages.SUBCLASS_LIST.format(type(self).__name__))
    if type(self._raw) is MetaArray:
        raise NotImplementedError(messages.NO_DATA)
    functional = any(one.functional and one.holds(self) for one in STATE.transforms)
    if (functional or self._is_zerotensor()) and self._raw.size:
        raise RuntimeError("tolist() shouldn't be called on a tensor with unallocated storage")
    return _python(self._raw)


@method_of(Tensor)
def numpy(self, *, force: bool = False) -> np.ndarray:
    """The memory as an array, without a copy."""
    if DISPATCHING and dispatches(self):
        raise RuntimeError(messages.SUBCLASS_ARRAY)
    if type(self._raw) is MetaArray:
        if force:
            raise NotImplementedError(messages.NO_DATA)
        raise TypeError(messages.META_NUMPY)
    if not force and STATE.enabled and requires_grad(self):
        raise RuntimeError(messages.NUMPY_REQUIRES_GRAD)
    refuse_pointer()  # torch detaches it first, into a wrapper
    if not force and self._is_zerotensor():
        raise RuntimeError(
            " Cannot convert a ZeroTensor to numpy. Set force=True if you need the zero array."
        )
    if self._raw.dtype.kind == "V":
        raise TypeError("Got unsupported ScalarType BFloat16")
    self._storage.is_resizable = False
    return (self.detach() if force or STATE.dispatch_modes else self)._array()


@method_of(Tensor)
def __array__(self, dtype=None):  # without `copy`, as torch's: NumPy warns, and copies itself
    array = self.numpy()
    return array if dtype is None else array.astype(dtype, copy=False)


@method_of(Tensor)
def __bool__(self) -> bool:
    if self._raw.size == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if self._raw.size > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if type(self._raw) is MetaArray:
        raise RuntimeError(messages.META_ITEM)
    if (STATE.dispatch_modes or DISPATCHING) and is_asked(self):
        return bool(self.item())
    if STATE.transforms:
        check_not_traced(self)
    return bool(_single(self._raw))


@method_of(Tensor)
def __float__(self) -> float:
    _warn_conversion(self)
    return float(_real_item(self, "double"))


@method_of(Tensor)
def __int__(self) -> int:
    return int(_real_item(self, "int64_t"))


def _real_item(self, c_name: str):
    value = _only_item(self)
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type {c_name} without overflow")
        return value.real
    return value


@method_of(Tensor)
def __complex__(self) -> complex:
    _warn_conversion(self)
    return complex(_only_item(self))


def _only_item(self):
    if self._raw.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return self.item()


@method_of(Tensor)
def __index__(self) -> int:
    if self._raw.size != 1 or self.dtype.category >= FLOATING:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


def _warn_conversion(self) -> None:
    if STATE.enabled and requires_grad(self):
        warn_once(messages.SCALAR_CONVERSION)


def _single(raw):
    """The only element of a value, as an array without dimensions; the integer zero where a sparse
    one stores none (ATen's item)."""
    if type(raw) is SparseArray:
        raw = raw.to_dense() if raw.nnz else np.array(0)
    return raw.reshape(())


def _python(raw):
    """The elements of an array as Python numbers."""
    if raw.dtype.kind == "V":  # bfloat16, for which NumPy has no conversion to Python
        raw = raw.astype(np.float32)
    return raw.tolist()
