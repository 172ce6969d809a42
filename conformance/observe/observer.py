"""The observer: reads the values that a program has bound, as JSON and without side effects."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from conformance.observe import readers
from conformance.observe.fields import CONTAINERS, Field, fields_of
from conformance.observe.texts import classes_as_torchs, failure, text
from conformance.observe.trace import Observation

# The nodes of a graph that a trace shows, so that it stays readable.
GRAPH_NODES = 64
NESTING = 8
# A bool is an int for isinstance, so the order matters.
_PLAIN_KINDS: dict[str, type] = {
    **{"bool": bool, "int": int, "float": float},
    **{"complex": complex, "str": str},
}
_CONTAINERS: dict[str, type] = {"list": list, "tuple": tuple, "dict": dict}
_TENSOR_READERS = tuple((field.name, field.read) for field in fields_of("tensor"))


class Observer:
    """Observes the tensors of one program on one torch-shaped namespace.

    Holds every storage it has seen, so that no address is reused, but no tensors:
    a `.grad` is identified by a weak reference (a strong one where the backend allows no other).
    """

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace
        self._tensor_class = _class(namespace, "Tensor")
        self._size_class: Any = _class(namespace, "Size")
        self._dtype_class = _class(namespace, "dtype")
        self._unasked = _unasked(namespace)
        self.unread_device: Any = None  # the device whose tensors' elements are not read
        self.sees_cpu = False  # whether no tensor should be on the CPU, so that one is noted
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
        """Keep the live names during an observation, whose warnings are not the program's and about
        which no `__torch_function__` of the program is asked."""
        self._live = live
        with warnings.catch_warnings(), self._unasked():
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
            return {"kind": "object", "type": type(value).__name__, "error": failure(error)}

    def _observation(self, value: Any, name: str | None, depth: int) -> Observation:
        if self.is_tensor(value):
            return self._tensor(value, name)
        kind = self._kind(value)
        if kind in CONTAINERS:
            if depth < NESTING:
                return self._container(kind, value, name, depth)
            kind = "object"
        fields = {field.name: field.read(self, value, name) for field in fields_of(kind)}
        return {"kind": kind, **fields}

    def _kind(self, value: Any) -> str:
        """Return the kind of a value that is not a tensor."""
        if value is None:
            return "none"
        for kind, types in _PLAIN_KINDS.items():
            if isinstance(value, types):
                return kind
        if self._size_class is not None and isinstance(value, self._size_class):
            return "size"
        if self._dtype_class is not None and isinstance(value, self._dtype_class):
            return "dtype"
        if isinstance(value, (np.ndarray, np.generic)):
            return "array" if value.dtype.kind in "biufc" else "object"
        for kind, container in _CONTAINERS.items():
            if isinstance(value, container):
                return kind
        return "node" if hasattr(type(value), "next_functions") else "object"

    def _container(
        self,
        kind: str,
        value: list[Any] | tuple[Any, ...] | dict[Any, Any],
        name: str | None,
        depth: int,
    ) -> Observation:
        if isinstance(value, dict):
            keyed = {k if isinstance(k, str) else _key(k): v for k, v in value.items()}
            items = {k: self._value(v, _part(name, repr(k)), depth + 1) for k, v in keyed.items()}
            return {"kind": kind, "items": items}
        parts = [self._value(v, _part(name, i), depth + 1) for i, v in enumerate(value)]
        return {"kind": kind, "items": parts}

    def _tensor(self, tensor: Any, name: str | None) -> Observation:
        known = self._grads.get(name) if name is not None else None
        try:  # all fields at once; if one raises, they are read one by one
            return self._all_fields(tensor, name)
        except Exception:
            # The gradient may have been read: it must not count as seen before.
            if name is not None:
                self._grads.pop(name, None)
                if known is not None:
                    self._grads[name] = known
            return self._each_field(tensor, name)

    def _all_fields(self, tensor: Any, name: str | None) -> Observation:
        observation: Observation = {"kind": "tensor"}
        for field, read in _TENSOR_READERS:
            if (value := read(self, tensor, name)) is not readers.ABSENT:
                observation[field] = value
        return observation

    def _each_field(self, tensor: Any, name: str | None) -> Observation:
        return {"kind": "tensor", **self._readable(fields_of("tensor"), tensor, name)}

    def _readable(self, fields: tuple[Field, ...], tensor: Any, name: str | None) -> dict[str, Any]:
        """Read one field after the other: one that raises is an error, one that is absent is left.

        A backend says that it has no notion of a field by AttributeError or NotImplementedError.
        """
        found: dict[str, Any] = {}
        for field in fields:
            try:
                value = field.read(self, tensor, name)
            except Exception as error:
                lacks = isinstance(error, (AttributeError, NotImplementedError))
                if field.essential or not lacks:
                    found[field.name] = {"error": failure(error)}
            else:
                if value is not readers.ABSENT:
                    found[field.name] = value
        return found

    def text(self, value: Any) -> str:
        """Return `str(value)`, without what differs by process, and with torch's names."""
        return classes_as_torchs(text(value), self._namespace)

    def numbers(self, tensor: Any) -> Any:
        """Return the numbers of a tensor, in lists as deep as it has dimensions."""
        return tensor.tolist()

    def dtype_name(self, dtype: Any) -> str:
        """Return the name of a dtype, without that of its module."""
        name = self._dtypes.get(dtype)
        if name is None:
            name = self._dtypes[dtype] = text(dtype).rpartition(".")[2]
        return name

    def gradient(self, grad: Any, name: str | None) -> Observation | None:
        """Return the observation of the gradient of the tensor that has this name."""
        if grad is None:
            if name is not None:
                self._grads.pop(name, None)
            return None
        return self._readable(fields_of("grad"), grad, name)

    def is_known_gradient(self, grad: Any, name: str) -> bool:
        """Say whether this gradient is the one that the name had when it was observed last."""
        previous = self._grads.get(name)
        self._grads[name] = _reference(grad)
        return previous is not None and previous() is grad

    def storage_label(self, storage: Any, name: str | None) -> str:
        """Return the label of a storage: the name under which it was observed first."""
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

    def known_label(self, tensor: Any) -> str | None:
        """Return the label of the tensor's storage if that was observed already."""
        try:
            return self._labels.get(tensor.untyped_storage()._cdata)
        except Exception:  # some tensors have no storage
            return None

    def nodes(self, root: Any) -> list[Any]:
        """Return the nodes of which `graph` shows the texts, in the same order."""
        return [node for node, _ in self._numbered(root)[1][:GRAPH_NODES]] if root else []

    def graph(self, root: Any) -> list[str]:
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


def _reference(value: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _unasked(namespace: Any) -> Callable[[], AbstractContextManager[Any]]:
    """Return the class of blocks in which neither classes nor modes are asked, if there is one."""
    return getattr(getattr(namespace, "_C", None), "DisableTorchFunction", nullcontext)


def _class(namespace: Any, name: str) -> type | None:
    found = getattr(namespace, name, None)
    return found if isinstance(found, type) else None


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
