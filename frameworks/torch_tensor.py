"""A tensor of a torch-shaped namespace: its dtype, properties and infix operators."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from frameworks.tape import Tensor

_NAMES = (
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "bool",
)


class Dtype:
    """A dtype with torch's name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numpy = np.dtype(getattr(ml_dtypes, name, None) or name)
        self.is_floating_point = "float" in name
        self.is_complex = name.startswith("complex")

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class Size(tuple[int, ...]):
    """A tensor's shape (torch.Size)."""


DTYPES = {name: Dtype(name) for name in (*_NAMES, "bfloat16")}


class TorchTensor(Tensor):
    """The attributes of every tensor besides the library's operators."""

    torch: Any

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            found = self.tape.library.operators.get(name)
            if found is not None:
                operator = getattr(self.torch, name)
                return lambda *args, **options: operator(self, *args, **options)
        raise AttributeError(f"a tensor on this tape has no {name!r}", name=name, obj=self)

    @property
    def shape(self) -> Size:
        return Size(self.values.shape)

    @property
    def dtype(self) -> Dtype:
        return DTYPES[self.values.dtype.name]

    @property
    def ndim(self) -> int:
        return self.values.ndim

    def dim(self) -> int:
        return self.values.ndim

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return self.values.size

    def tolist(self) -> Any:
        return self.values.tolist()

    def item(self) -> Any:
        return self.values.item()

    def is_floating_point(self) -> builtins.bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> builtins.bool:
        return self.dtype.is_complex

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> builtins.bool:
        if self.values.size != 1:
            several = "more than one value" if self.values.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {several} is ambiguous")
        return bool(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return (self.torch.getitem(self, i) for i in range(len(self)))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"tensor({self.tolist()})"

    def requires_grad_(self, flag: bool = True) -> Any:
        if flag and self.values.dtype.kind not in "fcV":
            raise RuntimeError("only tensors of floating point and complex dtype require grad")
        if not flag and self.call is not None:
            raise RuntimeError("only a leaf can stop requiring grad")
        self.requires_grad = self.requires_grad or flag if self.call else flag
        return self

    def detach(self) -> Any:
        return self.torch.Tensor(self.tape, self.native)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        self.torch._backward(self, gradient, retain_graph, create_graph, inputs)

    @property
    def real(self) -> Any:
        return self.torch.real(self) if self.is_complex() else self

    @real.setter
    def real(self, value: Any) -> None:
        _written()

    @property
    def imag(self) -> Any:
        return self.torch.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        _written()

    @property
    def T(self) -> Any:
        return self.torch.permute(self, tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Any:
        return self.torch.transpose(self, -1, -2)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NotImplementedError("writing in place")


def _written(*_: Any) -> Any:
    raise NotImplementedError("writing in place")


def _beside(tensor: Any, value: Any) -> Any:
    """A number operand as a tensor: some libraries' functions take no numbers."""
    kinds = (int, float, complex) if tensor.is_complex() else (int, float)
    if not isinstance(value, kinds) or tensor.values.dtype.kind in "biu":
        return value
    return tensor.torch.tensor(value, dtype=tensor.dtype)


# Without `pow`: a tensor exponent would have a gradient.
_ARITHMETIC = ("add", "sub", "mul", "div")


def _infix(name: str, turned: bool = False) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        run = getattr(self.torch, name, None)
        if run is None:
            raise NotImplementedError(f"torch.{name}")
        if name in _ARITHMETIC:
            others = tuple(_beside(self, other) for other in others)
        return run(*others, self) if turned else run(self, *others)

    return method


_INFIX = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "matmul": "matmul",
    "mod": "remainder",
    "floordiv": "floor_divide",
}
for _symbol, _name in _INFIX.items():
    setattr(TorchTensor, f"__{_symbol}__", _infix(_name))
    setattr(TorchTensor, f"__r{_symbol}__", _infix(_name, turned=True))
    setattr(TorchTensor, f"__i{_symbol}__", _written)
for _symbol in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TorchTensor, f"__{_symbol}__", _infix(_symbol))
for _symbol in ("neg", "abs", "getitem"):
    setattr(TorchTensor, f"__{_symbol}__", _infix(_symbol))
