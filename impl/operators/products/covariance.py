"""Covariances and correlations of variables (ATen's Correlation.cpp)."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import BOOL, FLOATING, INTEGRAL, float32
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.warning import warn
from impl.dispatch.definition import function
from impl.operators.products.matmul import mm
from impl.tensor.tensor import Tensor, new

_NO_FREEDOM = (
    "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
    "observations."
)


def _check_matrix(name: str, input: Tensor) -> None:
    if input._raw.ndim > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with "
            f"{input._raw.ndim} dimensions"
        )


def _check_weights(name: str, weights: Tensor, category: int, kind: str, observations: int) -> None:
    if weights._raw.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights._raw.ndim} dimensions"
        )
    if weights.dtype.category != category:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{weights.dtype.legacy} dtype"
        )
    if weights._raw.size != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {weights._raw.size} != {observations}"
        )
    if observations and not weights._raw.min() >= 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


@function()
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of variables, one a row, over observations, one a column (torch.cov).

    (n, m) or (m,) to (n, n) or (). `fweights` (integers) say how often an observation was made,
    `aweights` (floats) how much it counts. Raises RuntimeError for bool, more than two dimensions,
    and weights that do not fit, are negative or sum to zero; warns when no degree of freedom is
    left.
    """
    _check_matrix("cov", input)
    if input.dtype.category == BOOL:
        raise NotImplementedError("cov(): bool dtype is not supported for input")
    rows = tensor_ops.view(input, (1, -1)) if input._raw.ndim < 2 else input
    observations = rows._raw.shape[1]
    weights = None
    if fweights is not None:
        _check_weights("fweights", fweights, INTEGRAL, "integral", observations)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, FLOATING, "floating point", observations)
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        total = new(np.asarray(observations))
    else:
        total = weights.sum()
        if total._raw == 0:
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    average = (rows if weights is None else rows * weights).sum(1) / total
    freedom = _freedom(total, weights, fweights, aweights, observations, correction)
    if freedom._raw <= 0:
        warn(_NO_FREEDOM)
        freedom.zero_()
    if observations == 1 and (fweights is None) is not (aweights is None):
        rows.zero_()  # in place on the input, as in torch: one observation has no deviations
        if rows.dtype.category < FLOATING:
            rows = rows.to(float32)
    else:
        rows = rows - tensor_ops.unsqueeze(average, 1)
    weighted = rows if weights is None else rows * weights
    products = mm(rows, tensor_ops.conj(tensor_ops.t(weighted)))
    if products.is_complex() and 1 in rows._raw.shape:  # imaginary parts are rounding errors
        real = tensor_ops.real_part(products)
        products = FUNCTIONS["complex"](real, tensor_ops.zeros_like(real))
    return (products / freedom).squeeze()


def _freedom(total, weights, fweights, aweights, observations: int, correction) -> Tensor:
    """The degrees of freedom, by which the products of deviations are divided."""
    if weights is None:
        return new(np.asarray(observations - correction))
    if correction == 0:
        return total
    if aweights is None:
        return total - correction
    if fweights is None and observations == correction == 1:
        return new(np.asarray(0))  # exactly zero
    return total - tensor_ops.mul_scalar((weights * aweights).sum(), correction) / total


@function()
def corrcoef(input):
    """The correlation coefficients of variables, laid out as in `cov` (torch.corrcoef).

    Raises RuntimeError for more than two dimensions.
    """
    _check_matrix("corrcoef", input)
    result = cov(input)
    if result._raw.ndim == 0:
        return result / result
    variance = tensor_ops.diagonal(result, 0, 0, 1)
    deviation = tensor_ops.real_part(variance).sqrt()
    result = result / tensor_ops.view(deviation, (-1, 1))
    result = result / tensor_ops.view(deviation, (1, -1))
    if not result.is_complex():
        return result.clip(-1, 1)
    real, imag = tensor_ops.real_part(result), tensor_ops.imaginary_part(result)
    return FUNCTIONS["complex"](real.clip(-1, 1), imag.clip(-1, 1))
