"""A write at indices that meets one out of range is done in part: torch looks at each
index when its turn comes, and the elements before it stay written."""

from __future__ import annotations

import numpy as np


def set_at(target, key, values):
    """Write values at a key; returns the target, as reductions do."""
    target[key] = values
    return target


def stopped(error: Exception, target, key, values, write=set_at) -> Exception:
    """The error for an index of `key` that is out of range, with the array that is `written` until
    then: the elements before it, in row-major order."""
    places = _places(target.shape, key)
    count = int(np.argmax(places.reshape(-1) < 0))
    before = places.reshape(-1)[:count]
    flat = np.array(target, order="C").reshape(-1)
    values = np.broadcast_to(values, places.shape).reshape(-1)[:count]
    error.written = write(flat, before, values).reshape(target.shape)  # type: ignore[attr-defined]
    return error


def _places(shape, key) -> np.ndarray:
    """The row-major numbers of the elements at a key in an array of `shape`; -1 out of range."""
    numbers = np.full([n + 1 for n in shape], -1)
    numbers[tuple(slice(n) for n in shape)] = np.arange(np.prod(shape)).reshape(shape)
    known = (
        slice(n) if isinstance(index, slice) else _in_bounds(np.asarray(index), n)
        for n, index in zip(shape, key, strict=False)
    )
    rest = (slice(n) for n in shape[len(key) :])
    return numbers[(*known, *rest)]


def _in_bounds(index, size: int):
    counted = np.where(index < 0, index + size, index)
    return np.where((counted < 0) | (counted >= size), size, counted)
