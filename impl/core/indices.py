"""Indices along one dimension: their dtypes and bounds, as gather, scatter and index_add check."""

from __future__ import annotations

import numpy as np

INDEX_DTYPES = (np.dtype(np.int64), np.dtype(np.int32))
GATHER_DTYPE = "gather(): Expected dtype int32/int64 for index"


def check_along(index, dim: int, size: int, error=RuntimeError) -> None:
    """Raise for an index below zero or not below the dimension's size."""
    wrong = (index < 0) | (index >= size)
    if wrong.any():
        value = index[wrong].reshape(-1)[0] if index.ndim else index
        raise error(f"index {int(value)} is out of bounds for dimension {dim} with size {size}")


def check_gathered(index, dim: int, size: int) -> None:
    """Raise RuntimeError for indices that `gather` refuses: another dtype, or out of range."""
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(GATHER_DTYPE)
    check_along(index, dim, size)
