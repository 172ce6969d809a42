"""Lists and dictionaries of parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping

from impl.core.method_names import owns_methods_of
from impl.nn.modules.container import _Indexed, _Keyed, _pairs
from impl.nn.parameter import Parameter
from impl.tensor.tensor import Tensor


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
        if values is not None:
            self.extend(values)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return getattr(self, self._key(idx))

    def __setitem__(self, idx, param) -> None:
        setattr(self, self._key(idx), _parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(self._size)])

    def __iadd__(self, parameters: Iterable):
        return self.extend(parameters)

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
        """Add parameters at the end; returns the list. TypeError for a tensor, or anything that
        is not iterable."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self


def _checked_key(key: str) -> str:
    """A key. Raises TypeError unless it is a string."""
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string (type "
            f"is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
        )
    return key


@owns_methods_of(_Keyed)
class ParameterDict(_Keyed):
    """A dictionary of parameters; tensors in it become parameters (torch.nn.ParameterDict)."""

    def __init__(self, parameters: Mapping | Iterable | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update({} if parameters is None else parameters)

    def __getitem__(self, key: str):
        return getattr(self, _checked_key(key))

    def __setitem__(self, key: str, value) -> None:
        self._keys[key] = None  # a key that is refused stays
        setattr(self, _checked_key(key), _parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, _checked_key(key))

    @property
    def _names(self):
        return self._keys

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def extra_repr(self) -> str:
        return _contents(self.items(), lambda value: value.type())

    def update(self, parameters) -> None:
        """Add parameters from a mapping, sorted by name unless it is an OrderedDict, or from pairs.

        Raises TypeError for any other type, ValueError for elements that are not pairs.
        """
        pairs: Iterable = _pairs(ParameterDict, "ParametersDict.update", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs)
        for key, value in pairs:
            self[key] = value

    def copy(self) -> ParameterDict:
        """A new dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default=None) -> ParameterDict:
        """A new dictionary with `default` under all names."""
        return ParameterDict((key, default) for key in keys)

    def get(self, key: str, default=None):
        """The parameter of a name, or `default`."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default=None):
        """The parameter of a name, which is set to `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, object]:
        """Remove the last parameter and return it with its name. KeyError if there is none."""
        key, _ = self._keys.popitem()
        self._keys[key] = None  # until `pop` has read the value
        return key, self.pop(key)

    def values(self):
        """The parameters."""
        return (self[key] for key in self._keys)

    def items(self):
        """The names with the parameters."""
        return ((key, self[key]) for key in self._keys)
