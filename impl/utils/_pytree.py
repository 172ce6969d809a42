"""`torch.utils._pytree`: nested containers, their leaves, and their structure."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any, TypeAlias

from impl.core.method_names import hands_on
from impl.utils._pytree_nodes import SUPPORTED_NODES as SUPPORTED_NODES
from impl.utils._pytree_nodes import (
    Context,
    GetAttrKey,
    MappingKey,
    SequenceKey,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    node_of,
    register,
)
from impl.utils._pytree_spec import LeafSpec, TreeSpec, treespec_leaf
from impl.utils._pytree_texts import treespec_dumps, treespec_loads, treespec_pprint

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
]

PyTree: TypeAlias = Any
DumpableContext: TypeAlias = Any
PyTreeSpec = TreeSpec
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
_IsLeaf = Callable[[PyTree], bool] | None


@hands_on(
    *("serialized_type_name", "to_dumpable_context", "from_dumpable_context"),
    "flatten_with_keys_fn",
)
def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    **options: Any,
) -> None:
    """Make a class a type of containers. Raises ValueError if it is one already."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    register(cls, flatten_fn, unflatten_fn, **options)


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Give a class of named tuples the name that it has in texts of structures."""
    node = SUPPORTED_NODES[namedtuple]
    register(cls, node.flatten_fn, node.unflatten_fn, serialized_type_name=serialized_type_name)


def tree_is_leaf(tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether a value is a leaf: no container, or one that `is_leaf` accepts."""
    return _node_unless_leaf(tree, is_leaf) is None


def _node_unless_leaf(value: Any, is_leaf: _IsLeaf) -> Any:
    """The type of container of a value; None for a leaf."""
    return None if is_leaf is not None and is_leaf(value) else node_of(value)


def tree_flatten(tree: PyTree, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure."""
    leaves: list[Any] = []
    return leaves, _structure(tree, is_leaf, leaves)


def _structure(value: Any, is_leaf: _IsLeaf, leaves: list[Any]) -> TreeSpec:
    """The structure of a tree, whose leaves are added to the list."""
    node = _node_unless_leaf(value, is_leaf)
    if node is None:
        leaves.append(value)
        return treespec_leaf()
    parts, context = node.flatten_fn(value)
    return TreeSpec(node.type, context, [_structure(part, is_leaf, leaves) for part in parts])


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> PyTree:
    """The tree of that structure with these leaves. Raises ValueError for another number."""
    given: Any = treespec
    if not isinstance(given, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            raise TypeError(
                "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
                f"{type(treespec)}."
            )
        leaves, treespec = given, leaves
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: _IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one by one."""
    node = _node_unless_leaf(tree, is_leaf)
    if node is None:
        yield tree
        return
    for part in node.flatten_fn(tree)[0]:
        yield from tree_iter(part, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of several trees."""
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_iter(tree)]


def tree_structure(tree: PyTree, is_leaf: _IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """The tree of a function's results for each leaf, and those of other trees in its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*given) for given in zip(leaves, *others, strict=True)])


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """Call a function for each leaf, and return the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for given in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests), strict=True):
        func(*given)
    return tree


def map_only(kinds: Any, /) -> Callable[[Callable], Callable]:
    """Decorator of a function that then returns other values than those of some types, or those
    that a function accepts, as they are."""
    if isinstance(kinds, (type, tuple, UnionType)):
        chosen: Callable[[Any], bool] = lambda value: isinstance(value, kinds)  # noqa: E731
    elif callable(kinds):
        chosen = kinds
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(value: Any) -> Any:
            return func(value) if chosen(value) else value

        return wrapped

    return decorate


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """As `tree_map`, for the leaves of some types, or those that a function accepts."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """As `tree_map_`, for the leaves of some types, or those that a function accepts."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether a function accepts any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None) -> bool:
    """Whether a function accepts every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None
) -> bool:
    """Whether a function accepts any leaf of some types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: _IsLeaf = None
) -> bool:
    """Whether a function accepts every leaf of some types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


# -- with paths: the keys from the root to a leaf -------------------------------------------------


def tree_flatten_with_path(tree: PyTree, is_leaf: _IsLeaf = None) -> tuple[list, TreeSpec]:
    """The paths and leaves of a tree, and its structure. Raises ValueError for a container without
    keys."""
    spec = tree_structure(tree, is_leaf)
    return list(_paths((), tree, is_leaf)), spec


def tree_leaves_with_path(tree: PyTree, is_leaf: _IsLeaf = None) -> list:
    """The paths and leaves of a tree."""
    return list(_paths((), tree, is_leaf))


def _paths(path: tuple, tree: PyTree, is_leaf: _IsLeaf) -> Iterator[tuple[tuple, Any]]:
    node = _node_unless_leaf(tree, is_leaf or None)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, part in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), part, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: _IsLeaf = None
) -> PyTree:
    """As `tree_map`; the function gets the path of each leaf first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*pair, *o) for pair, *o in zip(found, *others, strict=True)])


def keystr(kp: Iterable[Any]) -> str:
    """The text of a path."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """The part of a tree at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
