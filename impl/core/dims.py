"""Dimension arguments: wrapping of negative ones, lists of dimensions, and torch's errors."""

from __future__ import annotations

import operator as _python


def wrap_dim(dim, ndim: int) -> int:
    """`dim` as a non-negative index into `ndim` dimensions (a 0-dim tensor counts as 1-dim).

    Raises IndexError when out of range.
    """
    dim = _python.index(dim)
    size = max(ndim, 1)
    if not -size <= dim < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], "
            f"but got {dim})"
        )
    return dim + size if dim < 0 else dim


def require_dims(dim, ndim: int) -> None:
    """Raise IndexError if the tensor is 0-dim."""
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")


def existing_dim(dim, ndim: int) -> int:
    """`wrap_dim` that also raises IndexError for a 0-dim tensor."""
    require_dims(dim, ndim)
    return wrap_dim(dim, ndim)


def dim_of(function: str, dim, ndim: int) -> int:
    """`existing_dim` that raises the TypeError of torch's argument parser for a non-integer."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        kind = type(dim).__name__
        raise TypeError(f"{function}(): argument 'dim' (position 1) must be int, not {kind}")
    return existing_dim(dim, ndim)


def wrap_dims(dims, ndim: int) -> tuple[int, ...]:
    """A list of dimensions, each wrapped; None and the empty list stand for all of them.

    Raises IndexError when one is out of range and RuntimeError when one appears twice.
    """
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    if len(dims) == 0:
        return tuple(range(ndim))
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped if ndim else ()
