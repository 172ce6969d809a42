"""Norms by their older names, which record nodes of their own (torch.norm and its kin)."""

from __future__ import annotations

from typing import Any

from impl.core.dims import require_dims, wrap_dims
from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.meta_arrays import reduced_shape
from impl.core.warning import warn_once
from impl.dispatch.definition import Array, function
from impl.dispatch.out import fit, refuse_links, store_exactly
from impl.kernels.empty_norms import require_identity
from impl.operators.linalg.norms import (
    matrix_norm,
    norm_backward,
    norm_operator,
    norm_tangent,
    raw_norm,
)


def require_real_or_complex(kind) -> None:
    d = BY_NUMPY[kind]
    if d.category < FLOATING:
        raise NotImplementedError(
            "norm(): input dtype should be either floating point or complex. "
            f"Got {d.legacy} instead."
        )


# ATen's kernel of both.
_BY_VECTOR_NORM: dict[str, Any] = {"writes": 1, "written_by": "linalg_vector_norm"}


@norm_operator(node="NormBackward1", batching="dims", **_BY_VECTOR_NORM)
def norm_dims(self: Array, p, dim, keepdim) -> Array:
    require_real_or_complex(self.dtype)
    require_identity(self, float(p), dim)
    return raw_norm(self, float(p), wrap_dims(dim, self.ndim), keepdim)


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


@norm_operator(node="NormBackward0", **_BY_VECTOR_NORM)
def norm_all(self: Array, p) -> Array:
    require_real_or_complex(self.dtype)
    require_identity(self, float(p), None)
    return raw_norm(self, float(p), None, False)


norm_all.gradient(
    self=lambda F, grad, self, p, result: norm_backward(F, grad, self, float(p), result, (), True)
)
norm_all.forward(
    lambda F, self_t, self, p, result: norm_tangent(F, self_t, self, float(p), result, (), True)
)


def _left_for_jit(name: str, instead: str, site: str) -> None:
    warn_once(
        f"at::{name} is deprecated and it is just left for JIT compatibility. It will be removed "
        f"in a future PyTorch release. Please use `linalg.{instead}` instead",
        site=site,
    )


@function(method=False)
def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The root of the sum of squares over at most two dimensions (torch.frobenius_norm,
    deprecated)."""
    _left_for_jit(
        "frobenius_norm", "vector_norm(A, 2., dim, keepdim)", f"frobenius_norm {out is None}"
    )
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead."
        )
    if out is not None:
        refuse_links("norm", input, out)
        require_real_or_complex(input._raw.dtype)
        fit(out, reduced_shape(input._raw.shape, wrap_dims(dims, input._raw.ndim), keepdim))
    result = norm_dims(input, 2, dims, keepdim)
    return result if out is None else store_exactly("norm", out, result)


@function(method=False)
def nuclear_norm(input, dim=None, keepdim=False, *, out=None):
    """The sum of the singular values of matrices over two dimensions (torch.nuclear_norm,
    deprecated). Raises RuntimeError for an `out=` of another dtype."""
    _left_for_jit(
        "nuclear_norm",
        "matrix_norm(A, 'nuc', dim, keepdim)",
        "nuclear_norm" if out is None else f"nuclear_norm.out {dim is None}",
    )
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    if dim is None:
        dim = (-2, -1)
    dims = (dim, dim) if isinstance(dim, int) else tuple(dim)
    return matrix_norm(input, "nuc", dims, keepdim, out=out)


@function(method=False, batching="composed_fallback")
def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but one, which is kept; over all for -1
    (torch.norm_except_dim)."""
    rank = v._raw.ndim
    if dim == -1:
        return norm_all(v, pow)
    if dim not in (0, rank - 1):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    require_dims(dim, rank)
    size = v._raw.shape[dim]
    rows, across = ((size, -1), 1) if dim == 0 else ((-1, size), 0)
    shape = [1] * rank
    shape[dim] = size
    return norm_dims(v.contiguous().view(*rows), pow, (across,), False).view(*shape)
