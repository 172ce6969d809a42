"""Pseudoinverses and ranks, by singular values or eigenvalues.

The derivative is that of G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate" (1973).
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.dims import existing_dim
from impl.core.dtypes import COMPLEX, FLOATING, REDUCED, real_of
from impl.core.registry import array_ops, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.core.state import STATE
from impl.dispatch.autocast import fp32, lowering
from impl.dispatch.batching_rules import RULES, in_aten
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import refuse_gradient
from impl.dispatch.out import (
    check_castable,
    check_out,
    copy_out,
    fit,
    refuse_links,
    store,
    warn_resized,
)
from impl.dispatch.record import check_write
from impl.operators.linalg import lapack
from impl.operators.linalg.eigenvalues import eigvalsh, linalg_eigh
from impl.operators.linalg.singular_values import linalg_svd, svdvals
from impl.operators.products.matmul import check_alike
from impl.tensor.tensor import Tensor, new

# -- tolerances ---------------------------------------------------------------------------------


def _tolerance(name: str, argument: str, value, kind: np.dtype):
    """A tolerance as an array of a real dtype; None if it is not given."""
    if value is None:
        return None
    if not isinstance(value, Tensor):
        return np.asarray(value).astype(kind)
    if value.dtype.category == COMPLEX:
        raise RuntimeError(
            f"{name}: {argument} tensor of complex type is not supported. Got {value.dtype.legacy}"
        )
    return value._raw.astype(kind)


def _tolerances(name: str, A: Tensor, atol, rtol, label: str = "rtol") -> tuple:
    """The absolute and the relative tolerance as arrays.

    The relative one is zero by default where a positive absolute one is given, else the machine
    epsilon times the larger size.
    """
    kind = real_of(A.dtype).numpy
    absolute, relative = (
        _tolerance(name, argument, value, kind)
        for argument, value in (("atol", atol), (label, rtol))
    )
    if relative is None:
        roundings = np.finfo(kind).eps * max(A._raw.shape[-2:])
        relative = np.asarray(roundings, kind)
        if absolute is not None:
            relative = np.where(absolute > 0, kind.type(0), relative)
    return np.zeros((), kind) if absolute is None else absolute, relative


def _require_sizes(A: Tensor, atol, rtol) -> None:
    """Raise IndexError for less than two dimensions, RuntimeError for another dtype, where a number
    for `atol` alone is given: ATen computes the other tolerance before it looks at the operand."""
    if isinstance(atol, float | int) and rtol is None:
        existing_dim(-2, A._raw.ndim)
        _require_precision(A)


def _require_precision(A: Tensor) -> None:
    """Raise RuntimeError for a dtype that has no machine epsilon in ATen's table."""
    if A.dtype.category < FLOATING or A._raw.dtype in REDUCED:
        raise RuntimeError("This function doesn't handle types other than float and double")


def _threshold(values, atol, rtol):
    """The threshold above which singular values count, from their magnitudes (..., k)."""
    largest = values.max(-1)
    shape = broadcast_shapes(rtol.shape, largest.shape)  # or RuntimeError
    broadcast_shapes(atol.shape, shape)
    return np.maximum(atol, rtol * largest)[..., None]


# -- pseudoinverses -----------------------------------------------------------------------------


@operator(function=False, method=False, node="LinalgPinvBackward0", batching="leading")
def linalg_pinv(self: Array, atol=None, rtol=None, hermitian=False) -> Array:
    if not self.size:
        nothing = np.zeros((*self.shape[:-2], self.shape[-1], self.shape[-2]), self.dtype)
        return lowering(np.positive)(nothing)
    if hermitian:
        values, right = linalg_eigh.definition(self)
        left = array_ops.adjoint_matrix(right)
    else:
        U, values, Vh = linalg_svd.definition(self)
        left, right = array_ops.adjoint_matrix(U), array_ops.adjoint_matrix(Vh)
    sizes = np.abs(values)
    counted = sizes > _threshold(sizes, atol, rtol)
    inverted = np.where(counted, np.reciprocal(values), values.dtype.type(0))
    # ATen's kernel calls matmul, which autocast lowers.
    return lowering(np.matmul)(right * inverted[..., None, :], left)


def pinv_gradient(F, grad, result, self):
    product, adjoint = F.matrix_product, F.adjoint_matrix(result)
    transposed = F.adjoint_matrix(grad)
    if F is array_ops:  # the arrays' product mixes dtypes; under autocast `result` may have another
        check_alike(result, self)
    rows, columns = self.shape[-2:]
    if rows <= columns:
        K = product(transposed, result)
        last = product(K, adjoint)
        third = product(product(adjoint, result), transposed - product(K, self))
        second = product(product(self, result), last)
        return -F.adjoint_matrix(product(result, K)) + last - second + third
    K = product(result, transposed)
    last = product(adjoint, K)
    third = product(product(last, result), self)
    second = product(product(transposed - product(self, K), result), adjoint)
    return -F.adjoint_matrix(product(K, result)) + second + last - third


def pinv_tangent(F, self_t, self, result):
    product, adjoint = F.matrix_product, F.adjoint_matrix(result)
    transposed = F.adjoint_matrix(self_t)
    right = product(product(result, adjoint), transposed)
    left = product(product(transposed, adjoint), result)
    return (
        right
        - product(product(right, self), result)
        + left
        - product(result, product(self, left))
        - product(product(result, self_t), result)
    )


# A sum has the layout of its first term, which here is the transpose of a product.
# Empty gradients are row-major: TensorIterator permutes no operand that has no elements.
array_ops.in_columns = lambda value: lapack.column_major(value) if value.size else value
tensor_ops.in_columns = lambda value: value

linalg_pinv.gradient(
    self=lambda F, grad, result, self: F.in_columns(pinv_gradient(F, grad, result, self))
)
linalg_pinv.forward(pinv_tangent)


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """The Moore-Penrose inverse (..., n, m) of (..., m, n) (torch.linalg.pinv).

    Singular values (or, if `hermitian`, magnitudes of eigenvalues) up to `atol`, and up to `rtol`
    (once `rcond`) times the largest, count as zero. Raises RuntimeError for integers and for less
    than two dimensions; LinAlgError for infinities and NaN.
    """
    apply = pinv_by_tensor if isinstance(rcond, Tensor) else _pinv
    return apply(A, rcond, hermitian, atol=atol, rtol=rtol, out=out)


def _pinv(A, rcond, hermitian, *, atol, rtol, out):
    # Tolerances that are numbers are those of a composite, whose result is copied.
    numbers = rcond is not None or any(isinstance(t, float | int) for t in (atol, rtol))
    if out is not None:
        if not numbers:
            refuse_links("linalg_pinv", A, atol, rtol, out)
        check_castable("linalg.pinv", out, A)
    for label, tolerance in (("atol", atol), ("rtol", rtol if rcond is None else rcond)):
        if isinstance(tolerance, Tensor):
            refuse_gradient("linalg_pinv", label, tolerance, (A, tolerance))
    if rcond is None:
        _require_sizes(A, atol, rtol)
    if A._raw.ndim < 2 or A.dtype.category < FLOATING or A._raw.dtype in REDUCED:
        sizes = ", ".join(map(str, A._raw.shape))
        raise RuntimeError(
            f"linalg.pinv({A.dtype.legacy}{{[{sizes}]}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )
    if rcond is not None:
        atol, rtol = 0.0, rcond
    if hermitian and A._raw.size:
        lapack.check_square("linalg.eigh", A._raw)
    label = "rtol" if rcond is None else "rcond"
    result = linalg_pinv(A, *_tolerances("torch.linalg.pinv", A, atol, rtol, label), hermitian)
    if out is None:
        return result
    return (copy_out if numbers else store)("linalg_pinv", out, result)


@RULES["composed_fallback"]
@in_aten("linalg_pinv.rcond_tensor")
def pinv_by_tensor(A, rcond, hermitian, **settings):
    """`pinv` with a tensor as `rcond`."""
    return _pinv(A, rcond, hermitian, **settings)


@function()
@fp32
def pinverse(input, rcond=1e-15):
    """`linalg.pinv` with a relative tolerance (torch.pinverse)."""
    return pinv(input, rcond)


# -- ranks --------------------------------------------------------------------------------------


def _warn_of_tolerances(batch, shape, out) -> None:
    """Warn where the tolerances broadcast the ranks: torch resizes an output, its own if there is
    no `out=` and no dispatch mode, to the shape of the batch, and then again."""
    if shape == batch:
        return
    if out is not None:
        fit(out, batch)
    elif math.prod(batch) and STATE.before_write is None and not STATE.within_dispatch:
        warn_resized(batch, shape)


@fp32
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """How many singular values of each matrix exceed the tolerances of `pinv`, an int64 of shape
    (...) (torch.linalg.matrix_rank); `tol` is an absolute one.

    Raises RuntimeError as `pinv`.
    """
    settings = {"atol": atol, "rtol": rtol, "out": out}
    ranks = _ranks_of_examples if A._raw.size else _ranks
    return ranks(A, tol, hermitian, **settings)


def _ranks(A, tol, hermitian, *, atol, rtol, out):
    name = "torch.linalg.matrix_rank"
    if out is not None and tol is None:
        _require_sizes(A, atol, rtol)
    lapack.check_matrices(name, A._raw, "input")
    if out is not None:
        fit(out, A._raw.shape[:-2])
    if tol is not None:
        atol, rtol = tol, 0.0
    if rtol is None:
        _require_precision(A)
    absolute, relative = _tolerances(name, A, atol, rtol)
    if out is not None:
        check_castable(name, out, new(np.int64(0)))
    if A._raw.size:
        found = eigvalsh(A.detach()) if hermitian else svdvals(A.detach())
        sizes = np.abs(found._raw)
        ranks = np.sum(sizes > _threshold(sizes, absolute, relative), -1, dtype=np.int64)
    else:
        ranks = np.zeros(A._raw.shape[:-2], np.int64)
    result = new(np.asarray(ranks))
    if out is not None:
        if A._raw.size:
            check_out("sum", out, False)
        else:  # which ATen fills
            check_write(out)
    _warn_of_tolerances(A._raw.shape[:-2], result._raw.shape, out)
    if out is not None:
        return store("linalg_matrix_rank", out, result)
    if not A._raw.size or STATE.before_write is None:
        result._storage.version = 1  # torch writes the sum into it, which a dispatch mode hides
    return result


_ranks_of_examples = RULES["by_example"](_ranks)
