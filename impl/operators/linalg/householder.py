"""Products of Householder reflections: householder_product (orgqr) and ormqr.

The reflections are H_i = I - tau_i v_i v_i^H, where v_i has zeros above its element i, which is 1,
and the rest from column i of a matrix below its diagonal, as `geqrf` returns it. The inverse of H_i
has the same form, so that one pass over the reflections removes them from the product one by one
and computes the cotangents of v_i and tau_i (FunctionsManual.cpp, householder_product_backward).
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.inference_mode import refuses
from impl.core.registry import tensor_ops
from impl.core.state import STATE
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, formula_operation, function, unless_recorded, written
from impl.dispatch.gradient_plan import OfArguments
from impl.dispatch.out import check_castable, fit, named_out, store, stored
from impl.operators.linalg import lapack
from impl.tensor.batched_tensor import writable
from impl.tensor.tensor import new


def _routine(name: str, value):
    """LAPACK's routine: orgqr and ormqr, for complex numbers ungqr and unmqr."""
    lapack.require_kernel(value, f"{name}_cpu")
    return lapack.lapack(name.replace("or", "un") if value.dtype.kind == "c" else name, value.dtype)


@lapack.factorisation("LinalgHouseholderProductBackward0", autocast="fp32", writes=1)
def linalg_householder_product(input: Array, tau: Array) -> Array:
    orgqr = _routine("orgqr", input)
    result = lapack.column_major(input)
    if not input.size:
        return result
    if not tau.size:
        result[...] = np.eye(*input.shape[-2:], dtype=input.dtype)
        return result
    for i in np.ndindex(input.shape[:-2]):
        result[i] = orgqr(result[i], tau[i], overwrite_a=True)[0]
    return result


# -- the derivative -----------------------------------------------------------------------------


def _reflected(F, K, v, t, left: bool):
    """H K, or K H, for the reflections of vectors v (..., n, 1) and factors t (..., 1)."""
    scaled = F.unsqueeze(t, -1) * v
    if left:
        return K - scaled * F.matrix_product(F.adjoint_matrix(v), K)
    return K - F.matrix_product(K, scaled) * F.adjoint_matrix(v)


def _vectors(F, input):
    """The complete vectors of the reflections: zeros above the diagonal, and ones on it."""
    return F.with_diagonal_of_ones(F.tril(input, -1))


# torch writes the columns one by one into zeros with the operand's strides.


@formula_operation
def of_columns(like, columns):
    """Zeros in the shape and layout of an array, with the given columns written by index."""
    result = np.zeros_like(like)
    for i, column in columns.items():
        result[..., i] = column
    return result


@formula_operation
def lower_of_columns(like, columns):
    """`of_columns` with zeros on and above the diagonal."""
    result = of_columns(like, columns)
    result[...] = np.tril(result, -1)
    return result


def _of_columns(like, columns):
    result = writable(tensor_ops.zeros_like(like), *columns.values())
    for i, column in columns.items():
        tensor_ops.select(result, -1, i).copy_(column)
    return result


tensor_ops.of_columns = _of_columns
tensor_ops.lower_of_columns = lambda like, columns: _of_columns(like, columns).tril_(-1)


def _inverse_factors(F, vectors, tau):
    """The factors of the inverses of the reflections (..., k)."""
    first = F.narrow(vectors, -1, 0, tau.shape[-1])
    sizes = F.sum_dim(first * F.conj(first), (-2,), False)
    return tau / F.sub_scalar(tau * sizes, 1)


def _cotangents(F, grad, result, input, tau, flip: bool = False):
    """The cotangents of the vectors, in the shape of `input`, and of their factors.

    `result` is the product of the reflections with a factor to its right, or to its left with
    `flip`, that does not depend on them; with `flip` grad and result change places.
    """
    k, m = tau.shape[-1], input.shape[-2]
    if not (m and k and math.prod(grad.shape)):
        return None, None
    vectors = _vectors(F, input)
    inverses = _inverse_factors(F, vectors, tau)
    K = F.matrix_product(result, F.adjoint_matrix(grad))
    of_vectors, of_factors = {}, {}
    before = None
    for i in range(k - 1, -1, -1) if flip else range(k):
        v, t = F.narrow(vectors, -1, i, 1), F.narrow(tau, -1, i, 1)
        inverse = F.narrow(vectors, -1, i, 1), F.narrow(inverses, -1, i, 1)
        K = _reflected(F, K, *inverse, not flip)
        if before is not None:
            K = _reflected(F, K, *before, flip)
        of_vectors[i], of_factors[i] = _of_one(F, K, v, t, i, m - i)
        before = v, t
    return F.lower_of_columns(input, of_vectors), F.of_columns(tau, of_factors)


def _of_one(F, K, v, t, start: int, length: int):
    """The cotangents of one vector (..., m) and its factor (...), from the `length` elements of the
    vector from `start` on; the elements before are zero."""
    v = F.narrow(v, -2, start, length)
    row = F.matrix_product(F.adjoint_matrix(v), F.narrow(K, -2, start, length))
    column = F.matrix_product(F.narrow(K, -1, start, length), v)
    t = F.unsqueeze(t, -1)
    of_vector = F.squeeze_dim(F.conj(-t * row), -2) - F.squeeze_dim(t * column, -1)
    of_vector = F.squeeze_dim(F.unsqueeze(of_vector, -1), -1)  # a column, as ATen has it
    of_factor = -F.conj(F.matrix_product(F.narrow(row, -1, start, length), v))
    return of_vector, F.squeeze_dim(F.squeeze_dim(of_factor, -1), -1)


@linalg_householder_product.gradients("input", "tau")
def _product_gradients(F, grad, input, tau, result):
    return _cotangents(F, grad, result, input, tau)


def _writes(more: int):
    """ATen's count of writes: one per column, and one more for the cotangent of the vectors."""
    return OfArguments(lambda input, tau, *_: unless_recorded(lambda *_: tau.shape[-1] + more))


written(_product_gradients, {"input": _writes(1), "tau": _writes(0)})


def _product_tangent(F, input_t, tau_t, input, tau, result):
    """The sum over the reflections, each differentiated between those to its left and those to its
    right. The latter are taken from the result, which counts as constant: the derivative of the
    tangent, which lacks its part, is wrong (FIND-60)."""
    k = tau.shape[-1]
    if not k:
        return F.zeros_like(result)
    vectors = _vectors(F, input)
    moves = F.tril(F.narrow(input_t, -1, 0, k), -1)
    inverses = _inverse_factors(F, vectors, tau)
    right = F.constant(result)
    left = F.eye_like(F.new_zeros(right, (*right.shape[:-1], right.shape[-2])))
    tangent = F.zeros_like(right)
    for i in range(k):
        v, dv = F.narrow(vectors, -1, i, 1), F.narrow(moves, -1, i, 1)
        t, dt = (F.unsqueeze(F.narrow(x, -1, i, 1), -1) for x in (tau, tau_t))
        right = _reflected(F, right, v, F.narrow(inverses, -1, i, 1), left=True)
        along = F.matrix_product(F.adjoint_matrix(v), right)
        turned = F.matrix_product(F.adjoint_matrix(dv), right)
        change = (dt * v + t * dv) * along + t * v * turned
        change = -F.matrix_product(left, change)
        # Within transforms ATen writes nothing in place.
        tangent = tangent + change if STATE.transforms else tangent.add_(change)
        left = _reflected(F, left, v, F.narrow(tau, -1, i, 1), left=False)
    return tangent


@formula_operation
def constant(value):
    """A value of which a derivative of the formula sees no history."""
    return value


tensor_ops.constant = lambda value: value.detach()


@formula_operation
def eye_like(value):
    """Identity matrices in the shape of `value`."""
    return np.zeros_like(value) + np.eye(*value.shape[-2:], dtype=value.dtype)


tensor_ops.eye_like = lambda value: new(eye_like(value._raw))

linalg_householder_product.composes(refuses("linalg_householder_product"))
linalg_householder_product.forward(_product_tangent)


@named_out("linalg_householder_product")
def householder_product(input, tau, *, out=None):
    """The first columns of a product of reflections (torch.linalg.householder_product).

    input (..., m, n) holds the vectors below its diagonal, tau (..., k) the factors; m >= n >= k.
    Raises RuntimeError for other shapes and for dtypes that differ.
    """
    name, vectors, factors = "torch.linalg.householder_product", input._raw, tau._raw
    if vectors.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if vectors.shape[-2] < vectors.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if not factors.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if vectors.shape[-1] < factors.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if vectors.ndim - factors.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {factors.ndim} and input.ndim is equal to {vectors.ndim}"
        )
    if vectors.shape[:-2] != factors.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{[*factors.shape[:-1]]}"
        )
    if vectors.dtype != factors.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {tau.dtype.legacy} does not match input dtype {input.dtype.legacy}"
        )
    if out is not None:
        check_castable(name, out, input)
        lapack.fit_empty(out, vectors.shape, vectors.dtype)
    result = linalg_householder_product(input, tau)
    if out is None:
        return result
    fit(out, vectors.shape)
    return store("linalg_householder_product", out, result)


@function()
@fp32
@named_out("linalg_householder_product")
def orgqr(input, input2, *, out=None):
    """`householder_product` by LAPACK's name (torch.orgqr)."""
    return householder_product(input, input2, out=out)


# -- ormqr ----------------------------------------------------------------------------------------


@lapack.factorisation("OrmqrBackward0", autocast="fp32")
def ormqr_product(self: Array, input2: Array, input3: Array, left, transpose) -> Array:
    ormqr = _routine("ormqr", self)
    result = lapack.column_major(input3)
    if not (result.size and input2.size):
        return result
    side, k = "L" if left else "R", input2.shape[-1]
    trans = ("C" if self.dtype.kind == "c" else "T") if transpose else "N"
    work = 64 * max(result.shape[-2:])
    for i in np.ndindex(result.shape[:-2]):
        vectors = np.asfortranarray(self[i][:, :k])
        result[i] = ormqr(side, trans, vectors, input2[i], result[i], work, True)[0]
    return result


@ormqr_product.gradients("self", "input2", "input3")
def _ormqr_gradients(F, grad, result, self, input2, input3, left, transpose, needs):
    of_input = of_tau = None
    to_other = F.ormqr_product(self, input2, grad, left, not transpose) if needs[2] else None
    if needs[0] or needs[1]:
        if left != transpose:
            pair = (grad, result) if left else (F.adjoint_matrix(grad), F.adjoint_matrix(result))
        else:
            pair = (result, grad) if left else (F.adjoint_matrix(result), F.adjoint_matrix(grad))
        of_input, of_tau = _cotangents(F, *pair, self, input2, flip=left == transpose)
    return of_input, of_tau, to_other


written(_ormqr_gradients, {"self": _writes(1), "input2": _writes(0), "input3": 0})
ormqr_product.forward("unsupported", name="ormqr", invited=True)


@function(batching="fallback")
@named_out("ormqr")
def ormqr(input, input2, input3, left=True, transpose=False, *, out=None):
    """The product of reflections, or its adjoint if `transpose`, times `input3`, or `input3` times
    it (torch.ormqr).

    input (..., m, k) and input2 (..., k) as `geqrf` gives them, input3 (..., m, n) or (..., n, m).
    Raises RuntimeError for other shapes and for dtypes that differ.
    """
    tau, other = input2, input3
    _check_ormqr(input._raw, tau._raw, other._raw, left)
    for name, given in (("tau", tau), ("other", other)):
        if given._raw.dtype != input._raw.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has "
                f"dtype{input.dtype.legacy} and {name} has dtype {given.dtype.legacy}"
            )
    if out is not None:
        if out._raw.dtype != input._raw.dtype:
            raise RuntimeError(
                "torch.ormqr: Expected input and result to have the same dtype, but input has "
                f"dtype{input.dtype.legacy} and result has dtype {out.dtype.legacy}"
            )
        lapack.fit_empty(out, other._raw.shape, other._raw.dtype)
    result = ormqr_product(input, tau, other, left, transpose)
    if out is not None:
        fit(out, other._raw.shape)
    return stored("ormqr", out, result)


def _check_ormqr(vectors, factors, other, left: bool) -> None:
    if vectors.ndim < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if other.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    if other.shape[side] != vectors.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if not factors.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if factors.shape[-1] != min(other.shape[side], vectors.shape[-1]):
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    if vectors.ndim - factors.ndim != 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim "
            f"equal to {factors.ndim} and input.ndim is equal to {vectors.ndim}"
        )
    if vectors.ndim != other.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other.ndim} and input.ndim is equal to {vectors.ndim}"
        )
    for name, batch in (("tau", factors.shape[:-1]), ("other", other.shape[:-2])):
        if batch != vectors.shape[:-2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to "
                f"input.shape[:-2], but got {[*batch]}"
            )
