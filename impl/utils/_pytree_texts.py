"""The structures of trees as texts: JSON, and the tree with stars for leaves."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from impl.utils._pytree_nodes import NodeDef, node_of_name, node_of_type
from impl.utils._pytree_spec import TreeSpec, treespec_leaf

_PROTOCOL = 1


class _Star(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree, with stars for leaves."""
    stars = [_Star("*")] * treespec.num_leaves
    return repr(treespec.unflatten(stars))


def _check_protocol(protocol: Any) -> None:
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")


def treespec_dumps(treespec: Any, protocol: int | None = None) -> str:
    """The structure as JSON. Raises NotImplementedError for a type that has no name there."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    protocol = _PROTOCOL if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps((protocol, _dumped(treespec)))


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = node_of_type(spec.type)
    if node.serialized_type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    children = [_dumped(child) for child in spec.children()]
    context = _dumped_context(node, spec.context)
    return {"type": node.serialized_type_name, "context": context, "children_spec": children}


def _dumped_context(node: NodeDef, context: Any) -> Any:
    if node.to_dumpable_context is not None:
        return node.to_dumpable_context(context)
    try:
        return json.dumps(context)
    except TypeError as error:
        raise TypeError(
            "Unable to serialize context. Please make the context json dump-able, or register a "
            "custom serializer using _register_pytree_node."
        ) from error


@lru_cache
def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that a text of `treespec_dumps` describes."""
    protocol, schema = json.loads(serialized)
    _check_protocol(protocol)
    return _loaded(schema)


def _loaded(schema: dict[str, Any]) -> TreeSpec:
    name = schema["type"]
    if name is None and schema["context"] is None and not schema["children_spec"]:
        return treespec_leaf()
    node = node_of_name(name)
    if node is None:
        raise NotImplementedError(
            f"Deserializing {name} in pytree failed because the serialized type is not registered "
            "in this process."
        )
    dumped = schema["context"]
    load = node.from_dumpable_context or json.loads
    return TreeSpec(node.type, load(dumped), [_loaded(each) for each in schema["children_spec"]])
