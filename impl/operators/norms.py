"""Vector norms, and the distances and normalizations made of them.

Their gradient is zero where the norm is (the subgradient of least size), shared by ties for the
infinite orders, and undefined for order zero (torch's norm_backward).
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from impl import dtypes, inplace
from impl.dimensions import wrap_dim, wrap_dims
from impl.dtypes import BY_NUMPY, FLOATING, REDUCED
from impl.operator import RAW, TAPED, Array, formula_operation, function, operator, taking_out
from impl.operators.reductions import restore
from impl.operators.singular_values import singular_norm
from impl.precision import accumulator, widened
from impl.sizes import broadcast_shapes
from impl.tensor import Tensor


def _norm(raw, order: float, axes, keepdim: bool):
    """The norm of order `order` over `axes`; half and bfloat16 are accumulated in float32."""
    kind = raw.dtype
    size = np.abs(widened(raw))
    if order == math.inf:
        result = np.max(size, axis=axes, keepdims=keepdim)
    elif order == -math.inf:
        result = np.min(size, axis=axes, keepdims=keepdim)
    elif order == 0:
        result = np.sum(size != 0, axis=axes, keepdims=keepdim, dtype=size.dtype)
    elif order == 1:
        result = np.sum(size, axis=axes, keepdims=keepdim)
    elif order == 2:
        result = np.sqrt(np.sum(size * size, axis=axes, keepdims=keepdim))
    else:
        total = np.sum(np.power(size, size.dtype.type(order)), axis=axes, keepdims=keepdim)
        result = np.power(total, size.dtype.type(1 / order))
    return result.astype(kind if kind.kind != "c" else result.dtype)


def _require_identity(raw, order: float, dim) -> None:
    """Raise RuntimeError when an empty reduction has no value: orders below zero, and infinity."""
    if raw.size or not (order < 0 or order == math.inf):
        return
    label = f"{order:g}"
    if dim is None or len(dim) == 0:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {label} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    for d in dim:
        if raw.shape[wrap_dim(d, raw.ndim)] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {label} norm on the dimension {d}because "
                "this dimension is empty and the operation does not have an identity"
            )


@operator(node="LinalgVectorNormBackward0", function=False, method=False)
def vector_norm_dims(self: Array, ord, dim, keepdim, dtype=None) -> Array:
    _require_identity(self, float(ord), dim)
    raw = self if dtype is None else self.astype(dtype.numpy)
    return _norm(raw, float(ord), wrap_dims(dim, raw.ndim), keepdim)


def norm_backward(F, grad, value, order: float, norm, dim, keepdim):
    """The gradient of a norm of `value`, with the operations and in the order of torch's."""
    ndim = value.ndim
    if dim:
        grad = restore(F, grad, dim, keepdim, ndim)
        norm = restore(F, norm, dim, keepdim, ndim)
    if order == 0:
        return None
    if order == 1:
        return F.sgn(value) * grad
    if order == 2:
        return grad * F.fill_fresh(value / norm, norm == 0, 0)
    # Of two factors torch evaluates the right one first, which the second derivative shows.
    if math.isinf(order):
        both_nan = F.logical_and(F.isnan(value), F.isnan(norm))
        ties = F.logical_or(F.abs(value) == norm, both_nan)
        shared = (grad / F.count_along(ties, dim, grad)) * ties
        return F.sgn(value) * shared
    if order < 1:
        steep = F.fill_fresh(F.pow_fresh(F.abs(value), order - 1), value == 0, 0)
        scaled = F.sgn(value) * steep
        power = F.pow_scalar(norm, 1 - order)
        return scaled * grad * power
    if order < 2:
        power = F.pow_fresh(F.abs(value), order - 1)
        scaled = F.sgn(value) * power
    else:
        scaled = value * F.pow_fresh(F.abs(value), order - 2)
    return scaled * F.fill_fresh(grad / F.pow_scalar(norm, order - 1), norm == 0, 0)


# torch writes these into the values just computed, so that they keep their layout.


@formula_operation
def fill_fresh(value, mask, number):
    """A value nobody else holds, with a number where the mask is true."""
    return np.where(mask, value.dtype.type(number), value)


@formula_operation
def pow_fresh(value, exponent):
    """A value nobody else holds, to a power."""
    return RAW.pow_scalar(value, exponent)


TAPED.fill_fresh = lambda value, mask, number: value.masked_fill_(mask, number)
TAPED.pow_fresh = lambda value, exponent: value.pow_(exponent)


vector_norm_dims.ordered = True
vector_norm_dims.gradient(
    self=lambda F, grad, self, ord, result, dim, keepdim: norm_backward(
        F, grad, self, float(ord), result, dim, keepdim
    )
)


def norm_tangent(F, tangent, value, order: float, norm, dim, keepdim):
    """The tangent of a norm of `value`, with the operations and in the order of torch's."""
    if order == 0:
        return F.zeros_like(norm)
    if order == 1:
        return F.sum_dim(F.real_part(F.sgn(value) * F.conj(tangent)), dim, keepdim)
    if order == 2:
        along = F.sum_dim(F.real_part(value * F.conj(tangent)), dim, keepdim)
        return F.fill_fresh(along.div_(norm), norm == 0, 0)
    if math.isinf(order):
        norm = restore(F, norm, dim, keepdim, value.ndim)
        both_nan = F.logical_and(F.isnan(value), F.isnan(norm))
        ties = F.cast_like(F.logical_or(F.abs(value) == norm, both_nan), norm)
        count = F.count_along(ties != 0, dim, norm)
        along = F.real_part(F.sgn(value) * F.conj(tangent))
        return F.sum_dim(along * ties / count, dim, keepdim)
    size = F.abs(value)
    along = F.real_part((F.sgn(value) if order < 2 else value) * F.conj(tangent))
    if order < 1:
        steep = F.fill_fresh(F.pow_fresh(size, order - 1), value == 0, 0)
        return F.sum_dim(steep * along, dim, keepdim) * F.pow_scalar(norm, 1 - order)
    scale = F.pow_fresh(size, order - (1 if order < 2 else 2))
    along = F.sum_dim(scale * along, dim, keepdim)
    return F.fill_fresh(along / F.pow_scalar(norm, order - 1), norm == 0, 0)


vector_norm_dims.forward(
    lambda F, self_t, self, ord, result, dim, keepdim: norm_tangent(
        F, self_t, self, float(ord), result, dim, keepdim
    )
)


@taking_out
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of all elements, or over `dim`, of any order (torch.linalg.vector_norm).

    Order 0 counts the elements that are not zero. Computed in `dtype` if given. Raises
    RuntimeError for integers, for a narrower dtype, and for an empty reduction without a value.
    """
    if isinstance(ord, (str, type(None))):
        raise TypeError(
            "linalg_vector_norm(): argument 'ord' (position 2) must be Number, "
            f"not {type(ord).__name__}"
        )
    if isinstance(ord, complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    _require_floating("linalg.vector_norm", x)
    if dtype is not None:
        _check_widening("linalg.vector_norm", x.dtype, dtype)
        dtype = None if dtype is x.dtype else dtype
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
    return vector_norm_dims(x, ord, dim, keepdim, dtype)


def _require_floating(name: str, x: Tensor) -> None:
    if x.dtype.category < FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype.legacy}"
        )


def _check_widening(name: str, given, wanted) -> None:
    if wanted.category < FLOATING:
        raise RuntimeError(
            f"{name}: dtype should be floating point or complex, but got {wanted.legacy}"
        )
    if dtypes.promote_types(given, wanted) is not wanted:
        raise RuntimeError(
            f"{name}: the dtype of the input ({given.legacy}) should be convertible without "
            f"narrowing to the specified dtype ({wanted.legacy})"
        )


@taking_out
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The Frobenius norm of matrices, the largest or smallest sum over columns (1, -1) or rows
    (inf, -inf), or the sum ("nuc"), the largest (2) or the smallest (-2) of the singular values
    (torch.linalg.matrix_norm).

    Raises RuntimeError for other orders and ranks.
    """
    if ord not in ("fro", "nuc") and (isinstance(ord, str) or abs(ord) not in (1, 2, math.inf)):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    _require_floating("linalg.matrix_norm", A)
    if A._raw.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    dim = tuple(dim)
    if len(dim) != 2:
        shown = " ".join(map(str, dim))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    first, second = (wrap_dim(d, A._raw.ndim) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (first, second), keepdim, dtype=dtype)
    if ord in ("nuc", 2, -2):
        return singular_norm(A, ord, (first, second), keepdim, dtype)
    if math.isinf(ord):
        first, second = second, first
    nothing = A._raw.shape[second] == 0
    if not keepdim and first < second:
        second -= 1
    sums = vector_norm(A, 1.0, (first,), keepdim, dtype=dtype)
    if nothing and ord > 0:
        # The largest of no sums is zero, and no function of the matrix.
        return TAPED.new_zeros(sums, sums.sum((second,), keepdim)._raw.shape).zero_()
    return sums.amax((second,), keepdim) if ord > 0 else sums.amin((second,), keepdim)


@taking_out
def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm, or a matrix norm for two dimensions and an order (torch.linalg.norm)."""
    ndim = A._raw.ndim
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dim) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {[*dim]}"
            )
    elif ord is not None and ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
            f"Got {ndim}D."
        )
    if isinstance(ord, str) or (
        ord is not None and (len(dim) == 2 if dim is not None else ndim == 2)
    ):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2.0 if ord is None else ord, dim, keepdim, dtype=dtype)


@function()
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """A vector norm of any order, or "fro" for order 2 (torch.norm, torch.Tensor.norm)."""
    result = _named_norm(input, p, dim, keepdim, dtype)
    return result if out is None else inplace.store("norm", out, result)


def _named_norm(input, p, dim, keepdim, dtype):
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if isinstance(p, str):
        if p == "fro" and (dims is None or len(dims) <= 2):
            return vector_norm(input, 2, dims, keepdim, dtype=dtype)
        if dims is None:
            dims = tuple(range(input._raw.ndim))
        return matrix_norm(input, p, dims, keepdim, dtype=dtype)
    return vector_norm(input, 2.0 if p is None else p, dims, keepdim, dtype=dtype)


# -- distances --------------------------------------------------------------------------------


def _require_real_or_complex(kind) -> None:
    d = BY_NUMPY[kind]
    if d.category < FLOATING:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. "
            f"Got {d.legacy} instead."
        )


@operator(promote="arithmetic", fresh=True)
def dist(self: Array, other: Array, p=2) -> Array:
    """The norm of order p of the difference; shapes broadcast (torch.dist).

    Raises RuntimeError for integers.
    """
    broadcast_shapes(self.shape, other.shape)
    _require_real_or_complex(self.dtype)
    difference = self - other
    _require_identity(difference, float(p), None)
    return _norm(difference, float(p), None, False)


def _negated_distance_gradient(F, grad, difference, p, result):
    gradient = norm_backward(F, grad, difference, float(p), result, (), True)
    if gradient is None:
        raise RuntimeError(
            "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument "
            "#0 'self'"
        )
    return -gradient


dist.ordered = True
dist.gradient(
    self=lambda F, grad, self, other, p, result: norm_backward(
        F, grad, self - other, float(p), result, (), True
    ),
    other=lambda F, grad, self, other, p, result: _negated_distance_gradient(
        F, grad, self - other, p, result
    ),
)
dist.forward(
    lambda F, self_t, self, other_t, other, p, result: norm_tangent(
        F, self_t - other_t, self - other, float(p), result, (), False
    )
)


@operator(node="NormBackward1", function=False, method=False)
def norm_dims(self: Array, p, dim, keepdim) -> Array:
    _require_real_or_complex(self.dtype)
    return _norm(self, float(p), wrap_dims(dim, self.ndim), keepdim)


norm_dims.ordered = True
norm_dims.gradient(
    self=lambda F, grad, self, p, result, dim, keepdim: norm_backward(
        F, grad, self, float(p), result, dim, keepdim
    )
)
norm_dims.forward(
    lambda F, self_t, self, p, result, dim, keepdim: norm_tangent(
        F, self_t, self, float(p), result, dim, keepdim
    )
)


@operator(node="NormBackward0", function=False, method=False)
def norm_all(self: Array, p) -> Array:
    _require_real_or_complex(self.dtype)
    return _norm(self, float(p), None, False)


norm_all.ordered = True
norm_all.gradient(
    self=lambda F, grad, self, p, result: norm_backward(F, grad, self, float(p), result, (), True)
)
norm_all.forward(
    lambda F, self_t, self, p, result: norm_tangent(F, self_t, self, float(p), result, (), True)
)


@function(method=False)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of x1 - x2 + eps over the last dimension (torch.nn.functional.pairwise_distance)."""
    difference = x1 - x2
    if difference.dtype.category < FLOATING:
        difference = difference.to(dtypes.get_default_dtype())
    difference = TAPED.add_scalar(difference, eps)
    return norm_dims(difference, float(p), (difference._raw.ndim - 1,), keepdim)


@function(method=False)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between two tensors along `dim` (torch.cosine_similarity).

    Norms below `eps` count as `eps`. Raises RuntimeError for integers and shapes that do not
    broadcast.
    """
    common = dtypes.promote_types(x1.dtype, x2.dtype)
    if common.category != FLOATING:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is " + common.legacy
        )
    shape = broadcast_shapes(x1._raw.shape, x2._raw.shape)
    directions = []
    for x in (x1, x2):
        if x1._raw.shape != x2._raw.shape:
            x = TAPED.expand(x, shape)
        x = x if x.dtype is common else x.to(common)
        length = vector_norm(x, 2, (dim,), True).clone()
        bounded = length.detach()
        bounded.clamp_min_(eps)
        directions.append(x / length)
    return (directions[0] * directions[1]).sum((dim,))


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """`input` divided by its norm along `dim`, which counts as `eps` at least
    (torch.nn.functional.normalize)."""
    length = norm(input, p, dim, True)
    result = input / length.clamp_min(eps).expand_as(input)
    return result if out is None else inplace.store("normalize", out, result)


def _left_for_jit(name: str, instead: str) -> None:
    warnings.warn(
        f"at::{name} is deprecated and it is just left for JIT compatibility. It will be removed "
        f"in a future PyTorch release. Please use `linalg.{instead}` instead",
        UserWarning,
        stacklevel=3,
    )


@function(method=False)
def frobenius_norm(input, dim, keepdim=False):
    """The root of the sum of squares over at most two dimensions (torch.frobenius_norm,
    deprecated)."""
    _left_for_jit("frobenius_norm", "vector_norm(A, 2., dim, keepdim)")
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    return norm_dims(input, 2, dims, keepdim)


@function(method=False)
def nuclear_norm(input, dim=None, keepdim=False):
    """The sum of the singular values of matrices over two dimensions (torch.nuclear_norm,
    deprecated)."""
    _left_for_jit("nuclear_norm", "matrix_norm(A, 'nuc', dim, keepdim)")
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)


@function(method=False)
def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but one, which is kept; over all for -1
    (torch.norm_except_dim)."""
    rank = v._raw.ndim
    if dim == -1:
        return norm_all(v, pow)
    if dim not in (0, rank - 1):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    size = v._raw.shape[dim]
    rows, across = ((size, -1), 1) if dim == 0 else ((-1, size), 0)
    shape = [1] * rank
    shape[dim] = size
    return norm_dims(v.contiguous().view(*rows), pow, (across,), False).view(*shape)


# -- renorm -----------------------------------------------------------------------------------


def _other_dims(ndim: int, dim: int) -> tuple[int, ...]:
    dim = wrap_dim(dim, ndim)
    return tuple(d for d in range(ndim) if d != dim)


def _accumulation(kind):
    """The NumPy dtype in which a renorm's lengths are computed on the CPU."""
    if kind in REDUCED:
        return accumulator(kind)
    return np.dtype(np.complex128 if kind.kind == "c" else np.float64)


@operator(inplace=True, out=True)
def renorm(self: Array, p, dim, maxnorm) -> Array:
    """Each slice along `dim` scaled down to the norm `maxnorm` if longer (torch.renorm).

    Raises RuntimeError for p <= 0, a negative norm, and fewer than two dimensions.
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    axes = _other_dims(self.ndim, dim)
    _require_identity(self, float(p), axes)
    length = _norm(self.astype(_accumulation(self.dtype)), float(p), axes, True)
    factor = np.where(length > maxnorm, maxnorm / (length + 1e-7), 1.0)
    return self * factor.astype(length.dtype if self.dtype.kind == "c" else self.dtype)


def _renorm_backward(F, grad, value, p, dim, maxnorm):
    axes = _other_dims(value.ndim, dim)
    kind = BY_NUMPY[_accumulation(F.dtype_of(grad))]
    length = F.vector_norm_dims(value, p, axes, True, kind)
    along = F.sum_dim(F.conj(value) * grad, axes, True, kind)
    if F.is_complex(value):
        along = F.real_part(along)
    inner = norm_backward(F, along, value, float(p), length, axes, True)
    inverse = F.reciprocal(F.add_scalar(length, 1e-7))
    scaled = F.mul_scalar(inverse, maxnorm) * (grad - inverse * inner)
    return F.where(length > maxnorm, F.cast_to(scaled, F.dtype_of(grad)), grad)


def _renorm_tangent(F, tangent, value, p, dim, maxnorm):
    axes = _other_dims(value.ndim, dim)
    length = F.vector_norm_dims(value, p, axes, True, BY_NUMPY[_accumulation(F.dtype_of(tangent))])
    inverse = F.reciprocal(F.add_scalar(length, 1e-7))
    of_length = norm_tangent(F, tangent, value, float(p), length, axes, True)
    scaled = F.mul_scalar(inverse, maxnorm) * (tangent - value * (inverse * of_length))
    return F.where(length > maxnorm, F.cast_to(scaled, F.dtype_of(tangent)), tangent)


renorm.ordered = True
renorm.gradient(
    self=lambda F, grad, self, p, dim, maxnorm: _renorm_backward(F, grad, self, p, dim, maxnorm)
)
renorm.forward(
    lambda F, self_t, self, p, dim, maxnorm: _renorm_tangent(F, self_t, self, p, dim, maxnorm)
)
