"""`torch.func.vmap`: a function applied along a dimension of its arguments.

torch runs the function once, on tensors with a hidden dimension. Here it runs once for each
example, and its results are stacked: the same numbers, with a graph of one node per example.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from impl.core.registry import FUNCTIONS
from impl.factories.generator import get_rng_state, set_rng_state
from impl.func.levels import Transform
from impl.tensor.tensor import Tensor, requires_grad
from impl.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)


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
    check_randomness(randomness)

    @functools.wraps(func)
    def call(*args, **kwargs):
        name = getattr(func, "__name__", repr(func))
        leaves, dims, spec = _arguments(name, in_dims, args, kwargs)
        size = _size(leaves, dims)
        rows, shapes = [], []
        transform = Transform()
        before = get_rng_state()
        for number in range(size or 1):
            if randomness == "same":
                set_rng_state(before)
            # Without examples the results have the shapes of those of one of zeros.
            given = [
                leaf if dim is None else leaf.select(dim, number) if size else _zeros(leaf, dim)
                for leaf, dim in zip(leaves, dims, strict=True)
            ]
            positional, named = tree_unflatten(given, spec)
            with transform.run(), drawing(randomness):
                row, shape = tree_flatten(func(*positional, **named))
            rows.append(row)
            shapes.append(shape)
        mapped = [(leaf, d) for leaf, d in zip(leaves, dims, strict=True) if d is not None]
        return _stacked(name, rows, shapes[0], out_dims, size, mapped)

    return call


def check_randomness(randomness: str) -> None:
    """Raise RuntimeError for another word than vmap knows."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )


@contextmanager
def drawing(randomness: str) -> Iterator[None]:
    """Raise RuntimeError after a block that draws random numbers if `randomness` is "error"."""
    before = get_rng_state()
    yield
    if randomness == "error" and not FUNCTIONS["equal"](before, get_rng_state()):
        raise RuntimeError(_RANDOM)


def _zeros(leaf: Tensor, dim: int) -> Tensor:
    shape = list(leaf.shape)
    del shape[dim]
    return leaf.new_zeros(shape)


def _arguments(name: str, in_dims: Any, args: tuple, kwargs: dict) -> tuple[list, list, TreeSpec]:
    """The leaves of the arguments, the dimension of each, and their structure."""
    begin = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
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
    dims = _broadcast(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
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
    return dim % leaf.dim()


def _broadcast(dims: Any, spec: TreeSpec) -> list | None:
    """The dimension for each leaf of a structure; None where the two do not fit."""
    if dims is None or isinstance(dims, int):
        return [dims] * spec.num_leaves
    if spec.is_leaf():
        return None
    kind = list if spec.type is list else tuple if issubclass(spec.type, tuple) else spec.type
    parts = list(dims.values()) if isinstance(dims, dict) else dims
    if not isinstance(dims, kind) or len(parts) != len(spec.children_specs):
        return None
    found: list = []
    for part, child in zip(parts, spec.children_specs, strict=True):
        inner = _broadcast(part, child)
        if inner is None:
            return None
        found += inner
    return found


def _size(leaves: list, dims: list) -> int:
    sizes = [leaf.size(d) for leaf, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one argument has to be mapped along a dimension")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]


def _stacked(
    name: str, rows: list[list], spec: TreeSpec, out_dims: Any, size: int, mapped: list
) -> Any:
    """The results of all examples, or those of none where there are none, in one tensor each."""
    dims = _broadcast(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but "
            f"outputs has structure {spec}."
        )
    results = []
    for examples, dim in zip(zip(*rows, strict=True), dims, strict=True):
        for example in examples:
            if not isinstance(example, Tensor):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type "
                    f"{type(example)}. Did you mean to set out_dims= to None for output?"
                )
        if dim is None:
            results.append(examples[0])
        else:
            result = _of_argument(examples, dim, mapped)
            if result is None:
                result = FUNCTIONS["stack"](list(examples), dim)
            results.append(result if size else result.narrow(dim, 0, 0))
    return tree_unflatten(results, spec)


def _of_argument(examples: tuple, dim: int, mapped: list) -> Tensor | None:
    """The view of a mapped argument whose parts the examples are, if they are: torch's function
    returns a view of the argument then. None for a result with a graph."""
    first = examples[0]
    for leaf, mapped_dim in mapped:
        step = leaf.stride()[mapped_dim]
        if not requires_grad(first) and all(
            example._storage is leaf._storage
            and example._offset == first._offset + number * step
            and (example._raw.shape, example.stride()) == (first._raw.shape, first.stride())
            and example.dtype is first.dtype
            for number, example in enumerate(examples)
        ):
            at = dim % (first.dim() + 1)
            shape, strides = [*first._raw.shape], [*first.stride()]
            shape.insert(at, len(examples))
            strides.insert(at, step)
            whole = leaf._offset == first._offset and leaf._raw.shape == tuple(shape)
            return leaf.detach() if whole else first.as_strided(shape, strides)
    return None
