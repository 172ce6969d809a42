"""Transforms of vectors and of matrices: shapes, the simplex and Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

from impl import linalg
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions.transforms.pointwise import _clipped_sigmoid
from impl.distributions.transforms.transform import (
    Transform,
    equal_to_its_kind,
    require_dims,
)
from impl.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from impl.factories.type_info import finfo
from impl.nn import functional as F


def _arrays(shape: Size) -> Any:
    """Arrays of real numbers with as many dimensions."""
    return constraints.independent(constraints.real, len(shape))


class ReshapeTransform(Transform):
    """Another shape of the last dimensions, `in_shape` to `out_shape`
    (torch.distributions.transforms.ReshapeTransform).

    Raises ValueError for shapes of different numbers of elements, and for arguments of others.
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.out_shape.numel() != self.in_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")

    @constraints.dependent_property
    def domain(self):
        return _arrays(self.in_shape)

    @constraints.dependent_property
    def codomain(self):
        return _arrays(self.out_shape)

    def _impl_recached(self, cache_size: int) -> Transform:
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _with_end(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _with_end(shape, self.out_shape, self.in_shape)


def _with_end(shape: Any, end: Any, new: Any) -> Any:
    """The shape with its last dimensions, which have to be `end`, replaced by `new`."""
    require_dims(shape, len(end))
    start = len(shape) - len(end)
    if shape[start:] != end:
        raise ValueError(f"Shape mismatch: expected {shape[start:]} but got {end}")
    return shape[:start] + new


def _extended(shape: Any, *sizes: int) -> Any:
    """The shape with further dimensions, of the type that it has."""
    return shape + sizes


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to the Cholesky factors of n x n correlation matrices
    (torch.distributions.transforms.CorrCholeskyTransform).

    The hyperbolic tangents of the numbers, row by row below the diagonal, are the canonical
    partial correlations r; the factor's element is r times the square root of the part of the
    row's unit length that the elements to its left have left. D. Lewandowski, D. Kurowicka and
    H. Joe, J. Multivariate Analysis 100 (2009); the inverse and the Jacobian as in the Stan
    Reference Manual, "Cholesky factors of correlation matrices".
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        correlations = C.tanh(x)
        eps = finfo(correlations.dtype).eps
        correlations = correlations.clamp(min=-1 + eps, max=1 - eps)
        r: Any = vec_to_tril_matrix(correlations, diag=-1)
        lengths_left = (1 - r**2).sqrt().cumprod(-1)
        r = r + C.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * F.pad(lengths_left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        squares_left = F.pad((1 - C.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        elements: Any = tril_matrix_to_vec(y, diag=-1)
        left: Any = tril_matrix_to_vec(squares_left, diag=-1)
        r = elements / left.sqrt()
        return (r.log1p() - r.neg().log1p()) / 2  # the inverse hyperbolic tangent

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """The Jacobian of the elements below the diagonal."""
        squares_left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        of_lengths = 0.5 * squares_left.log().sum(-1)
        of_tanh = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return of_lengths + of_tanh

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        length = shape[-1]
        n = round((0.25 + 2 * length) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != length:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return _extended(shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return _extended(shape[:-2], n * (n - 1) // 2)


@equal_to_its_kind
class SoftmaxTransform(Transform):
    """Vectors to the simplex, y = exp(x) / sum(exp(x)), not bijective
    (torch.distributions.transforms.SoftmaxTransform)."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        exponentials = (x - x.max(-1, True)[0]).exp()
        return exponentials / exponentials.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        return shape


@equal_to_its_kind
class StickBreakingTransform(Transform):
    """Vectors to the simplex of one dimension more, by breaking a stick of length 1
    (torch.distributions.transforms.StickBreakingTransform).

    Each number's logistic function, shifted so that the zero vector is mapped to the simplex's
    centre, is the part of the remaining stick that is broken off. Stan Reference Manual, "Unit
    simplex".
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _shifted(self, x: Any) -> Any:
        """The numbers less the logarithms of the counts of pieces that are still to come."""
        length = x.shape[-1]
        return x - (length + 1 - x.new_ones(length).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        parts = _clipped_sigmoid(self._shifted(x))
        left = (1 - parts).cumprod(-1)
        return F.pad(parts, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        pieces = y[..., :-1]
        offset = y.shape[-1] - y.new_ones(pieces.shape[-1]).cumsum(-1)
        left = C.clamp(1 - pieces.cumsum(-1), min=finfo(y.dtype).tiny)
        return pieces.log() - left.log() + offset.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = self._shifted(x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        return _extended(shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        return _extended(shape[:-1], shape[-1] - 1)


def _with_diagonal(matrix: Any, diagonal: Any) -> Any:
    """The strict lower triangle of a matrix, with another diagonal."""
    return matrix.tril(-1) + diagonal.diag_embed()


@equal_to_its_kind
class LowerCholeskyTransform(Transform):
    """Matrices to Cholesky factors: the lower triangle, with the exponentials of the diagonal
    (torch.distributions.transforms.LowerCholeskyTransform)."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return _with_diagonal(x, x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Any) -> Any:
        return _with_diagonal(y, y.diagonal(dim1=-2, dim2=-1).log())


@equal_to_its_kind
class PositiveDefiniteTransform(Transform):
    """Matrices to positive-definite ones, whose Cholesky factors are those of
    `LowerCholeskyTransform` (torch.distributions.transforms.PositiveDefiniteTransform)."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor: Any = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))
