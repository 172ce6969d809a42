"""Nested containers: their leaves, structures, paths and errors, printed."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import torch
import torch.utils._pytree as pytree

Pair = namedtuple("Pair", "a b")


def tried(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:300].partition(" at 0x")[0].replace("torch.", "impl."))


trees = [
    *(1, [], (1, 2), {"b": 1, "a": [2, 3]}, OrderedDict(a=1, b=(2,)), deque([1, 2], 5)),
    *(defaultdict(list, {"x": [1]}), Pair(1, [2]), torch.Size([1, 2])),
    *([Pair(1, {"k": None}), (3,)], torch.max(torch.ones(2, 2), 0)),
]
for tree in trees:
    leaves, spec = pytree.tree_flatten(tree)
    print(leaves, repr(spec), spec.num_nodes, spec.num_leaves, spec.num_children, spec.is_leaf())
    again = pytree.tree_unflatten(leaves, spec)
    print(again, type(again).__name__, spec == pytree.tree_structure(tree), spec.children())
    for path, leaf in pytree.tree_leaves_with_path(tree):
        print(pytree.keystr(path), leaf, pytree.key_get(tree, path))
    tried(lambda: pytree.treespec_dumps(spec))
    tried(lambda: pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec)
    print(pytree.treespec_pprint(spec), pytree.tree_is_leaf(tree), list(pytree.tree_iter(tree)))
    for other in trees:
        tried(lambda: spec.flatten_up_to(other))
    print(pytree.tree_map(lambda x: (x,), tree), pytree.tree_map_only(int, lambda x: x + 1, tree))
    print(pytree.tree_all_only(int, bool, tree), pytree.tree_any_only(int, lambda x: x > 2, tree))
print(pytree.tree_map_with_path(lambda k, x, y: (pytree.keystr(k), x, y), {"a": [1]}, {"a": [3]}))
tried(lambda: pytree.tree_unflatten([1], pytree.tree_structure([1, 2])))
tried(lambda: pytree.tree_unflatten([1], 3))
tried(lambda: pytree.tree_map_only(3, id, [1]))
tried(lambda: pytree.treespec_dumps(3))


class Box:
    def __init__(self, *values):
        self.values = values

    def __repr__(self):
        return f"Box{self.values}"


pytree.register_pytree_node(Box, lambda c: (list(c.values), "ctx"), lambda v, c: Box(*v))
print(pytree.tree_map(lambda x: x + 1, Box(1, 2)), pytree.tree_structure(Box(1)))
for call in (
    lambda: pytree.register_pytree_node(Box, None, None),
    lambda: pytree.tree_leaves_with_path(Box(1)),
    lambda: pytree.treespec_dumps(pytree.tree_structure(Box(1))),
    lambda: pytree.tree_structure(Box(1)).flatten_up_to([1]),
    lambda: pytree.tree_structure(Box(1)).flatten_up_to(Box(1, 2)),
):
    tried(call)
print(pytree.is_namedtuple(Pair), pytree.is_namedtuple(Pair(1, 2)), pytree.is_namedtuple((1,)))
print(pytree.is_structseq(trees[-1]), pytree.is_structseq(type(trees[-1])))
print(pytree.SequenceKey(1), repr(pytree.MappingKey("a")), pytree.arg_tree_leaves([1], b=(2,)))
print(torch.func.vmap(lambda p: p.a + p.b, in_dims=(Pair(0, None),))(Pair(torch.ones(2), 1.0)))
