"""The amounts that are pruned, how they are refused, and the norms of channels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from impl import linalg
from impl.tensor.tensor import Tensor


def check_amount(amount: Any) -> None:
    """Raise unless an amount is a number of units, or a fraction of them: TypeError for another
    type, ValueError for another value."""
    if not isinstance(amount, Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, Integral) and float(amount) > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def counted(amount: Any, size: int) -> Any:
    """How many of `size` units an amount is."""
    return amount if isinstance(amount, Integral) else round(amount * size)


def check_count(count: Any, size: int) -> None:
    """Raise ValueError for more units than there are."""
    if isinstance(count, Integral) and int(count) > size:
        raise ValueError(
            f"amount={count} should be smaller than the number of parameters to prune={size}"
        )


def check_channels(t: Tensor, dim: int) -> None:
    """Raise ValueError for a tensor without channels, IndexError for a dimension beyond its."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def norms_of_slices(t: Tensor, n: Any, dim: int) -> Tensor:
    """The norm of each slice along a dimension; of slices that are matrices, "fro" and "nuc" are
    norms of matrices."""
    others = list(range(t.dim()))
    others.remove(others[dim])
    matrices = len(others) == 2
    if n == "nuc" or (n == "fro" and matrices):
        return linalg.matrix_norm(t, ord=n, dim=others if matrices else (-2, -1))
    return linalg.vector_norm(t, ord=2 if n == "fro" else n, dim=others)
