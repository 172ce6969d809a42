"""Functions of square matrices: exponentials and integer powers."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from impl.core.memory_formats import contiguous_format
from impl.core.registry import array_ops, tensor_ops
from impl.dispatch import not_implemented
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.out import (
    check_castable,
    check_dtypes,
    copy_out,
    fit,
    refuse_links,
    store_resized,
)
from impl.operators.linalg import lapack
from impl.operators.linalg.linear_systems import inv
from impl.operators.products.products import matmul
from impl.tensor.memory_overlap import share_memory
from impl.tensor.tensor import Tensor, new

# -- exponentials -------------------------------------------------------------------------------


@operator(function=False, method=False, batching="leading")
def linalg_matrix_exp(self: Array) -> Array:
    if not self.size:
        return self.copy()
    # The squarings amplify rounding errors: single precision is computed in double.
    wide = self.astype(np.complex128 if self.dtype.kind == "c" else np.float64)
    if self.shape[-1] == 1:
        return np.exp(wide).astype(self.dtype)
    finite = np.isfinite(wide).all((-2, -1), keepdims=True)
    exponentials = scipy.linalg.expm(np.where(finite, wide, 0))
    return np.where(finite, exponentials, _unbounded(wide)).astype(self.dtype)


def _unbounded(wide: Array):
    """The elements of the exponential of a matrix with infinities or NaN.

    In ATen those of a complex matrix are NaN in both parts, but real where the absolute value of an
    element is NaN.
    """
    if wide.dtype.kind != "c":
        return np.nan
    undefined = np.isnan(np.abs(wide)).any((-2, -1), keepdims=True)
    return np.where(undefined, complex(np.nan, 0), complex(np.nan, np.nan))


def _blocks(F, A, B):
    """The matrix [[A, B], [0, A]], whose exponential contains the differential at A in direction B
    in its upper right block (A. H. Al-Mohy and N. J. Higham, "Computing the Frechet derivative of
    the matrix exponential", 2009)."""
    size = A.shape[-1]
    whole = F.new_zeros(B, (*A.shape[:-2], 2 * size, 2 * size))
    for row, column, block in ((0, 0, A), (size, size, A), (0, size, B)):
        whole = F.with_block(whole, row, column, block)
    return whole


def _block(F, value, row: int, column: int, size: int):
    return F.narrow(F.narrow(value, -2, row, size), -1, column, size)


def _with_block(F, whole, row: int, column: int, block):
    """The value, which has no other reference, with a square block written into its matrices."""
    place = _block(F, whole, row, column, block.shape[-1])
    if F is array_ops:
        place[...] = block
    else:
        place.copy_(block)
    return whole


array_ops.with_block = lambda *args: _with_block(array_ops, *args)
tensor_ops.with_block = lambda *args: _with_block(tensor_ops, *args)


def _differential(F, A, direction):
    size = A.shape[-1]
    return _block(F, F.linalg_matrix_exp(_blocks(F, A, direction)), 0, size, size)


linalg_matrix_exp.gradient(
    self=lambda F, grad, self: _differential(F, F.adjoint_matrix(self), grad)
)
linalg_matrix_exp.forward(lambda F, self_t, self: _differential(F, self, self_t))


@function()
def matrix_exp(input):
    """The exponentials of square matrices (torch.linalg.matrix_exp).

    Raises RuntimeError for matrices that are not square, and for integers.
    """
    lapack.check_square("linalg.matrix_exp", input._raw)
    not_implemented.check_floating("linalg.matrix_exp", input._raw)
    return linalg_matrix_exp(input)


# -- powers -------------------------------------------------------------------------------------


@function()
def matrix_power(input, n, *, out=None):
    """The product of `n` times the same square matrices, or their inverses
    (torch.linalg.matrix_power).

    Raises RuntimeError for matrices that are not square, and the errors of `linalg.inv` for
    negative `n`.
    """
    lapack.check_square("linalg.matrix_power", input._raw)
    if out is None:
        return _power(input, n)
    check_castable("matrix_power", out, input)
    if isinstance(out, Tensor):
        fit(out, input._raw.shape)
    if n == 0:
        return copy_out("eye", out, _power(input, n).detach())
    # A power of two is the last of the squares, none of which is written to `out`.
    if n == 1 or (abs(n) > 2 and not n & (abs(n) - 1)):
        return copy_out("linalg_matrix_power", out, input if n == 1 else _power(input, n))
    name = "linalg_inv_ex" if n == -1 else "matmul"
    refuse_links(name, input, out)
    if n != -1 and share_memory(input, out):  # which the last product reads
        return matmul(*_factors(input, n), out=out)
    if n == 2:  # the only product, which is written there
        check_dtypes((out,), input.dtype)
    return store_resized(name, out, _power(input, n).contiguous())


def _power(A: Tensor, n: int):
    if n == 0:
        return A.clone(memory_format=contiguous_format).copy_(
            new(np.eye(A._raw.shape[-1], dtype=A._raw.dtype))
        )
    if n == 1:
        return A.clone(memory_format=contiguous_format)
    if n == -1:
        return inv(A)
    first, *second = _factors(A, n)
    return matmul(first, *second) if second else first


def _factors(A: Tensor, n: int) -> tuple[Tensor, ...]:
    """The factors of the last product of a power with an exponent of at least two; one factor, the
    power itself, for a power of two above two."""
    square = A if n > 0 else inv(A)
    n = abs(n)
    if n in (2, 3):
        return square if n == 2 else matmul(square, square), square
    factors: tuple[Tensor, ...] = ()
    while n:
        if n % 2:
            before = (matmul(*factors),) if len(factors) == 2 else factors
            factors = (*before, square)
        n //= 2
        if n:
            square = matmul(square, square)
    return factors
