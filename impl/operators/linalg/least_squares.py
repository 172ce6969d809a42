"""Least squares: linalg.lstsq.

The solution is A^+ B, and the derivative of the pseudoinverse A^+ is that of G. H. Golub and
V. Pereyra (1973), for matrices of constant rank.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from impl.core.inference_mode import refuses
from impl.core.return_types import return_type
from impl.core.sizes import broadcast_shapes
from impl.core.strides import strided, unboxed
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.out import check_castable, fit, named_out, store
from impl.dispatch.vmap_rules import hide, padded_example
from impl.operators.linalg import lapack
from impl.operators.linalg.linear_systems import is_vector
from impl.operators.linalg.pseudoinverse import pinv_gradient, pinv_tangent
from impl.tensor.tensor import Tensor, new

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _inverse(F, A):
    roundings = np.finfo(F.dtype_of(A)).eps * max(A.shape[-2:])
    return F.linalg_pinv(A, np.zeros(()), np.asarray(roundings), False)


# -- lstsq ----------------------------------------------------------------------------------------


def _solved(A, b, rcond: float, driver: str):
    """(solution, residuals, rank, singular values, info) of one matrix."""
    if driver != "gels":
        solution, residuals, rank, values = scipy.linalg.lstsq(
            A, b, rcond, check_finite=False, lapack_driver=driver
        )
        return solution, residuals, rank, values, 0
    rows, columns = A.shape
    padded = np.zeros((max(rows, columns), b.shape[1]), b.dtype, order="F")
    padded[:rows] = b
    _, x, info = lapack.lapack("gels", A.dtype)(A, padded)
    rest = np.abs(x[columns:])
    return x[:columns], np.sum(rest * rest, axis=0), 0, None, info


@lapack.factorisation(
    "LinalgLstsqBackward0", "solution", "residuals", "rank", "singular_values", writes=1
)
def linalg_lstsq(self: Array, b: Array, rcond, driver) -> tuple:
    vector = is_vector(self.shape, b.shape)
    right = b[..., None] if vector else b
    batch = broadcast_shapes(self.shape[:-2], right.shape[:-2])
    rows, columns = self.shape[-2:]
    A = np.broadcast_to(self, (*batch, rows, columns))
    right = np.broadcast_to(right, (*batch, *right.shape[-2:]))
    real = self.real.dtype
    count = right.shape[-1]
    # LAPACK solves in the memory of a padded right side, of which torch's solution is a view.
    length = max(rows, columns, 1)
    memory = np.zeros(math.prod(batch) * count * length, self.dtype)
    shape = (*batch, length, count)
    whole = strided(memory, shape, lapack.column_major_strides(shape), 0)
    solution = whole[..., :columns, :]
    residuals = np.sum(np.abs(right) ** 2, axis=-2)
    ranks = np.zeros(batch, np.int64)
    values = np.zeros((*batch, min(rows, columns)), real)
    infos = np.zeros(batch, np.int32)
    if rows and columns and right.size:
        for i in np.ndindex(batch):
            solution[i], rest, ranks[i], found, infos[i] = _solved(A[i], right[i], rcond, driver)
            if len(rest):
                residuals[i] = rest
            if found is not None:
                values[i] = found
    lapack.check_infos("torch.linalg.lstsq", infos)
    # Batches of right sides only do not repeat what belongs to the matrix.
    own = tuple(slice(size) for size in self.shape[:-2])
    ranks, values = ranks[own], values[own]
    full = driver == "gels" or (driver != "gelsy" and np.all(ranks == columns))
    return (
        solution[..., 0] if vector else solution,
        residuals if rows > columns and full else np.empty(0, real),
        np.empty(0, np.int64) if driver == "gels" else unboxed(ranks),
        values if driver in ("gelss", "gelsd") else np.empty(0, real),
    )


linalg_lstsq.composes(refuses("linalg_lstsq"))


@linalg_lstsq.gradients("self", "b")
def _backward(F, grads, self, b, solution, needs):
    of_X, of_L = grads
    to_A = to_B = None
    vector = is_vector(tuple(self.shape), tuple(b.shape))
    right = F.unsqueeze(b, -1) if vector else b
    if of_X is not None:
        inverse = _inverse(F, self)
        of_X = F.unsqueeze(of_X, -1) if vector else of_X
        if needs[0]:
            product = F.matrix_product(of_X, F.adjoint_matrix(right))
            to_A = F.in_columns(pinv_gradient(F, product, inverse, self))
        if needs[1]:
            to_B = F.matrix_product(F.adjoint_matrix(inverse), of_X)
            to_B = F.squeeze_dim(to_B, -1) if vector else to_B
    if of_L is None or not math.prod(of_L.shape):
        return to_A, to_B
    X = F.unsqueeze(solution, -1) if vector else solution
    residual = F.matrix_product(self, X) - right
    of_L = F.unsqueeze(of_L, -2)
    if needs[0]:
        product = F.matrix_product(of_L * residual, F.adjoint_matrix(X))
        more = F.mul_scalar(product, 2)
        to_A = more if to_A is None else F.in_columns(to_A + more)
    if needs[1]:
        more = F.mul_scalar(of_L, -2) * residual
        more = F.squeeze_dim(more, -1) if vector else more
        to_B = more if to_B is None else to_B + more
    return to_A, to_B


@linalg_lstsq.batches
def _lstsq_of_batch(args, level):
    """Results that are not computed, which are empty, are not batched."""
    A, b, *settings = args
    rank = max(A._raw.ndim, b._raw.ndim)
    operands = [padded_example(one, rank, level) for one in (A, b)]
    solution, *rest = linalg_lstsq(*operands, *settings)
    computed = [one if one._raw.shape == (0,) else hide(one, level) for one in rest]
    return (hide(solution, level), *computed)


def _solution_tangent(F, self_t, self, b_t, b):
    vector = is_vector(tuple(self.shape), tuple(b.shape))
    if vector:
        b, b_t = F.unsqueeze(b, -1), F.unsqueeze(b_t, -1)
    inverse = _inverse(F, self)
    inverse_t = pinv_tangent(F, self_t, self, inverse)
    tangent = F.matrix_product(inverse_t, b) + F.matrix_product(inverse, b_t)
    return F.squeeze_dim(tangent, -1) if vector else tangent


def _residuals_tangent(F, self_t, self, b_t, b, solution, residuals):
    if not math.prod(residuals.shape):
        return F.zeros_like(residuals)
    if is_vector(tuple(self.shape), tuple(b.shape)):
        b, b_t, solution = (F.unsqueeze(x, -1) for x in (b, b_t, solution))
    residual = F.matrix_product(self, solution) - b
    moved = F.matrix_product(self_t, solution) - b_t
    along = F.real_part(F.conj(residual) * moved)
    return F.mul_scalar(F.sum_dim(along, (-2,), False), 2)


linalg_lstsq.differentiable("solution", "residuals").forward(
    solution=_solution_tangent, residuals=_residuals_tangent
)


LeastSquares = return_type("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


@fp32
@named_out("linalg_lstsq", outputs=(0, 1))
def lstsq(input, b, rcond=None, *, driver=None, out=None):
    """X that minimises |input X - b|, and of these the one of least norm (torch.linalg.lstsq).

    input (..., m, n), b (..., m, k) or (..., m); the batches broadcast. `driver` is LAPACK's:
    "gels" (full rank), "gelsy" (the default), "gelss" or "gelsd"; `rcond` the size, relative to the
    largest singular value, from which on singular values count. The residuals (..., k) are given
    for m > n and full rank, but not by "gelsy"; the rank not by "gels", singular values by the last
    two. Raises RuntimeError for other shapes, for dtypes that differ, and for dtypes that LAPACK
    lacks.
    """
    _check(input._raw, b._raw, input.dtype.legacy, b.dtype.legacy)
    driver = "gelsy" if driver is None else driver.lower()
    if driver not in _DRIVERS:
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    if input._raw.dtype.char not in "fdFD":
        if rcond is not None:
            raise not_implemented("linalg_lstsq_cpu", input.dtype)
        raise RuntimeError("This function doesn't handle types other than float and double")
    if rcond is None:
        rcond = float(np.finfo(input._raw.dtype).eps) * max(input._raw.shape[-2:])
    if out is not None:
        real = new(np.empty(0, input._raw.real.dtype))
        expected = (input, real, new(np.int64(0)), real)
        names = ("solution", "solution", "rank", "singular_values")
        check_castable("torch.linalg.lstsq", out, expected, *names)
    result = LeastSquares(linalg_lstsq(input, b, rcond, driver))
    if out is None:
        return result
    kept = _left_alone(driver, *input._raw.shape[-2:])
    if any(not _takes(out[i], result[i], expected[i].dtype) for i in {0, 2, 3} - kept):
        fit(out[0], result.solution._raw.shape)  # by way of a copy, and so row-major
        kept = set()  # since all are copied
    elif out[0]._raw.size:
        kept = set()
    made = [new(out[i]._raw) if i in kept else one for i, one in enumerate(result)]
    return store("linalg_lstsq", out, LeastSquares(made))


def _takes(out: Tensor, result: Tensor, kind) -> bool:
    """Whether LAPACK's kernel may write a result of that dtype to `out=`."""
    return out.dtype is kind and (not out._raw.size or out._raw.shape == result._raw.shape)


def _left_alone(driver: str, m: int, n: int) -> set[int]:
    """The positions of the results that a driver does not compute: it leaves their `out=` alone,
    unless all results are copied."""
    if driver == "gelsy":
        return {1, 3}
    if driver == "gels":
        return {3} if m > n else {1, 3}
    return set()


def _check(A, b, A_name: str, b_name: str) -> None:
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if A.dtype != b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {A_name} and other's dtype {b_name}"
        )
    if not 0 <= A.ndim - b.ndim <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    vector = is_vector(A.shape, b.shape)
    side = -1 if vector else -2
    if A.shape[-2] != b.shape[side]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({side})")
    if A.ndim > b.ndim and not vector:
        broadcast_shapes(A.shape[:-2], b.shape[:-1])  # torch treats `b` as vectors here
