"""Tensors as matrices: inverses and solutions of systems; and Vandermonde matrices."""

from __future__ import annotations

import math

import numpy as np

from impl.core.dtypes import BOOL, FLOATING, REDUCED, int64
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.dispatch.autocast import fp32
from impl.dispatch.batching_rules import RULES, in_aten
from impl.dispatch.definition import function
from impl.dispatch.out import check_castable, copy_out
from impl.operators.copies.cat_stack import cat
from impl.operators.linalg.lapack import _LinAlgError as LinAlgError
from impl.operators.linalg.linear_systems import inv, solve
from impl.tensor.tensor import new, requires_grad


def _check_sizes(rule: str, columns: int, rows: int) -> None:
    if columns != rows:
        raise RuntimeError(
            f"Expected self to satisfy the requirement {rule}, but got {columns} != {rows}"
        )


@fp32
def tensorinv(A, ind=2, *, out=None):
    """The inverse of a tensor read as a matrix whose rows are its first `ind` dimensions
    (torch.linalg.tensorinv).

    Raises RuntimeError for `ind` below 1 and tensors that are no square matrix, LinAlgError for a
    singular one.
    """
    if out is not None:
        check_castable("tensorinv", out, A)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > A._raw.ndim:
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {A._raw.ndim}")
    rows, columns = A._raw.shape[:ind], A._raw.shape[ind:]
    size = math.prod(rows)
    _check_sizes("prod(self.shape[ind:]) == prod(self.shape[:ind])", math.prod(columns), size)
    try:
        inverse = inv(A.reshape((size, size)))
    except LinAlgError as error:
        raise LinAlgError(str(error).removeprefix("linalg.")) from None
    result = inverse.reshape((*columns, *rows))
    if out is None:
        return result
    row_major = result if requires_grad(result) else result.contiguous()
    return copy_out("linalg_tensorinv", out, row_major)


@RULES["composed_fallback"]
@in_aten("linalg_tensorsolve")
@fp32
def tensorsolve(A, B, dims=None, *, out=None):
    """X with `tensordot(A, X, X.ndim) == B` (torch.linalg.tensorsolve).

    `dims` of A are moved to its end first. Raises RuntimeError unless A is then a square matrix
    whose rows are B's elements, LinAlgError for a singular one.
    """
    if out is not None:
        check_castable("tensorsolve", out, A)
    if dims is not None:
        ndim = A._raw.ndim
        A = FUNCTIONS["movedim"](A, tuple(dims), tuple(range(ndim - len(dims), ndim)))
    if B._raw.ndim > A._raw.ndim:  # ATen copies the sizes between the two, a negative number
        raise RuntimeError("cannot create std::vector larger than max_size()")
    sizes = A._raw.shape[B._raw.ndim :]
    count = math.prod(sizes)
    _check_sizes(
        "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])", count, B._raw.size
    )
    result = solve(A.reshape((count, count)), B.flatten()).reshape(sizes)
    return result if out is None else copy_out("linalg_tensorsolve", out, result)


def vander(x, *, N=None):
    """The powers 0 to N - 1 of each element, along a new last dimension (torch.linalg.vander).

    N is the size of the last dimension by default. Raises NotImplementedError for bool,
    half and bfloat16, and RuntimeError for N below 2.
    """
    if x.dtype.category == BOOL or x._raw.dtype in REDUCED:
        raise NotImplementedError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{x.dtype.legacy}"
        )
    x = tensor_ops.unsqueeze(x, -1) if x._raw.ndim == 0 else x
    shape = x._raw.shape
    count = shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = tensor_ops.expand(tensor_ops.unsqueeze(x, -1), (*shape, count - 1)).cumprod(-1)
    ones = new(np.ones((*shape, 1), powers._raw.dtype))
    return cat([ones, powers], -1)


@function("vander", method=False, batching="composed_fallback")
def _vander(x, N=None, increasing=False):
    """The powers of the elements of a vector, as many as it has or N, the highest first unless
    `increasing` (torch.vander). RuntimeError for other ranks and a negative N."""
    if x._raw.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    size = x._raw.shape[0]
    count = size if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    dtype = int64 if x.dtype.category < FLOATING else x.dtype
    result = FUNCTIONS["empty"](size, count, dtype=dtype)
    if count > 0:
        result.narrow(1, 0, 1).fill_(1)
    if count > 1:
        result[:, 1:].copy_(x.unsqueeze(1))
        result[:, 1:].copy_(FUNCTIONS["cumprod"](result[:, 1:], 1))
    return result if increasing else result.flip(1)
