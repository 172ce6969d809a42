"""LDL factors of symmetric and Hermitian matrices, and solutions from them: not differentiable."""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dims import wrap_dim
from impl.core.dtypes import int32
from impl.core.return_types import return_type
from impl.core.strides import unboxed
from impl.dispatch import not_implemented
from impl.dispatch.definition import Array
from impl.dispatch.not_implemented import no_derivative
from impl.dispatch.out import set_output, store_exactly
from impl.dispatch.record import store_underived
from impl.operators.linalg import lapack
from impl.operators.linalg.triangular_systems import check_together
from impl.tensor.batched_tensor import physical
from impl.tensor.tensor import Tensor


def _routine(action: str, value, hermitian: bool):
    kind = "he" if hermitian and value.dtype.kind == "c" else "sy"
    return lapack.lapack(kind + action, value.dtype)


@lapack.factorisation("NotImplemented", "LD", "pivots", "info")
def linalg_ldl_factor_ex(self: Array, hermitian) -> tuple:
    *batch, rows, _ = self.shape
    factors = lapack.column_major(np.tril(self))
    pivots, infos = np.empty((*batch, rows), np.int32), np.zeros(batch, np.int32)
    if factors.size:
        lapack.require_kernel(self, "ldl_factor_kernel_cpu")
        factor = _routine("trf", self, hermitian)
        for i in np.ndindex(infos.shape):
            factors[i], pivots[i], infos[i] = factor(factors[i], True, overwrite_a=True)
    return factors, pivots, unboxed(infos)


linalg_ldl_factor_ex.differentiable("LD").gradient(self=no_derivative("linalg_ldl_factor_ex"))


Factors = return_type("linalg_ldl_factor", "LD", "pivots")


FactorsEx = return_type("linalg_ldl_factor_ex", "LD", "pivots", "info")


def ldl_factor_ex(input, *, hermitian=False, check_errors=False, out=None):
    """L and D in one matrix with P^T input P = L D L^T, or L^H if `hermitian`, the row exchanges,
    and error codes (torch.linalg.ldl_factor_ex).

    (..., n, n), of which the lower triangle is read; `pivots` (..., n) and `info` (...) are int32.
    Raises RuntimeError for other shapes, for integers, and if `check_errors` for a zero in D.
    """

    def compute():
        result = _factors(input, hermitian, out)
        if check_errors:
            _check_infos("torch.linalg.ldl_factor_ex", result.info)
        return result

    return _stored(input, out, compute)


def ldl_factor(input, *, hermitian=False, out=None):
    """`ldl_factor_ex` that raises RuntimeError for a zero in D (torch.linalg.ldl_factor)."""

    def compute():
        LD, pivots, infos = _factors(input, hermitian, out)
        _check_infos("torch.linalg.ldl_factor", infos)
        return Factors((LD, pivots))

    return _stored(input, out, compute)


def _factors(input: Tensor, hermitian: bool, out):
    lapack.check_square("torch.linalg.ldl_factor_ex", input._raw)
    not_implemented.check_floating("torch.linalg.ldl_factor_ex", input._raw)
    if out is not None:
        lapack.set_matrices(out[0], input._raw.shape, input._raw.dtype)
        for one, shape in zip(
            out[1:], (input._raw.shape[:-1], input._raw.shape[:-2]), strict=False
        ):
            set_output(one, shape, int32.numpy)
    return FactorsEx(linalg_ldl_factor_ex(input, hermitian))


def _stored(input: Tensor, out, compute):
    if out is None:
        return compute()
    return store_underived("aten::linalg_ldl_factor_ex", (input,), out, compute, store_exactly)


def _check_infos(name: str, infos: Tensor) -> None:
    every = np.reshape(physical(infos)._raw, -1)
    wrong = every[every != 0]
    if wrong.size:
        file = "aten/src/ATen/native/BatchLinearAlgebra.cpp"
        text = f"{name}: Unknown error code: {wrong[0]}."
        raise RuntimeError(messages.internal_assert("false", file, 1677, text))


@lapack.factorisation("NotImplemented", batching="fallback")
def linalg_ldl_solve(LD: Array, pivots: Array, B: Array, hermitian) -> Array:
    def solve(LD, pivots, B):
        return _routine("trs", B, hermitian)(LD, pivots, B, True, True)

    return lapack.solved(solve, LD, pivots, B, "ldl_solve_kernel_cpu")


linalg_ldl_solve.gradient(LD=no_derivative("linalg_ldl_solve"), B=no_derivative("linalg_ldl_solve"))


def ldl_solve(LD, pivots, B, *, hermitian=False, out=None):
    """X with A X = B, from the factors of `ldl_factor` (torch.linalg.ldl_solve).

    LD (..., n, n), pivots (..., n), B (..., n, k); the batches broadcast. Raises RuntimeError for
    other shapes and dtypes and for pivots out of range.
    """

    def compute() -> Tensor:
        _check_solvable(LD, pivots, B)
        if out is not None:
            lapack.set_solution(out, LD._raw, B._raw)
        return linalg_ldl_solve(LD, pivots, B, hermitian)

    if out is None:
        return compute()
    return store_underived("aten::linalg_ldl_solve", (LD, B), out, compute, store_exactly)


def _check_solvable(LD: Tensor, pivots: Tensor, B: Tensor) -> None:
    factors, given, right = LD._raw, pivots._raw, B._raw
    lapack.check_square("torch.linalg.ldl_solve", factors)
    not_implemented.check_floating("torch.linalg.ldl_solve", factors)
    if not right.ndim:
        raise IndexError("Dimension specified as -2 but tensor has no dimensions")
    wrap_dim(-2, right.ndim)
    check_together("torch.linalg.ldl_solve", right, factors)
    if given.shape != factors.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but "
            f"got pivots with shape {[*given.shape]} instead"
        )
    if given.dtype.kind not in "iu":
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype.legacy}"
        )
    size = np.abs(physical(pivots)._raw)
    for wrong, bound in ((size < 1, ">= 1"), (size > factors.shape[-1], "<= LD.size(-2)")):
        if np.any(wrong):
            raise RuntimeError(
                f"Pivots given to ldl_solve must all satisfy |pivot| {bound}. Did you properly "
                "pass the result of ldl_factor?"
            )
