"""The refusal of norms of nothing, of orders that have no identity."""

from __future__ import annotations

import math

from impl.core.dims import wrap_dim


def require_identity(raw, order: float, dim) -> None:
    """Raise RuntimeError when an empty reduction has no value: orders below zero, and infinity."""
    if raw.size or not (order < 0 or order == math.inf):
        return
    label = f"{order:g}"
    if dim is None or len(dim) == 0:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {label} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    for d in dim:
        if raw.shape[wrap_dim(d, raw.ndim)] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {label} norm on the dimension {d}because "
                "this dimension is empty and the operation does not have an identity"
            )
