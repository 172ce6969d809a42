"""Slices scaled down to a norm (torch.renorm)."""

from __future__ import annotations

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.dtypes import BY_NUMPY, FLOATING, REDUCED, real_of
from impl.dispatch.definition import Array, operator
from impl.kernels.empty_norms import require_identity
from impl.kernels.reduced_precision import accumulate_dtype
from impl.operators.linalg.norms import norm_backward, norm_tangent, raw_norm


def _other_dims(ndim: int, dim: int) -> tuple[int, ...]:
    dim = wrap_dim(dim, ndim)
    return tuple(d for d in range(ndim) if d != dim)


def _accumulation(kind):
    """The NumPy dtype in which a renorm's lengths are computed."""
    return accumulate_dtype(kind) if kind in REDUCED else kind


def _accumulation_in_backward(kind):
    """That of the formula, which is double precision for single, as ATen accumulates on the CPU."""
    return _accumulation(kind) if kind in REDUCED else np.result_type(kind, np.float64)


def _require_real(name: str, value) -> None:
    if isinstance(value, (complex, np.complexfloating)):
        raise RuntimeError(f"renorm: {name} must be real-valued")


def _renorm_meta(self, p, dim, maxnorm):
    _require_real("p", p)
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    _require_real("maxnorm", maxnorm)
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    wrap_dim(dim, self.ndim)
    return self.shape, self.dtype


@operator(writes=1, inplace=True, out=True, layout_sensitive=True, batching="fallback")
def renorm(self: Array, p, dim, maxnorm) -> Array:
    """Each slice along `dim` scaled down to the norm `maxnorm` if longer (torch.renorm).

    Raises RuntimeError for p <= 0, a negative norm, and fewer than two dimensions.
    """
    _renorm_meta(self, p, dim, maxnorm)
    if BY_NUMPY[self.dtype].category < FLOATING:
        raise NotImplementedError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{BY_NUMPY[self.dtype].legacy}"
        )
    axes = _other_dims(self.ndim, dim)
    require_identity(self, float(p), axes)
    length = raw_norm(self.astype(_accumulation(self.dtype)), float(p), axes, True)
    factor = np.where(length > maxnorm, maxnorm / (length + 1e-7), 1.0)
    kind = self.dtype
    return (self * factor.astype(length.dtype if kind.kind == "c" else kind)).astype(kind)


def _renorm_backward(F, grad, value, p, dim, maxnorm):
    axes = _other_dims(value.ndim, dim)
    kind = BY_NUMPY[_accumulation_in_backward(F.dtype_of(grad))]
    length = F.vector_norm_dims(value, p, axes, True, kind)
    products = F.conj(value) * grad
    if F.is_complex(value):
        products = F.real_part(products)
    along = F.sum_dim(products, axes, True, real_of(kind))
    inner = norm_backward(F, along, value, float(p), length, axes, True)
    inverse = F.reciprocal(F.add_scalar(length, 1e-7))
    rest = grad - inverse * inner  # before the factor, as the order of the graph shows
    scaled = F.mul_scalar(inverse, maxnorm) * rest
    return F.where(length > maxnorm, F.cast_to(scaled, F.dtype_of(grad)), grad)


def _renorm_tangent(F, tangent, value, p, dim, maxnorm):
    axes = _other_dims(value.ndim, dim)
    length = F.vector_norm_dims(value, p, axes, True, BY_NUMPY[_accumulation(F.dtype_of(tangent))])
    inverse = F.reciprocal(F.add_scalar(length, 1e-7))
    of_length = norm_tangent(F, tangent, value, float(p), length, axes, True)
    scaled = F.mul_scalar(inverse, maxnorm) * (tangent - value * (inverse * of_length))
    return F.where(length > maxnorm, F.cast_to(scaled, F.dtype_of(tangent)), tangent)


renorm.structured(_renorm_meta)
renorm.gradient(
    self=lambda F, grad, self, p, dim, maxnorm: _renorm_backward(F, grad, self, p, dim, maxnorm)
)
renorm.forward(
    lambda F, self_t, self, p, dim, maxnorm: _renorm_tangent(F, self_t, self, p, dim, maxnorm)
)
