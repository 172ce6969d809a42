"""Observation of what a program has bound: read without disturbing, as JSON."""

from __future__ import annotations

import re
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from math import isfinite, prod
from types import ModuleType
from typing import Any

import numpy as np

from conformance.trace import Observation

# A longer graph is cut, so that a trace stays readable.
GRAPH_NODES = 64
NESTING = 8

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_TRIGGERED = re.compile(r"\s*\(Triggered internally at .*?\)\s*\Z", re.DOTALL)
_FORWARD_CALL = "Traceback of forward call that "
_FRAMES = re.compile(rf"(?<={_FORWARD_CALL})([^:\n]*:).*", re.DOTALL)

# The stack that pybind11 adds to what Python code raised under it.
_STACK = re.compile(r"\n\nAt:\n(?:  [^\n]*\(\d+\): [^\n]*(?:\n|$))+")

_NUMBERS = frozenset((bool, int, float, complex))

# Without these a tensor cannot be compared at all, so their absence is an error, not a lack.
_ESSENTIAL = ("shape", "dtype", "values", "requires_grad", "grad")


def text(value: Any) -> str:
    """Return `str(value)` less what differs from one process to the next; never raises."""
    try:
        plain = value if type(value) is str else str(value)
    except Exception as error:
        return f"<{type(value).__name__} whose str() raises {type(error).__name__}>"
    if not isinstance(plain, str):
        return f"<{type(value).__name__}>"
    if _FORWARD_CALL in plain:
        plain = _FRAMES.sub(r"\1", plain)
    if "\n\nAt:\n" in plain:
        plain = _STACK.sub("", plain)
    if "0x" in plain:
        plain = _ADDRESS.sub("0x...", plain)
    # A lone surrogate can be written to no UTF-8 file.
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode("utf-8")


def failure(error: BaseException) -> dict[str, str]:
    """Return an exception's class name and message."""
    return {"type": type(error).__name__, "message": text(error)}


def warning_text(message: Any) -> str:
    """Return a warning's message without the place in torch's sources that issued it."""
    return _TRIGGERED.sub("", text(message))


def elements(values: list[Any]) -> list[Any]:
    """Return flat numbers as JSON has them: "nan", "inf", "-inf" as strings, complex as pairs."""
    if values and isinstance(values[0], complex):
        return [elements([v.real, v.imag]) for v in values]
    if all(map(isfinite, values)):
        return values
    return [v if isfinite(v) else str(v) for v in values]


class Observer:
    """Observes the tensors of one program on one torch-shaped namespace.

    Holds every storage it has seen, so that no address is used twice, and otherwise no tensor:
    a `.grad` is known again by a weak reference (a strong one where the backend allows no other).
    """

    def __init__(self, namespace: Any) -> None:
        self._tensor_class = _class(namespace, "Tensor")
        self._size_class: Any = _class(namespace, "Size")
        self._dtype_class = _class(namespace, "dtype")
        self._labels: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._storages: list[Any] = []
        self._grads: dict[str, Callable[[], Any]] = {}
        self._dtypes: dict[Any, str] = {}
        self._live: Mapping[str, Any] = {}

    def names(self, live: Mapping[str, Any]) -> dict[str, Observation]:
        """Return the observation of every name in `live`."""
        with self._looking_at(live):
            return {name: self._value(value, name, 0) for name, value in live.items()}

    def result(self, value: Any, live: Mapping[str, Any]) -> Observation:
        """Return the observation of an expression's value, which has no name."""
        with self._looking_at(live):
            return self._value(value, None, 0)

    @contextmanager
    def _looking_at(self, live: Mapping[str, Any]) -> Iterator[None]:
        """Know the live names for a while; what looking at them warns of is no program's doing."""
        self._live = live
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield
            finally:
                self._live = {}

    def is_tensor(self, value: Any) -> bool:
        """Say whether `value` is a tensor of the namespace; never raises."""
        if self._tensor_class is not None:
            return isinstance(value, self._tensor_class)
        kind = type(value)
        return all(hasattr(kind, name) for name in ("requires_grad", "shape", "dtype", "backward"))

    def _value(self, value: Any, name: str | None, depth: int) -> Observation:
        try:
            return self._observation(value, name, depth)
        except Exception as error:
            return {"kind": "object", "type": _type_name(value), "error": failure(error)}

    def _observation(self, value: Any, name: str | None, depth: int) -> Observation:
        if value is None:
            return {"kind": "none"}
        if self.is_tensor(value):
            return self._tensor(value, name)
        if isinstance(value, bool):
            return {"kind": "bool", "value": bool(value)}
        if isinstance(value, int):
            return {"kind": "int", "value": int(value)}
        if isinstance(value, float):
            return {"kind": "float", "value": elements([float(value)])[0]}
        if isinstance(value, complex):
            return {"kind": "complex", "value": elements([complex(value)])[0]}
        if isinstance(value, str):
            return {"kind": "str", "value": text(str(value))}
        if self._size_class is not None and isinstance(value, self._size_class):
            return {"kind": "size", "value": [int(n) for n in value]}
        if self._dtype_class is not None and isinstance(value, self._dtype_class):
            return {"kind": "dtype", "value": self._dtype(value)}
        if isinstance(value, (np.ndarray, np.generic)):
            return _array(value)
        if isinstance(value, (list, tuple, dict)) and depth < NESTING:
            return self._container(value, name, depth)
        if hasattr(type(value), "next_functions"):
            return {"kind": "node", "name": _type_name(value)}
        return {"kind": "object", "type": _type_name(value)}

    def _container(
        self, value: list[Any] | tuple[Any, ...] | dict[Any, Any], name: str | None, depth: int
    ) -> Observation:
        if isinstance(value, dict):
            keyed = {k if isinstance(k, str) else _key(k): v for k, v in value.items()}
            items = {k: self._value(v, _part(name, repr(k)), depth + 1) for k, v in keyed.items()}
            return {"kind": "dict", "items": items}
        kind = "list" if isinstance(value, list) else "tuple"
        parts = [self._value(v, _part(name, i), depth + 1) for i, v in enumerate(value)]
        return {"kind": kind, "items": parts}

    def _tensor(self, tensor: Any, name: str | None) -> Observation:
        known = self._grads.get(name) if name is not None else None
        try:  # every field read at once; what goes wrong is then found field by field
            return self._all_fields(tensor, name)
        except Exception:
            # The gradient may have been read: it must not count as seen before.
            if name is not None:
                self._grads.pop(name, None)
                if known is not None:
                    self._grads[name] = known
            return self._each_field(tensor, name)

    def _all_fields(self, tensor: Any, name: str | None) -> Observation:
        grad_fn = tensor.grad_fn
        return {
            "kind": "tensor",
            "shape": list(map(int, tensor.shape)),
            "dtype": self._dtype(tensor.dtype),
            "values": _values(tensor),
            "grad": self._grad(tensor, name),
            "requires_grad": bool(tensor.requires_grad),
            "is_leaf": bool(tensor.is_leaf),
            "has_grad_fn": grad_fn is not None,
            "retains_grad": bool(tensor.retains_grad),
            "output_nr": int(tensor.output_nr),
            "strides": list(map(int, tensor.stride())),
            "offset": int(tensor.storage_offset()),
            "version": int(tensor._version),
            "is_view": bool(tensor._is_view()),
            "storage": self._storage(tensor, name),
            "grad_fn": None if grad_fn is None else type(grad_fn).__name__,
            "graph": self._graph(grad_fn),
        }

    def _each_field(self, tensor: Any, name: str | None) -> Observation:
        """Read one field after the other: one that raises is an error, one that is absent is left.

        A backend says that it has no notion of a field by AttributeError or NotImplementedError.
        """
        readers: dict[str, Callable[[], Any]] = {
            "shape": lambda: list(map(int, tensor.shape)),
            "dtype": lambda: self._dtype(tensor.dtype),
            "values": lambda: _values(tensor),
            "grad": lambda: self._grad(tensor, name),
            "requires_grad": lambda: bool(tensor.requires_grad),
            "is_leaf": lambda: bool(tensor.is_leaf),
            "has_grad_fn": lambda: tensor.grad_fn is not None,
            "retains_grad": lambda: bool(tensor.retains_grad),
            "output_nr": lambda: int(tensor.output_nr),
            "strides": lambda: list(map(int, tensor.stride())),
            "offset": lambda: int(tensor.storage_offset()),
            "version": lambda: int(tensor._version),
            "is_view": lambda: bool(tensor._is_view()),
            "storage": lambda: self._storage(tensor, name),
            "grad_fn": lambda: None if tensor.grad_fn is None else _type_name(tensor.grad_fn),
            "graph": lambda: self._graph(tensor.grad_fn),
        }
        observation: Observation = {"kind": "tensor"}
        for field, read in readers.items():
            try:
                observation[field] = read()
            except Exception as error:
                lacks = isinstance(error, (AttributeError, NotImplementedError))
                if field in _ESSENTIAL or not lacks:
                    observation[field] = {"error": failure(error)}
        return observation

    def _dtype(self, dtype: Any) -> str:
        name = self._dtypes.get(dtype)
        if name is None:
            name = self._dtypes[dtype] = text(dtype).rpartition(".")[2]
        return name

    def _grad(self, tensor: Any, name: str | None) -> Observation | None:
        grad = tensor.grad
        if grad is None:
            if name is not None:
                self._grads.pop(name, None)
            return None
        observation: Observation = {}
        for field, read in (
            ("shape", lambda: list(map(int, grad.shape))),
            ("dtype", lambda: self._dtype(grad.dtype)),
            ("values", lambda: _values(grad)),
            ("strides", lambda: list(map(int, grad.stride()))),
        ):
            try:
                observation[field] = read()
            except Exception as error:
                lacks = isinstance(error, (AttributeError, NotImplementedError))
                if field in _ESSENTIAL or not lacks:
                    observation[field] = {"error": failure(error)}
        if name is not None:
            previous = self._grads.get(name)
            observation["same"] = previous is not None and previous() is grad
            self._grads[name] = _reference(grad)
        return observation

    def _storage(self, tensor: Any, name: str | None) -> str:
        storage = tensor.untyped_storage()
        key = storage._cdata
        label = self._labels.get(key)
        if label is None:
            stem = label = name or "result"
            count = 1
            while label in self._taken:
                count += 1
                label = f"{stem}#{count}"
            self._taken.add(label)
            self._labels[key] = label
            self._storages.append(storage)
        return label

    def _graph(self, root: Any) -> list[str]:
        """Return the nodes below `root` in preorder, each with its edges."""
        if root is None:
            return []
        numbers, order = self._numbered(root)
        lines = []
        for node, edges in order[:GRAPH_NODES]:
            if type(node).__name__ == "AccumulateGrad":
                lines.append(f"AccumulateGrad {self._name_of(node.variable)}".rstrip())
                continue
            parts = [_edge(numbers, next_node, nr) for next_node, nr in edges]
            lines.append(f"{type(node).__name__}({', '.join(parts)})")
        if len(order) > GRAPH_NODES:
            lines.append("...")
        return lines

    def _numbered(self, root: Any) -> tuple[dict[int, int], list[tuple[Any, Any]]]:
        """Number nodes in preorder, at most one more than is shown; `order` keeps them alive."""
        numbers: dict[int, int] = {}
        order: list[tuple[Any, Any]] = []
        waiting = [root]
        while waiting and len(order) <= GRAPH_NODES:
            node = waiting.pop()
            if id(node) in numbers:
                continue
            edges = node.next_functions
            numbers[id(node)] = len(order)
            order.append((node, edges))
            waiting.extend(n for n, _ in reversed(edges) if n is not None)
        return numbers, order

    def _name_of(self, variable: Any) -> str:
        return next((name for name, value in self._live.items() if value is variable), "")


def _edge(numbers: dict[int, int], node: Any, nr: int) -> str:
    if node is None:
        return "-"
    number = numbers.get(id(node))
    if number is None or number >= GRAPH_NODES:
        return "..."
    return f"#{number}:{nr}" if nr else f"#{number}"


def _values(tensor: Any) -> list[Any]:
    shape = tensor.shape
    values = tensor.tolist()
    if not isinstance(values, list):
        values = [values]
    for _ in range(len(shape) - 1):
        values = list(chain.from_iterable(values))
    if len(values) != prod(shape):
        raise ValueError(f"tolist() gives {len(values)} values for the shape {tuple(shape)}")
    if not _NUMBERS.issuperset(map(type, values)):
        values = [_number(value) for value in values]
    return elements(values)


def _number(value: Any) -> Any:
    """Return a port's own kind of number as Python's."""
    plain = value.item() if hasattr(value, "item") else value
    if type(plain) not in _NUMBERS:
        raise TypeError(f"tolist() gives {type(value).__name__} objects, which are no numbers")
    return plain


def _array(value: Any) -> Observation:
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        return {"kind": "object", "type": "ndarray"}
    return {
        "kind": "array",
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "values": elements(array.reshape(-1).tolist()),
    }


def _reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _class(namespace: Any, name: str) -> type | None:
    found = getattr(namespace, name, None)
    return found if isinstance(found, type) else None


def _type_name(value: Any) -> str:
    return type(value).__name__


def _part(name: str | None, key: Any) -> str | None:
    return None if name is None else f"{name}[{key}]"


def _key(key: Any) -> str:
    if isinstance(key, (bool, int, float, complex, bytes, type(None), tuple)):
        return text(repr(key))
    return f"<{type(key).__name__}>"


def is_observed(name: str, value: Any, namespace: Any) -> bool:
    """Say whether a live name is observed: not `torch`, not dunder names, not modules."""
    if name == "torch" or (name.startswith("__") and name.endswith("__")):
        return False
    return not isinstance(value, ModuleType) and value is not namespace
