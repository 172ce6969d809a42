"""`torch.utils._pytree`: nested containers, their leaves, and their structure."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from impl.core.sizes import Size

__all__ = [
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Context = Any


class _Container(NamedTuple):
    """A type of containers: its entries with what else it needs, and the way back."""

    flatten: Callable[[Any], tuple[Iterable[Any], Context]]
    unflatten: Callable[[Iterable[Any], Context], Any]


_CONTAINERS: dict[type, _Container] = {
    tuple: _Container(lambda value: (value, None), lambda parts, _: tuple(parts)),
    list: _Container(lambda value: (value, None), lambda parts, _: list(parts)),
    deque: _Container(
        lambda value: (value, value.maxlen), lambda parts, maxlen: deque(parts, maxlen)
    ),
    dict: _Container(
        lambda value: (value.values(), list(value)),
        lambda parts, keys: dict(zip(keys, parts, strict=True)),
    ),
    Size: _Container(lambda value: (value, None), lambda parts, _: tuple(parts)),
    OrderedDict: _Container(
        lambda value: (value.values(), list(value)),
        lambda parts, keys: OrderedDict(zip(keys, parts, strict=True)),
    ),
    defaultdict: _Container(
        lambda value: (value.values(), (value.default_factory, list(value))),
        lambda parts, context: defaultdict(context[0], zip(context[1], parts, strict=True)),
    ),
}
_NAMED_TUPLE = _Container(lambda value: (value, type(value)), lambda parts, kind: kind(*parts))
_NAMED_RESULTS = _Container(lambda value: (value, type(value)), lambda parts, kind: kind(parts))


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    **options: Any,
) -> None:
    """Make a class a type of containers. Raises ValueError if it is one already."""
    if cls in _CONTAINERS:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _CONTAINERS[cls] = _Container(flatten_fn, unflatten_fn)


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a tree: a container's type and context, and the structures below it."""

    type: Any
    context: Context
    children_specs: list[TreeSpec]

    @property
    def num_leaves(self) -> int:
        """How many leaves a tree of this structure has."""
        return sum(child.num_leaves for child in self.children_specs)

    def is_leaf(self) -> bool:
        """Whether the whole tree is a leaf."""
        return False

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves."""
        return tree_unflatten(leaves, self)

    def __repr__(self, indent: int = 0) -> str:
        pad = " " * (indent + 2)
        children = f",\n{pad}".join(c.__repr__(indent + 2) for c in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])

    @property
    def num_leaves(self) -> int:
        """One."""
        return 1

    def is_leaf(self) -> bool:
        """True."""
        return True

    def __repr__(self, indent: int = 0) -> str:
        return "*"


_LEAF = LeafSpec()


def _container(value: Any) -> tuple[Any, _Container | None]:
    """The type that a value is a container of, and how; None for a leaf."""
    return type(value), _container_of(type(value))


def _container_of(kind: type) -> _Container | None:
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _NAMED_TUPLE
    if issubclass(kind, tuple) and hasattr(kind, "n_fields"):  # torch.return_types
        return _NAMED_RESULTS
    return _CONTAINERS.get(kind)


def tree_flatten(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure."""
    leaves: list[Any] = []
    spec = _structure(tree, is_leaf, leaves)
    return leaves, spec


def _structure(value: Any, is_leaf: Callable[[PyTree], bool] | None, leaves: list[Any]) -> TreeSpec:
    """The structure of a tree, whose leaves are added to the list."""
    kind, container = _container(value)
    if container is None or (is_leaf is not None and is_leaf(value)):
        leaves.append(value)
        return _LEAF
    parts, context = container.flatten(value)
    return TreeSpec(kind, context, [_structure(part, is_leaf, leaves) for part in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of that structure with these leaves. Raises ValueError for another number."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec "
            f"refers to a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _tree(treespec, iter(leaves))


def _tree(spec: TreeSpec, left: Iterator[Any]) -> PyTree:
    """The tree of a structure with the leaves that are left."""
    if spec.is_leaf():
        return next(left)
    parts = [_tree(child, left) for child in spec.children_specs]
    container = _container_of(spec.type)
    assert container is not None
    return container.unflatten(parts, spec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[Any]:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """The tree of a function's results for each leaf, and those of other trees in its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_up_to(spec, rest) for rest in rests]
    return tree_unflatten([func(*given) for given in zip(leaves, *others, strict=True)], spec)


def _up_to(spec: TreeSpec, tree: PyTree) -> list[Any]:
    """The parts of a tree that stand where the structure has leaves.

    Raises ValueError where the tree is another container than the structure.
    """
    if spec.is_leaf():
        return [tree]
    kind, container = _container(tree)
    if container is None or kind is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {kind!r}.")
    parts = list(container.flatten(tree)[0])
    if len(parts) != len(spec.children_specs):
        raise ValueError(
            f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(parts)}."
        )
    pairs = zip(spec.children_specs, parts, strict=True)
    return [leaf for child, part in pairs for leaf in _up_to(child, part)]


def tree_map_(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """Call a function for each leaf, and return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    kinds: Any,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """As `tree_map`, for the leaves of some types, or those that a function accepts."""
    chosen = kinds if _is_question(kinds) else lambda leaf: isinstance(leaf, kinds)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def _is_question(kinds: Any) -> bool:
    return callable(kinds) and not isinstance(kinds, type)


def tree_any(
    pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> bool:
    """Whether a function accepts any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all(
    pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> bool:
    """Whether a function accepts every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))
