"""`TreeSpec`: the structure of a tree."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from typing import Any

from impl.utils._pytree_nodes import (
    BUILTIN_TYPES,
    STANDARD_DICT_TYPES,
    Context,
    node_of_type,
    node_type,
)

_CHILDREN = (
    "`treespec.children_specs` is deprecated. Use `treespec.child(index)` to access a single "
    "child, or `treespec.children()` to get all children."
)


class TreeSpec:
    """The structure of a tree: a container's type and context, and the structures below it
    (torch.utils._pytree.TreeSpec). That of a leaf has the type None."""

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    type: Any
    num_nodes: int
    num_leaves: int
    num_children: int

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type, self._context, self._children = type, context, children_specs
        leaf = type is None
        if leaf and context is not None:
            raise AssertionError("leaf node should not have a context")
        if leaf and children_specs:
            raise AssertionError("leaf node should not have children")
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = leaf + sum(child.num_leaves for child in children_specs)
        self.num_children = len(children_specs)

    @property
    def context(self) -> Context:
        """The needs of the container beside its entries."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures below, deprecated."""
        warnings.warn(_CHILDREN, FutureWarning, stacklevel=2)
        return self._children

    def children(self) -> list[TreeSpec]:
        """The structures below."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """One of the structures below."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether the whole tree is a leaf."""
        return self.num_nodes == 1 and self.num_leaves == 1

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves. Raises ValueError for another number of them."""
        given = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        if self.is_leaf():
            return given[0]
        parts, start = [], 0
        for child in self._children:
            parts.append(child.unflatten(given[start : start + child.num_leaves]))
            start += child.num_leaves
        return node_of_type(self.type).unflatten_fn(parts, self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that stand where this structure has leaves. Raises ValueError where
        the tree is another container."""
        if self.is_leaf():
            return [tree]
        pairs = zip(self._entries(tree), self._children, strict=True)
        return [leaf for part, child in pairs for leaf in child.flatten_up_to(part)]

    def _entries(self, tree: Any) -> list[Any]:
        """The entries of a container like this one."""
        kind, mine = node_type(tree), self.type
        both_dicts = kind in STANDARD_DICT_TYPES and mine in STANDARD_DICT_TYPES
        builtin = mine in BUILTIN_TYPES
        if kind != mine and not both_dicts:
            what = "Node type mismatch" if builtin else "Type mismatch"
            raise ValueError(f"{what}; expected {mine!r}, but got {kind!r}.")
        parts, context = node_of_type(kind).flatten_fn(tree)
        if len(parts) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(parts)}."
            )
        if both_dicts:
            keys = self._context[1] if mine is defaultdict else self._context
            _check_keys(set(keys), set(tree))
            return [tree[key] for key in keys]
        if context != self._context and mine is not deque:
            if not builtin:
                raise ValueError(f"Node context mismatch for custom node type {mine!r}.")
            raise ValueError(
                f"Node context mismatch for node type {mine!r}; expected {self._context!r}, but "
                f"got {context!r}."
            )
        return list(parts)

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if not isinstance(other, TreeSpec) or other.__class__ is not self.__class__:
            return NotImplemented
        mine, others = ((str(each.type), each._context, each._children) for each in (self, other))
        return mine == others

    def __hash__(self) -> int:
        known: Any = None
        if self.type is defaultdict:
            known = self._context[0], tuple(self._context[1])
        elif self.type in (dict, OrderedDict):
            known = tuple(self._context)
        elif self.type is None or self.type in BUILTIN_TYPES:
            known = self._context
        return hash((self.type, known, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        pad = " " * (indent + 2)
        children = f",\n{pad}".join(c.__repr__(indent + 2) for c in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"


def _check_keys(expected: set, given: set) -> None:
    """Raise ValueError for mappings of other keys."""
    parts = [("missing", expected - given), ("extra", given - expected)]
    told = "".join(f"; {what} key(s): {keys}" for what, keys in parts if keys)
    if told:
        raise ValueError(f"Node keys mismatch{told}.")


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __repr__(self, indent: int = 0) -> str:
        return "*"

    def __reduce__(self) -> Any:
        return treespec_leaf, ()


_LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return _LEAF
