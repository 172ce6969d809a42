"""Batches of matrices given to LAPACK: what goes in, what comes out, what is refused.

A batch is an array (..., rows, columns). LAPACK takes one matrix, column by column, and so do
torch's results lie in memory. What a routine reports (`info`: 0, or a place counted from 1) is
collected for the whole batch, and raised by whoever has to.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.linalg

from impl import inplace
from impl.dtypes import BY_NUMPY, FLOATING, REDUCED
from impl.operator import operator
from impl.refusals import not_implemented
from impl.sizes import broadcast_shapes
from impl.storage import contiguous_strides, strided
from impl.tensor import Tensor


class _LinAlgError(RuntimeError):
    """A matrix that cannot be inverted or factorised (torch.linalg.LinAlgError)."""


def factorisation(node: str, *outputs: str):
    """Define an operator on matrices that is no function of the torch namespace itself, and whose
    results lie in memory as its kernel leaves them."""
    return operator(
        node=node, outputs=outputs or ("result",), function=False, method=False, fresh=True
    )


# -- calls --------------------------------------------------------------------------------------


@cache
def lapack(name: str, dtype):
    """LAPACK's routine of that name for a NumPy dtype."""
    return scipy.linalg.get_lapack_funcs((name,), dtype=dtype)[0]


@cache
def blas(name: str, dtype):
    """The BLAS routine of that name for a NumPy dtype."""
    return scipy.linalg.get_blas_funcs((name,), dtype=dtype)[0]


def column_major_strides(shape) -> tuple[int, ...]:
    """The strides, in elements, of matrices that lie in memory column by column."""
    *batch, rows, columns = shape
    *steps, step, one = contiguous_strides((*batch, columns, rows))
    return (*steps, one, step)


def empty(shape, dtype) -> np.ndarray:
    """Uninitialised matrices that lie in memory column by column."""
    strides = column_major_strides(shape)
    if 0 in shape:  # NumPy keeps no strides of an array of its own that has no elements
        return strided(np.empty(1, dtype), shape, strides, 0)
    size = np.dtype(dtype).itemsize
    return np.ndarray(shape, dtype, strides=[s * size for s in strides])


def widened(value) -> np.ndarray:
    """Matrices as LAPACK takes them: those of half precision that have no elements, which torch
    takes, in float32."""
    return value.astype(np.float32) if value.dtype in REDUCED else value


def column_major(value, dtype=None) -> np.ndarray:
    """A copy of matrices, in a dtype if given, that lies in memory column by column."""
    result = empty(value.shape, dtype or value.dtype)
    result[...] = value
    return result


def vectors(value) -> np.ndarray:
    """A copy of vectors as LAPACK's matrices of one column hold them: over the batch first."""
    return column_major(value) if value.ndim > 1 else value.copy()


def solved(solve, factors, pivots, B, kernel: str) -> np.ndarray:
    """X for a batch of systems, column by column, from factors and row exchanges; the batches
    broadcast. `solve` takes (factors, pivots, B) of one system and returns (X, info)."""
    batch = factors.shape[:-2]
    factors, B = broadcast_batches(factors, B)
    result = column_major(B)
    if result.size:
        require_kernel(B, kernel)
        if factors.shape[:-2] != batch:
            pivots = np.broadcast_to(pivots, factors.shape[:-1])
        for i in np.ndindex(B.shape[:-2]):
            result[i], _ = solve(factors[i], pivots[i], result[i])
    return result


def number(value):
    """An array, or the NumPy scalar in one without dimensions."""
    return value if value.ndim else value[()]


def broadcast_batches(first, second):
    """Two batches of matrices, broadcast to one shape of batch. Raises RuntimeError."""
    if first.shape[:-2] == second.shape[:-2]:
        return first, second
    batch = broadcast_shapes(first.shape[:-2], second.shape[:-2])
    return tuple(np.broadcast_to(m, (*batch, *m.shape[-2:])) for m in (first, second))


# -- checks -------------------------------------------------------------------------------------


def check_matrices(name: str, A, argument: str = "A") -> None:
    """Raise RuntimeError for less than two dimensions."""
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name: str, A, argument: str = "A") -> None:
    """Raise RuntimeError unless these are square matrices."""
    check_matrices(name, A, argument)
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {rows} by "
            f"{columns} matrices"
        )


def check_floating(name: str, A, low_precision: bool = True) -> None:
    """Raise RuntimeError for integers, and for half and bfloat16 unless `low_precision`."""
    d = BY_NUMPY[A.dtype]
    if d.category < FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {d.legacy}"
        )
    if not low_precision and A.dtype in REDUCED:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {d.legacy}")


def first_not_finite(A: np.ndarray) -> int:
    """The number of the first matrix of a batch that holds an infinity or NaN; -1 if none does."""
    broken = ~np.isfinite(A).all((-2, -1)).reshape(-1)
    return int(broken.argmax()) if broken.any() else -1


def batch_element(A: np.ndarray, number: int) -> str:
    """How torch's messages name one matrix of a batch, if it is a batch."""
    return f"(Batch element {number}): " if A.ndim > 2 else ""


def check_equation(name: str, A, B, left: bool) -> None:
    """Raise RuntimeError unless A is square and fits B in AX = B, or XA = B."""
    check_square(name, A)
    check_matrices(name, B, "B")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def require_kernel(value, kernel: str) -> None:
    """Raise NotImplementedError, with torch's name of the kernel, for what LAPACK does not know."""
    if value.dtype.char not in "fdFD":
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


_FAILURES = (
    (
        "inv",
        "The diagonal element {} is zero, the inversion could not be completed because the input "
        "matrix is singular.",
    ),
    ("solve", "The solver failed because the input matrix is singular."),
    (
        "cholesky",
        "The factorization could not be completed because the input is not positive-definite (the "
        "leading minor of order {} is not positive-definite).",
    ),
    (
        "lu_factor",
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you "
        "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)",
    ),
    (
        "lstsq",
        "The least squares solution could not be computed because the input matrix does not have "
        "full rank (error code: {}).",
    ),
)


def check_infos(name: str, infos) -> None:
    """Raise LinAlgError (for `lu_factor`, RuntimeError) for the first matrix of a batch of which
    LAPACK reports something."""
    if not np.any(infos):
        return
    where, info = "", int(np.reshape(infos, -1)[0])
    if np.ndim(infos):
        first = int(np.flatnonzero(infos)[0])
        where, info = f": (Batch element {first})", int(np.reshape(infos, -1)[first])
    part, text = next(failure for failure in _FAILURES if failure[0] in name)
    error = RuntimeError if part == "lu_factor" else _LinAlgError
    raise error(f"{name}{where}: {text.format(info)}")


def stored(name: str, out, result):
    """What an operator computed, in `out=` where that is given. Raises as `store` does."""
    return result if out is None else store(name, out, result)


def store(name: str, out, result):
    """Store in `out=` what an operator computed, a tensor or a tuple of them; returns `out`.

    Raises RuntimeError when an argument or `out` requires grad, and for another dtype.
    """
    if isinstance(result, tuple) and isinstance(out, (tuple, list)) and len(out) == len(result):
        values = [store(name, o, r) for o, r in zip(out, result, strict=True)]
        return inplace.like_tuple(result, values)
    if isinstance(out, Tensor):
        inplace.check_out(name, out, result.requires_grad)
        if out.dtype is not result.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {result.dtype.c_name}, but got "
                f"{out.dtype.c_name} instead"
            )
    return inplace.store(name, out, result)
