"""Lists and dictionaries of modules, and sequences of modules."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from impl.core.method_names import owns_methods_of
from impl.nn.modules.module import Module


def _shown(kind: type) -> str:
    """A class as torch's messages show it, with torch's name for the module of its own classes."""
    return str(kind).replace("<class 'impl.", "<class 'torch.")


class _Indexed(Module):
    """A list whose elements have the names "0", "1" and so on."""

    def __len__(self) -> int:
        raise NotImplementedError

    def _key(self, index) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self)) if index < 0 else str(index)


class _Numbered(_Indexed):
    """A list of modules."""

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(modules))

    def __setattr__(self, name: str, value) -> None:
        if name == "_modules":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __setitem__(self, idx, module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx) -> None:
        kept = list(self)
        del kept[idx if isinstance(idx, slice) else int(self._key(idx))]
        self._renumber(kept)

    def append(self, module: Module):
        """Add a module at the end; returns the list."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module before that of an index."""
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def pop(self, key):
        """Remove and return a module, or the modules of a slice."""
        removed = self[key]  # type: ignore[index]
        del self[key]
        return removed

    def extend(self, modules: Iterable[Module]):
        """Add modules at the end; returns the list."""
        for module in modules:
            self.append(module)
        return self


@owns_methods_of(_Numbered, _Indexed)
class Sequential(_Numbered):
    """Modules that are called in sequence (torch.nn.Sequential)."""

    def __init__(self, *args) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def _names(self) -> list[str]:
        return list(self._modules)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._names()[int(self._key(idx))]]

    def __setitem__(self, idx, module) -> None:
        setattr(self, self._names()[int(self._key(idx))], module)

    def insert(self, index: int, module: Module):
        """Add a module before that of an index; returns the sequence.

        Raises AssertionError for a value that is no module, IndexError beyond the ends.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {_shown(Module)}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        super().insert(index + len(self) if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]):
        """Add modules at the end; returns the sequence."""
        return super().extend(sequential)

    def __add__(self, other):
        return Sequential(*self, *self._added(other))

    def __iadd__(self, other):
        return self.extend(self._added(other))

    def _added(self, other) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{_shown(type(other))} is given."
            )
        return other

    def __mul__(self, other):
        return Sequential(*self._repeated(other))

    __rmul__ = __mul__

    def __imul__(self, other):
        return self.extend(self._repeated(other)[len(self) :])

    def _repeated(self, count) -> list[Module]:
        if not isinstance(count, int):
            kinds = f"{_shown(type(self))} and {_shown(type(count))}"
            raise TypeError(f"unsupported operand type(s) for *: {kinds}")
        if count <= 0:
            kind = _shown(type(self))
            raise ValueError(f"Non-positive multiplication factor {count} for {kind}")
        return list(self) * count

    def forward(self, input):
        for module in self:
            input = module(input)
        return input


@owns_methods_of(_Numbered, _Indexed)
class ModuleList(_Numbered):
    """A list of modules, without a forward (torch.nn.ModuleList)."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[self._key(idx)]

    def extend(self, modules: Iterable[Module]):
        """Add modules at the end; returns the list. Raises TypeError without an iterable."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        return super().extend(modules)

    def __add__(self, other: Iterable[Module]):
        return ModuleList(itertools.chain(self, other))

    def __iadd__(self, modules: Iterable[Module]):
        return self.extend(modules)

    def __repr__(self) -> str:
        """The text of a module, with equal neighbours shown once."""
        lines, start = [], 0
        for text, equal in itertools.groupby(map(repr, self)):
            count = len(list(equal))
            last = start + count - 1
            key = f"({start}): " if count == 1 else f"({start}-{last}): {count} x "
            lines.append((key + text).replace("\n", "\n  "))
            start += count
        name = self._get_name()
        return f"{name}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{name}()"


def _pairs(kind: type, method: str, given) -> Iterator[tuple]:
    """Names with values, from a mapping, an object of the class `kind`, or from pairs.

    Raises TypeError for any other type, ValueError for an element that is no pair.
    """
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{method} should be called with an iterable of key/value pairs, but got "
            f"{type(given).__name__}"
        )
    if isinstance(given, (Mapping, kind)):
        yield from given.items()  # type: ignore[attr-defined]
        return
    for i, pair in enumerate(given):
        element = f"{kind.__name__} update sequence element #{i}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{element} should be Iterable; is{type(pair).__name__}")
        sequence: Any = pair  # a sequence too, or Python refuses it here
        if len(sequence) != 2:
            raise ValueError(f"{element} has length {len(sequence)}; 2 is required")
        yield sequence[0], sequence[1]


class _Keyed(Module):
    """A dictionary whose keys are names of modules or of parameters."""

    @property
    def _names(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def keys(self):
        """The names."""
        return self._names.keys()

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self):
            del self[key]  # type: ignore[attr-defined]

    def pop(self, key: str):
        """Remove and return a value."""
        value = self[key]  # type: ignore[index]
        del self[key]  # type: ignore[attr-defined]
        return value


@owns_methods_of(_Keyed)
class ModuleDict(_Keyed):
    """A dictionary of modules (torch.nn.ModuleDict)."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    @property
    def _names(self):
        return self._modules

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def update(self, modules) -> None:
        """Add modules from a mapping or from pairs. Raises TypeError for any other type, ValueError
        for elements that are not pairs."""
        for key, module in _pairs(ModuleDict, "ModuleDict.update", modules):
            self[key] = module

    def values(self):
        """The modules."""
        return self._modules.values()

    def items(self):
        """The names with the modules."""
        return self._modules.items()
