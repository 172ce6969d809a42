"""`torch.utils.weak`: weak references to tensors, and mappings whose keys are compared by identity.

Tensors compare element by element, so Python's own weak dictionaries do not take them for keys.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from impl.tensor.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]

WeakRef = weakref.ref


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to others of the same object, dead ones only to themselves
    (torch.utils.weak.WeakIdRef)."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable | None = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: Any) -> bool:
        mine, others = self(), other()
        if mine is None or others is None:
            return self is other
        return mine is others


class WeakIdKeyDictionary(MutableMapping):
    """A mapping that does not keep its keys alive, and compares them by identity
    (torch.utils.weak.WeakIdKeyDictionary)."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        myself = weakref.ref(self)

        def remove(dead: Any) -> None:
            mapping = myself()
            if mapping is not None:
                mapping.data.pop(dead, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys."""
        return list(self.data)

    def items(self) -> Any:
        """The pairs of keys that are alive and their values."""
        for reference, value in list(self.data.items()):
            key = reference()
            if key is not None:
                yield key, value

    def keys(self) -> Any:
        """The keys that are alive."""
        return iter(self)

    def values(self) -> Any:
        """The values of keys that are alive."""
        return (value for _, value in self.items())

    def update(self, dict: Any = None, **kwargs: Any) -> None:  # type: ignore[override]
        """Add the items of another mapping, or pairs."""
        pairs = () if dict is None else dict.items() if hasattr(dict, "items") else dict
        for key, value in (*pairs, *kwargs.items()):
            self[key] = value

    def copy(self) -> WeakIdKeyDictionary:
        """A mapping of its own with the same items."""
        return WeakIdKeyDictionary(self)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        copied = type(self)()
        for key, value in self.items():
            copied[key] = deepcopy(value, memo)
        return copied

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        joined = type(self)(other)
        joined.update(self)
        return joined

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        mine, others = ({id(k): v for k, v in each.items()} for each in (self, other))
        return mine == others

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; a call gives it, or None (torch.utils.weak.TensorWeakRef)."""

    def __init__(self, tensor: Tensor) -> None:
        given: object = tensor
        if not isinstance(given, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
