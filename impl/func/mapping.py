"""`torch.func.vmap`: a function applied along a dimension of its arguments.

The function runs once, with batched tensors (`impl.tensor.batched_tensor`).
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from impl.core.dims import wrap_dim
from impl.core.registry import C
from impl.factories.generator import get_rng_state, set_rng_state
from impl.func.levels import VmapLevel
from impl.tensor.batched_tensor import batched, is_at, with_dim
from impl.tensor.tensor import Tensor
from impl.utils._pytree import TreeSpec, tree_flatten, tree_unflatten


def vmap(
    func: Callable,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable:
    """The function that maps a function over a dimension of its arguments (torch.func.vmap).

    `in_dims` and `out_dims` name it for each tensor, or None for those without; keyword arguments
    are the same for all. `randomness`: "error", or whether draws are "same" or "different".
    Raises ValueError for arguments that cannot be mapped.
    """
    return mapped(func, in_dims, out_dims, randomness, chunk_size, VmapLevel)


def mapped(
    func: Callable,
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    kind: type[VmapLevel],
) -> Callable:
    """`vmap` by a kind of level."""
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def call(*args, **kwargs):
        name = getattr(func, "__name__", repr(func))
        leaves, dims, spec = _arguments(name, in_dims, args, kwargs)
        size = _size(leaves, dims)
        if chunk_size is None or not size:
            return _mapped(func, name, leaves, dims, spec, kind(size, randomness), out_dims)
        before = get_rng_state()
        chunks = []
        for start in range(0, size, chunk_size):
            if randomness == "same":
                set_rng_state(before)
            count = min(chunk_size, size - start)
            part = [
                leaf if dim is None else leaf.narrow(dim, start, count)
                for leaf, dim in zip(leaves, dims, strict=True)
            ]
            chunks.append(_mapped(func, name, part, dims, spec, kind(count, randomness), out_dims))
        return _joined(chunks, out_dims)

    return call


def _mapped(
    func: Callable,
    name: str,
    leaves: list,
    dims: list,
    spec: TreeSpec,
    level: VmapLevel,
    out_dims: Any,
) -> Any:
    """The results of one run of the function, with batched tensors."""
    with level.run():
        given = [
            leaf if dim is None else batched(leaf, dim, level)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        positional, named = tree_unflatten(given, spec)
        results, shape = tree_flatten(func(*positional, **named))
        places = _broadcast(out_dims, shape)
        for place in places or ():
            if place is not None and not isinstance(place, int):
                raise ValueError(
                    f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                    "python collection of ints representing where in the outputs the vmapped "
                    "dimension should appear."
                )
        if places is None:
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
                f"with the structure of `outputs`. out_dims has structure "
                f"{tree_flatten(out_dims)[1]} but outputs has structure {shape}."
            )
        unwrapped = [
            _unwrapped(name, result, place, level)
            for result, place in zip(results, places, strict=True)
        ]
    return tree_unflatten(unwrapped, shape)


def _unwrapped(name: str, result: Any, place: Any, level: VmapLevel) -> Any:
    """A result with the mapped dimension in its place, or without it where that is None."""
    if not isinstance(result, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. Did "
            "you mean to set out_dims= to None for output?"
        )
    if place is None:
        if is_at(result, level):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return result
    return with_dim(result, level, wrap_dim(place, result.dim() + 1))


def _joined(chunks: list, out_dims: Any) -> Any:
    """The results of chunks, each in one tensor."""
    rows = [tree_flatten(chunk) for chunk in chunks]
    spec = rows[0][1]
    places = _broadcast(out_dims, spec)
    assert places is not None
    if None in places:
        raise TypeError("cat(): argument 'dim' must be int, not NoneType")
    columns = zip(*(leaves for leaves, _ in rows), strict=True)
    return tree_unflatten(
        [C.cat(list(column), place) for column, place in zip(columns, places, strict=True)],
        spec,
    )


def check_randomness(randomness: str) -> None:
    """Raise RuntimeError for another word than vmap knows."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )


def _arguments(name: str, in_dims: Any, args: tuple, kwargs: dict) -> tuple[list, list, TreeSpec]:
    """The leaves of the arguments, the dimension of each, and their structure."""
    begin = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{begin}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args and not kwargs:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = _broadcast(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{begin}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    named, _ = tree_flatten(kwargs)
    every = [*leaves, *named]
    dims += [None] * len(named)
    for i, (leaf, dim) in enumerate(zip(every, dims, strict=True)):
        dims[i] = _checked(begin, leaf, dim)
    return every, dims, tree_flatten((args, kwargs))[1]


def _checked(begin: str, leaf: Any, dim: Any) -> int | None:
    """The dimension of one argument, counted from the first."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{begin}: Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{begin}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{begin}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {leaf.dim()} so expected in_dim to satisfy "
            f"-{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim % leaf.dim() if dim < 0 else dim  # a bool stays one, which `size` refuses


def _broadcast(dims: Any, spec: TreeSpec) -> list | None:
    """The dimension for each leaf of a structure; None where the two do not fit."""
    if not isinstance(dims, (tuple, list, dict)):
        return [dims] * spec.num_leaves
    if spec.is_leaf():
        return None
    kind = spec.type
    if kind is namedtuple or issubclass(kind, tuple):
        kind = tuple
    if not isinstance(dims, kind) or len(dims) != spec.num_children:
        return None
    children, parts = spec.children(), dims
    if isinstance(dims, dict):  # in their own order, in which torch gives them to the leaves
        keys = list(tree_unflatten([0] * spec.num_leaves, spec))
        if set(dims) != set(keys):
            return None
        children = [children[keys.index(key)] for key in dims]
        parts = list(dims.values())
    found: list = []
    for part, child in zip(parts, children, strict=True):
        inner = _broadcast(part, child)
        if inner is None:
            return None
        found += inner
    return found


def _size(leaves: list, dims: list) -> int:
    sizes = [leaf.size(d) for leaf, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]
