"""Lists and dictionaries of modules and of parameters, and sequences of modules."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from impl.core.messages import tensor_type
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.tensor.tensor import Tensor


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
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def __setattr__(self, name: str, value) -> None:
        if name == "_modules":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __setitem__(self, index, module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index) -> None:
        kept = list(self)
        del kept[index]
        self._renumber(kept)

    def append(self, module: Module):
        """Add a module at the end; returns the list."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module before that of an index."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def pop(self, index):
        """Remove and return a module, or the modules of a slice."""
        removed = self[index]  # type: ignore[index]
        del self[index]
        return removed

    def extend(self, modules: Iterable[Module]):
        """Add modules at the end; returns the list."""
        for module in modules:
            self.append(module)
        return self


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

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._names()[int(self._key(index))]]

    def __setitem__(self, index, module) -> None:
        setattr(self, self._names()[int(self._key(index))], module)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules, without a forward (torch.nn.ModuleList)."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._key(index)]

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


def _pairs(kind: str, method: str, given) -> list[tuple]:
    """Names with values, from a mapping or from pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{method} should be called with an iterable of key/value pairs, but got "
            f"{type(given).__name__}"
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    pairs = []
    for i, pair in enumerate(given):
        element = f"{kind} update sequence element #{i}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{element} should be Iterable; is{type(pair).__name__}")
        values = tuple(pair)
        if len(values) != 2:
            raise ValueError(f"{element} has length {len(values)}; 2 is required")
        pairs.append(values)
    return pairs


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


class ModuleDict(_Keyed):
    """A dictionary of modules (torch.nn.ModuleDict)."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

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
        for key, module in _pairs("ModuleDict", "ModuleDict.update", modules):
            self[key] = module

    def values(self):
        """The modules."""
        return self._modules.values()

    def items(self):
        """The names with the modules."""
        return self._modules.items()


def _parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and type(value) is Tensor else value


def _contents(pairs, described) -> str:
    """A line for each name and value; a tensor is shown by its sizes and by `described(tensor)`."""
    lines = []
    for name, value in pairs:
        text = f"Object of type: {type(value).__name__}"
        if isinstance(value, Tensor):
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            sizes = "x".join(map(str, value.shape))
            text = f"{kind} containing: [{described(value)} of size {sizes}]"
        lines.append(f"  ({name}): {text}")
    return "\n".join(lines)


class ParameterList(_Indexed):
    """A list of parameters; tensors in it become parameters (torch.nn.ParameterList)."""

    def __init__(self, values: Iterable | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, self._key(index))

    def __setitem__(self, index, value) -> None:
        setattr(self, self._key(index), _parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(self._size)])

    def __iadd__(self, values: Iterable):
        return self.extend(values)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")

    def extra_repr(self) -> str:
        return _contents(enumerate(self), lambda value: value.dtype)

    def append(self, value):
        """Add a parameter at the end; returns the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable):
        """Add parameters at the end; returns the list."""
        for value in values:
            self.append(value)
        return self


class ParameterDict(_Keyed):
    """A dictionary of parameters; tensors in it become parameters (torch.nn.ParameterDict)."""

    def __init__(self, parameters: Mapping | Iterable | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update({} if parameters is None else parameters)

    def __getitem__(self, key: str):
        return getattr(self, key)

    def __setitem__(self, key: str, value) -> None:
        self._keys[key] = None
        setattr(self, key, _parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    @property
    def _names(self):
        return self._keys

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def extra_repr(self) -> str:
        return _contents(self.items(), lambda value: tensor_type(value.dtype))

    def update(self, parameters) -> None:
        """Add parameters from a mapping, sorted by name unless it is an OrderedDict, or from pairs.

        Raises TypeError for any other type, ValueError for elements that are not pairs.
        """
        pairs = _pairs("ParameterDict", "ParametersDict.update", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs)
        for key, value in pairs:
            self[key] = value

    def copy(self) -> ParameterDict:
        """A new dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default=None) -> ParameterDict:
        """A new dictionary with `default` under all names."""
        return ParameterDict([(key, default) for key in keys])

    def get(self, key: str, default=None):
        """The parameter of a name, or `default`."""
        return getattr(self, key) if key in self._keys else default

    def setdefault(self, key: str, default=None):
        """The parameter of a name, which is set to `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, object]:
        """Remove the last parameter and return it with its name."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def values(self):
        """The parameters."""
        return [self[key] for key in self._keys]

    def items(self):
        """The names with the parameters."""
        return [(key, self[key]) for key in self._keys]
