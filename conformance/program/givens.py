"""Given tensors, which are bound before a program's first statement, as source and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Given:
    """A tensor that is bound before a program's first statement.

    `values` are flat, in logical row-major order; numbers, with complex ones as `complex`.
    `strides` in elements, None where the tensor is contiguous. Raises ValueError where the number
    of values is not the shape's, or where strides make elements share memory with other values.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    values: tuple[Any, ...]
    strides: tuple[int, ...] | None = None
    requires_grad: bool = False

    def __post_init__(self) -> None:
        if len(self.values) != math.prod(self.shape):
            raise ValueError(
                f"{self.name}: shape {self.shape} takes {math.prod(self.shape)} values, "
                f"not {len(self.values)}"
            )
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise ValueError(f"{self.name}: {len(self.strides)} strides for shape {self.shape}")

    def source(self) -> str:
        """Return the one line of source that binds the tensor."""
        flag = ", requires_grad=True" if self.requires_grad else ""
        if not self.values:
            dtype = "" if self.dtype == "float32" else f", dtype=torch.{self.dtype}"
            return f"{self.name} = torch.empty({self.shape}{dtype}{flag})"
        dtype = "" if self._dtype_is_inferred() else f", dtype=torch.{self.dtype}"
        if self.strides is None:
            data = self._nested(self.shape, iter(self.values))
            return f"{self.name} = torch.tensor({data}{dtype}{flag})"
        storage = ", ".join(self._element(v) for v in self._storage())
        tail = ".requires_grad_()" if self.requires_grad else ""
        return (
            f"{self.name} = torch.tensor([{storage}]{dtype})"
            f".as_strided({self.shape}, {self.strides}).detach(){tail}"
        )

    def _dtype_is_inferred(self) -> bool:
        return self.dtype in ("float32", "int64", "bool", "complex64")

    def _nested(self, shape: tuple[int, ...], values: Iterator[Any]) -> str:
        if not shape:
            return self._element(next(values))
        return "[" + ", ".join(self._nested(shape[1:], values) for _ in range(shape[0])) + "]"

    def _element(self, value: Any) -> str:
        if self.dtype == "bool":
            return str(bool(value))
        if self.dtype.startswith("complex"):
            value = complex(value)
            return f"complex({_float(value.real)}, {_float(value.imag)})"
        return _float(float(value)) if "float" in self.dtype else str(int(value))

    def _storage(self) -> list[Any]:
        strides = self.strides or ()
        extent = 1 + sum((n - 1) * s for n, s in zip(self.shape, strides, strict=True))
        storage: dict[int, Any] = {}
        for value, index in zip(self.values, _indices(self.shape), strict=True):
            at = sum(i * s for i, s in zip(index, strides, strict=True))
            if at in storage and repr(storage[at]) != repr(value):
                raise ValueError(f"{self.name}: strides {strides} give one place two values")
            storage[at] = value
        return [storage.get(at, 0) for at in range(extent)]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; non-finite numbers are strings, complex ones pairs."""
        return {
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "values": [_value_to_json(v) for v in self.values],
            "strides": None if self.strides is None else list(self.strides),
            "requires_grad": self.requires_grad,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Given:
        """Return the given tensor that `to_json` wrote."""
        return cls(
            data["name"],
            data["dtype"],
            tuple(data["shape"]),
            tuple(_value_from_json(v) for v in data["values"]),
            None if data.get("strides") is None else tuple(data["strides"]),
            data.get("requires_grad", False),
        )


def _indices(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for rest in _indices(shape[1:]):
            yield (first, *rest)


def _float(value: float) -> str:
    return repr(value) if math.isfinite(value) else f"float('{value}')"


def _value_to_json(value: Any) -> Any:
    if isinstance(value, complex):
        return [_value_to_json(value.real), _value_to_json(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _value_from_json(value: Any) -> Any:
    if isinstance(value, list):
        return complex(*(float(_value_from_json(v)) for v in value))
    return float(value) if isinstance(value, str) else value
