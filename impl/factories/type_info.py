"""Queries of tensors and dtypes: `torch.is_tensor`, `torch.result_type`, `torch.finfo`."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from impl.core import dtypes
from impl.core.dtypes import BY_NUMPY, COMPLEX, FLOATING, dtype
from impl.core.named_types import NamedType, type_name
from impl.core.read_only import add_read_only
from impl.core.registry import FUNCTIONS
from impl.core.storage import Storage
from impl.factories.storages import TypedStorage
from impl.tensor.tensor import Tensor


def _publish(question):
    FUNCTIONS[question.__name__] = question
    return question


def _tensor(name: str, input) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}"
        )
    return input


@_publish
def is_tensor(obj) -> bool:
    """Whether an object is a tensor (torch.is_tensor)."""
    return isinstance(obj, Tensor)


@_publish
def numel(input) -> int:
    """The number of elements (torch.numel)."""
    return _tensor("numel", input).numel()


@_publish
def is_floating_point(input) -> bool:
    """Whether the dtype is a floating one (torch.is_floating_point)."""
    return _tensor("is_floating_point", input).is_floating_point()


@_publish
def is_complex(input) -> bool:
    """Whether the dtype is complex (torch.is_complex)."""
    return _tensor("is_complex", input).is_complex()


@_publish
def is_inference(input) -> bool:
    """Whether a tensor is an inference tensor (torch.is_inference)."""
    return _tensor("is_inference", input).is_inference()


@_publish
def is_nonzero(input) -> bool:
    """Whether the single element is not zero (torch.is_nonzero)."""
    return bool(_tensor("is_nonzero", input))


@_publish
def is_same_size(input, other) -> bool:
    """Whether both tensors have the same sizes (torch.is_same_size)."""
    return input._raw.shape == other._raw.shape


@_publish
def is_signed(input) -> bool:
    """Whether the dtype has negative numbers (torch.is_signed)."""
    return _tensor("is_signed", input).is_signed()


@_publish
def is_storage(obj) -> bool:
    """Whether an object is a storage (torch.is_storage)."""
    return isinstance(obj, (Storage, TypedStorage))


@_publish
def is_distributed(input) -> bool:
    """False (torch.is_distributed)."""
    return False


@_publish
def get_device(input) -> int:
    """-1, as of any tensor on the CPU (torch.get_device)."""
    return _tensor("get_device", input).get_device()


@_publish
def detach(input) -> Tensor:
    """`input.detach()` (torch.detach)."""
    return _tensor("detach", input).detach()


@_publish
def detach_(input) -> Tensor:
    """`input.detach_()` (torch.detach_)."""
    return _tensor("detach_", input).detach_()


@_publish
def typename(obj) -> str:
    """The name of a tensor's legacy type, or of an object's class (torch.typename)."""
    if isinstance(obj, Tensor):
        return f"torch.{obj.dtype.legacy}Tensor"
    named = obj if hasattr(obj, "__name__") else type(obj)
    name = getattr(named, "__qualname__", None) or named.__name__
    module = getattr(named, "__module__", None) or "builtins"
    return name if module == "builtins" else f"{_torch_module(module)}.{name}"


def _torch_module(module: str) -> str:
    """A module as torch names it: one of impl's stands for that of the same path."""
    root, _, rest = module.partition(".")
    return module if root != "impl" else f"torch.{rest}" if rest else "torch"


@_publish
def result_type(tensor1, tensor2) -> dtype:
    """The dtype that type promotion of both yields (torch.result_type)."""
    return dtypes.result_dtype([v._raw if isinstance(v, Tensor) else v for v in (tensor1, tensor2)])


@_publish
def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of one dtype may be cast to another, whose category must not be lower."""
    return from_.category <= to.category


class _Limits(metaclass=NamedType):
    """Limits of a dtype, which are equal for equal dtypes."""

    dtype: str

    def __eq__(self, other) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


def _read_dtype(name: str, value) -> dtype:
    """A dtype, or that of a Python type. Raises TypeError for another object."""
    if isinstance(value, type) and value in dtypes.PYTHON_DTYPES:
        return dtypes.PYTHON_DTYPES[value]
    if not isinstance(value, dtype):
        raise TypeError(
            f"{name}(): argument 'type' (position 1) must be torch.dtype, not "
            f"{type(value).__name__}"
        )
    return value


_NOT_GIVEN = object()


class finfo(_Limits):
    """The limits of a floating dtype, by default the default one (torch.finfo).

    Raises TypeError for another dtype.
    """

    __module__ = "impl"

    def __init__(self, type: Any = _NOT_GIVEN) -> None:
        d = dtypes.get_default_dtype() if type is _NOT_GIVEN else _read_dtype("finfo", type)
        if d.category < FLOATING:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        if d.category == COMPLEX:
            d = dtypes.real_of(d)
        limits = ml_dtypes.finfo(d.numpy)
        self.dtype = d.name
        self.bits = limits.bits
        self.eps, self.max, self.min = (float(v) for v in (limits.eps, limits.max, limits.min))
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = float(f"{float(limits.resolution):.0e}")

    def __repr__(self) -> str:
        values = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        text = ", ".join(f"{name}={getattr(self, name):.6g}" for name in values)
        return f"finfo({text}, dtype={self.dtype})"


class iinfo(_Limits):
    """The limits of an integer dtype (torch.iinfo). Raises TypeError for another dtype."""

    __module__ = "impl"

    def __init__(self, type: dtype) -> None:
        type = _read_dtype("iinfo", type)
        if type is dtypes.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != dtypes.INTEGRAL:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        limits = np.iinfo(type.numpy)
        self.dtype, self.bits = type.name, limits.bits
        self.min, self.max = int(limits.min), int(limits.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:.6g}, max={self.max:.6g}, dtype={self.dtype})"


FUNCTIONS["finfo"], FUNCTIONS["iinfo"] = finfo, iinfo

Tensor.is_nonzero = is_nonzero
Tensor.is_same_size = is_same_size
Tensor.ndimension = Tensor.dim
add_read_only(
    Tensor, "is_cpu", lambda self: not self.is_meta, doc="Whether the tensor is on the CPU."
)
for _name in """ipu maia mkldnn mps mtia nested quantized sparse_csr vulkan xla
    xpu""".split():  # noqa: SIM905
    add_read_only(
        Tensor,
        f"is_{_name}",
        lambda self: False,
        doc="False: tensors are dense, and on no such device.",
    )
Tensor.is_distributed = lambda self: False
Tensor.dense_dim, Tensor.sparse_dim = Tensor.dim, lambda self: 0
add_read_only(
    Tensor,
    "nbytes",
    lambda self: self._raw.size * self._raw.dtype.itemsize,
    doc="The bytes the elements take.",
)
Tensor.is_signed = lambda self: BY_NUMPY[self._raw.dtype] not in (dtypes.uint8, dtypes.bool_)


def _contains(self, element) -> bool:
    """Whether any element equals a number or tensor (`element in tensor`)."""
    if not isinstance(element, (Tensor, bool, int, float, complex, np.number)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    return bool((element == self).any())


Tensor.__contains__ = _contains
Tensor.__reversed__ = lambda self: FUNCTIONS["flip"](self, (0,)) if self._raw.ndim else self
