"""Calls of LAPACK for batches of matrices: layouts, results and checks.

A batch is an array (..., rows, columns). LAPACK takes single column-major matrices, and torch's
results are column-major too. The `info` of each call (0, or a position counted from 1) is collected
for the whole batch, and raised by the operators that check it.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import scipy.linalg

from impl.core.dtypes import BY_NUMPY, REDUCED
from impl.core.meta_arrays import is_meta
from impl.core.sizes import broadcast_shapes
from impl.core.strides import contiguous_strides, strided
from impl.dispatch.definition import operator
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import fit, set_output
from impl.tensor.batched_tensor import physical
from impl.tensor.legacy_batched_tensor import Batched
from impl.tensor.tensor import Tensor


class _LinAlgError(RuntimeError):
    """A matrix that cannot be inverted or factorised (torch.linalg.LinAlgError)."""


def factorisation(node: str, *outputs: str, **facts):
    """Define an operator on matrices that is no function of the torch namespace itself, and whose
    results lie in memory as its kernel leaves them."""
    facts |= {"function": False, "method": False, "fresh": True}
    facts.setdefault("batching", "leading")
    return operator(node=node, outputs=outputs or ("result",), **facts)


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
    """The strides, in elements, of column-major matrices."""
    *batch, rows, columns = shape
    *steps, step, one = contiguous_strides((*batch, columns, rows))
    return (*steps, one, step)


def set_matrices(out, shape, dtype) -> None:
    """`set_output` of a structured kernel whose result is column-major matrices."""
    set_output(out, shape, dtype, column_major_strides(shape))


def solution_shape(A, B) -> tuple[int, ...]:
    """The shape of the solution of a system of equations: matrices of the sizes of B, of the
    batches of both."""
    return (*broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:])


def set_solution(out, A, B, column_major: bool = True) -> None:
    """`set_output` for the solution of a system of equations, matrices of the sizes of B."""
    shape = solution_shape(A, B)
    set_output(out, shape, B.dtype, column_major_strides(shape) if column_major else None)


def fit_empty(out, shape, dtype) -> None:
    """Resize an empty `out=` of the `dtype` to column-major matrices, to which LAPACK writes; any
    other gets a copy of its result, and is row-major if it has to be resized."""
    if not out._raw.size and out._raw.dtype == dtype:
        fit(out, tuple(shape), column_major_strides(shape))


def empty(shape, dtype) -> np.ndarray:
    """Uninitialised column-major matrices."""
    strides = column_major_strides(shape)
    if 0 in shape:  # NumPy does not keep the strides of an empty array that owns its memory
        return strided(np.empty(1, dtype), shape, strides, 0)
    size = np.dtype(dtype).itemsize
    # Strides of dimensions of size one count only in arrays over memory that is not theirs.
    memory = bytearray(math.prod(shape) * size) if 1 in shape[-2:] else None
    return np.ndarray(shape, dtype, buffer=memory, strides=[s * size for s in strides])


def widened(value) -> np.ndarray:
    """Matrices in a dtype of LAPACK, row-major: empty ones in half precision, which torch accepts,
    in float32."""
    return np.ascontiguousarray(value, np.float32 if value.dtype in REDUCED else None)


def column_major(value, dtype=None) -> np.ndarray:
    """A column-major copy of matrices, in a dtype if given."""
    result = empty(value.shape, dtype or value.dtype)
    result[...] = value
    return result


def vectors(value) -> np.ndarray:
    """A copy of vectors in the layout of matrices of one column: the batch varies fastest."""
    return column_major(value) if value.ndim > 1 else value.copy()


def solved(solve, factors, pivots, B, kernel: str) -> np.ndarray:
    """X for a batch of systems, column-major, from factors and row exchanges; the batches
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


def broadcast_batches(first, second):
    """Two batches of matrices, the coefficients and the right sides, broadcast to one shape of
    batch. Raises RuntimeError, which names the right sides first."""
    if first.shape[:-2] == second.shape[:-2]:
        return first, second
    batch = broadcast_shapes(second.shape[:-2], first.shape[:-2])
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


def first_with(test, A: np.ndarray) -> int:
    """The position in a batch of the first matrix with an element that passes the test; -1 if there
    is none."""
    broken = test(A).any((-2, -1)).reshape(-1)
    return int(broken.argmax()) if broken.any() else -1


def first_not_finite(A: np.ndarray) -> int:
    """The position in a batch of the first matrix with an infinity or NaN; -1 if there is none."""
    return first_with(lambda values: ~np.isfinite(values), A)


def batch_element(A: np.ndarray, number: int) -> str:
    """The prefix of torch's messages that names one matrix of a batch; empty for a single
    matrix."""
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
    """Raise NotImplementedError, with torch's name of the kernel, for a dtype that LAPACK lacks."""
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
    """Raise LinAlgError (for `lu_factor`, RuntimeError) for the first matrix of a batch with a
    nonzero `info`, in an array or a tensor; on the meta device there is none."""
    if isinstance(infos, Batched):
        for example in infos._examples:
            check_infos(name, example)
        return
    if isinstance(infos, Tensor):
        infos = physical(infos)._raw
    if is_meta(infos) or not np.any(infos):
        return
    where, info = "", int(np.reshape(infos, -1)[0])
    if np.ndim(infos):
        first = int(np.flatnonzero(infos)[0])
        where, info = f": (Batch element {first})", int(np.reshape(infos, -1)[first])
    part, text = next(failure for failure in _FAILURES if failure[0] in name)
    error = RuntimeError if part == "lu_factor" else _LinAlgError
    raise error(f"{name}{where}: {text.format(info)}")
