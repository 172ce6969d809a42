"""Functions without writes (torch.func.functionalize)."""

from __future__ import annotations

import functools
from collections.abc import Callable

from impl.tensor.tensor import Tensor
from impl.utils._pytree import tree_flatten, tree_unflatten

_REMOVED = (
    "functionalize(f, remove='mutations'): received invalid argument for remove={}. Valid options "
    "are:\n     remove='mutations': all inplace and out= operators will be removed from the "
    "program, and replaced with their out-of-place equivalents.\n     "
    "remove='mutations_and_views': In addition to the above, all aliasing operators {{view}} will "
    "be replaced with their non-aliasing counterparts, {{view}}_copy.\n"
)


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """The function without writes (torch.func.functionalize): here it writes, and returns copies of
    written arguments.

    Raises RuntimeError for another word than "mutations" and "mutations_and_views".
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(_REMOVED.format(remove))

    @functools.wraps(func)
    def call(*args, **kwargs):
        given = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
        versions = [tensor._version for tensor in given]
        result = func(*args, **kwargs)
        written = {
            id(tensor._storage)
            for tensor, version in zip(given, versions, strict=True)
            if tensor._version != version
        }
        leaves, spec = tree_flatten(result)
        # torch copies values to the arguments when the function has ended.
        return tree_unflatten(
            [
                _copied(leaf, remove)
                if isinstance(leaf, Tensor) and id(leaf._storage) in written
                else leaf
                for leaf in leaves
            ],
            spec,
        )

    return call


def _copied(tensor: Tensor, removed: str) -> Tensor:
    """A copy, which is a view of itself unless views are removed, too."""
    copy = tensor.clone()
    return copy.view(copy.shape) if removed == "mutations" else copy
