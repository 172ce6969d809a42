"""The types of containers that trees are made of, and the keys of their entries."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from impl.core.return_types import RETURN_TYPES
from impl.core.sizes import Size

Context = Any
STANDARD_DICT_TYPES = frozenset((dict, OrderedDict, defaultdict))
BUILTIN_TYPES = frozenset((tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque))


class NodeDef(NamedTuple):
    """A type of containers: its entries with what else it needs, and the way back."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Any, Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Context]] | None
    # The form of a structure in text.
    serialized_type_name: str | None = None
    to_dumpable_context: Callable[[Context], Any] | None = None
    from_dumpable_context: Callable[[Any], Context] | None = None


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The key of an entry of a sequence: its index."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[Any]) -> Any:
        """The entry."""
        return sequence[self.idx]


@dataclass(frozen=True, slots=True)
class MappingKey:
    """The key of an entry of a mapping."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[Any, Any]) -> Any:
        """The entry."""
        return mapping[self.key]


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The key of an entry that is an attribute: its name."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The entry."""
        return getattr(obj, self.name)


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register(
    cls: Any,
    flatten_fn: Callable,
    unflatten_fn: Callable,
    *,
    flatten_with_keys_fn: Callable | None = None,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable | None = None,
    from_dumpable_context: Callable | None = None,
) -> None:
    """Make a class a type of containers, in the place of a registration before; warns of one."""
    if cls in SUPPORTED_NODES:
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous registration.",
            stacklevel=3,
        )
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(
        cls,
        flatten_fn,
        unflatten_fn,
        flatten_with_keys_fn,
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
    )


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is one of named tuples."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and all(type(field) is str for field in getattr(cls, "_fields"))  # noqa: B009
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether an object is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is one of C's named tuples, as those of torch.return_types are."""
    names = "n_fields", "n_sequence_fields", "n_unnamed_fields"
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and all(isinstance(getattr(cls, name, None), int) for name in names)
    )


def is_structseq_instance(obj: object) -> bool:
    """Whether an object is one of C's named tuples."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Whether an object is one of C's named tuples, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def node_type(tree: Any) -> Any:
    """The type as which a value is looked up: `namedtuple` for all named tuples."""
    kind = type(tree)
    return namedtuple if is_namedtuple_class(kind) else kind


def node_of(tree: Any) -> NodeDef | None:
    """How a value is a container; None for a leaf."""
    found = SUPPORTED_NODES.get(node_type(tree))
    return _result(type(tree)) if found is None and is_structseq_instance(tree) else found


def node_of_type(kind: Any) -> NodeDef:
    """How values of a type are containers."""
    return SUPPORTED_NODES[kind] if kind in SUPPORTED_NODES else _result(kind)


def node_of_name(name: str) -> NodeDef | None:
    """How values of the type that has a name in texts of structures are containers."""
    for node in SUPPORTED_NODES.values():
        if node.serialized_type_name == name:
            return node
    cls = RETURN_TYPES.get(name.removeprefix("torch.return_types."))
    return None if cls is None else _result(cls)


def _sequence(cls: Any, back: Callable, context: Callable = lambda value: None) -> None:
    def keyed(value: Any) -> tuple[list, Context]:
        return [(SequenceKey(i), v) for i, v in enumerate(value)], context(value)

    register(
        cls,
        lambda value: (list(value), context(value)),
        back,
        flatten_with_keys_fn=keyed,
        serialized_type_name="torch.Size" if cls is Size else f"{cls.__module__}.{cls.__name__}",
    )


def _mapping(cls: Any, back: Callable, context: Callable = list, **dumping: Any) -> None:
    def keyed(value: Any) -> tuple[list, Context]:
        return [(MappingKey(k), v) for k, v in value.items()], context(value)

    name = f"{cls.__module__}.{cls.__name__}"
    register(
        cls,
        lambda value: (list(value.values()), context(value)),
        back,
        flatten_with_keys_fn=keyed,
        serialized_type_name=name,
        **dumping,
    )


def _result(cls: type) -> NodeDef:
    """How the named tuples of a class of torch.return_types are containers."""

    def keyed(value: Any) -> tuple[list, Context]:
        return [(SequenceKey(i), v) for i, v in enumerate(value)], None

    def back(parts: Any, context: Context) -> Any:
        return cls(parts)

    name = f"torch.return_types.{cls.__name__}"
    return NodeDef(cls, lambda value: (list(value), None), back, keyed, name)


def _dump_default_dict(context: Context) -> dict[str, Any]:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _load_default_dict(dumped: dict[str, Any]) -> Context:
    module = __import__(dumped["default_factory_module"], fromlist=["_"])
    return [getattr(module, dumped["default_factory_name"]), dumped["dict_context"]]


def _dump_named_tuple(cls: Any) -> str:
    node = SUPPORTED_NODES.get(cls)
    if node is None or node.serialized_type_name is None:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a "
            "serialized_type_name. Please register using `_register_namedtuple`."
        )
    return node.serialized_type_name


def _load_named_tuple(name: str) -> Any:
    for cls, node in SUPPORTED_NODES.items():
        if node.serialized_type_name == name:
            return cls
    raise NotImplementedError(
        f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a "
        "serialized name."
    )


def _pairs(keys: Any, parts: Any) -> Any:
    return zip(keys, parts, strict=True)


_sequence(tuple, lambda parts, _: tuple(parts))
_sequence(list, lambda parts, _: list(parts))
_sequence(Size, lambda parts, _: tuple(parts))
_sequence(deque, lambda parts, size: deque(parts, size), lambda value: value.maxlen)
_mapping(dict, lambda parts, keys: dict(_pairs(keys, parts)))
_mapping(OrderedDict, lambda parts, keys: OrderedDict(_pairs(keys, parts)))
_mapping(
    defaultdict,
    lambda parts, context: defaultdict(context[0], _pairs(context[1], parts)),
    lambda value: [value.default_factory, list(value)],
    to_dumpable_context=_dump_default_dict,
    from_dumpable_context=_load_default_dict,
)
register(
    namedtuple,
    lambda value: (list(value), type(value)),
    lambda parts, kind: kind(*parts),
    flatten_with_keys_fn=lambda value: (
        [(GetAttrKey(name), v) for name, v in zip(type(value)._fields, value, strict=True)],
        type(value),
    ),
    serialized_type_name="collections.namedtuple",
    to_dumpable_context=_dump_named_tuple,
    from_dumpable_context=_load_named_tuple,
)
