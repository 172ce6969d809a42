"""Products of vectors: cross and inner products along a dimension, and the Kronecker product."""

from __future__ import annotations

import numpy as np

from impl.core.dims import existing_dim, wrap_dim
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.core.state import STATE
from impl.core.strides import element_strides
from impl.core.warning import warn_once
from impl.dispatch.autocast import lower_precision_fp
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.not_implemented import check_floating, refuse_bool, require_scalar_type
from impl.dispatch.out import (
    fit,
    named_out,
    refuse_links,
    refusing_gradients,
    set_output,
    store,
    store_exactly,
)
from impl.dispatch.vmap_rules import fronted, hide
from impl.kernels.reduced_precision import rounded_once
from impl.operators.views.shape import view_
from impl.tensor.geometry import Geometry
from impl.tensor.memory_overlap import check_disjoint, check_memory
from impl.tensor.tensor import Tensor

# -- cross --------------------------------------------------------------------------------------


@operator(function=False, method=False, batching="dims")
def linalg_cross(self: Array, other: Array, dim=-1) -> Array:
    refuse_bool(self, "cross")
    require_scalar_type(other, self.dtype)
    return _cross(self, other, dim)


@rounded_once
def _cross(self, other, dim):
    axis = wrap_dim(dim, self.ndim)
    u, v = np.moveaxis(self, axis, 0), np.moveaxis(other, axis, 0)
    products = [u[i - 2] * v[i - 1] - u[i - 1] * v[i - 2] for i in range(3)]
    return np.stack(products, axis)


linalg_cross.gradient(
    self=lambda F, grad, other, dim: F.linalg_cross(F.conj(other), grad, dim),
    other=lambda F, grad, self, dim: F.linalg_cross(grad, F.conj(self), dim),
)
linalg_cross.forward(
    lambda F, self_t, self, other_t, other, dim: (
        F.linalg_cross(self_t, other, dim) + F.linalg_cross(self, other_t, dim)
    )
)


@named_out("linalg_cross")
def cross_along(input, other, *, dim=-1, out=None):
    """The cross products of vectors of three along `dim`; the others broadcast
    (torch.linalg.cross).

    Raises RuntimeError for another length, different numbers of dimensions and different dtypes.
    """
    one, two = input._raw.shape, other._raw.shape
    if len(one) != len(two):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = existing_dim(dim, len(one))
    lengths = one[axis], two[axis]
    if lengths != (3, 3):
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {lengths[0]} and "
            f"{lengths[1]}"
        )
    shape = broadcast_shapes(one, two)
    if out is not None:
        set_output(out, shape, input._raw.dtype)
        for factor in (input, other):
            check_disjoint(out, factor)
    result = linalg_cross(input, other, dim)
    return result if out is None else store_exactly("linalg_cross", out, result)


@function()
def cross(input, other, dim=None, *, out=None):
    """`linalg.cross` along `dim`, by default the first dimension of length 3 (torch.cross).

    Raises RuntimeError, besides, when there is none.
    """
    if dim is None:
        if out is None:  # ATen's variant with `out=` does not warn
            warn_once(_NO_DIM)
        if 3 not in input._raw.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = input._raw.shape.index(3)
    return refusing_gradients(cross_along)(input, other, dim=dim, out=out)


_NO_DIM = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim "
    "explicitly or simply use torch.linalg.cross.\nThe default value of dim will change to agree "
    "with that of linalg.cross in a future release."
)


# -- inner products and diagonals ---------------------------------------------------------------


@lower_precision_fp
def vecdot(x, y, *, dim=-1, out=None):
    """The inner products of vectors along `dim`, the first conjugated (torch.linalg.vecdot).

    Raises RuntimeError for integers and different dtypes.
    """
    check_floating("linalg.vecdot", x._raw)
    if x.dtype is not y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.legacy} and y of type {y.dtype.legacy} instead"
        )
    if isinstance(out, Tensor) and out.dtype is not x.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected out of dtype{x.dtype.legacy} but found {out.dtype.legacy}"
        )
    if x._raw.ndim == y._raw.ndim == 1:
        if out is not None:
            fit(out, ())
        return FUNCTIONS["vdot"](x, y, out=out)
    result = (tensor_ops.conj(x) * y).sum(dim)
    return result if out is None else store("sum", out, result)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, a view (torch.linalg.diagonal)."""
    return tensor_ops.diagonal(A, offset, dim1, dim2)


# -- the Kronecker product ----------------------------------------------------------------------


@operator(node="UnsafeViewBackward0", function=False, method=False, fresh=True)
def kron_view(self: Array, size) -> Array:
    """The same memory in other sizes, with its order of dimensions; raises if there is no such
    view."""
    view_.geometry(Geometry(self.shape, element_strides(self), 0), size)  # raises if impossible
    return self.reshape(size)


kron_view.gradient(self=lambda F, grad, self_shape: F.reshape(grad, self_shape))
kron_view.forward("linear")


@kron_view.batches
def _kron_view_of_batch(args, level):
    """A copy where there is no such view, which `vmap` of `_unsafe_view` makes."""
    batch, size = args
    value = fronted(batch, level)
    sizes = (level.size, *size)
    try:
        return hide(kron_view(value, sizes), level)
    except RuntimeError:
        return hide(kron_view(value.contiguous(), sizes), level)


@function()
def kron(input, other, *, out=None):
    """Every element of `input` times all of `other`, as blocks (torch.kron).

    Sizes multiply; missing leading dimensions count as 1. Raises RuntimeError, as torch does, for
    factors whose dimensions lie in memory in different orders.
    """
    ndim = max(input._raw.ndim, other._raw.ndim)
    one, two = ((1,) * (ndim - t._raw.ndim) + t._raw.shape for t in (input, other))
    left = kron_view(input, tuple(n for size in one for n in (size, 1)))
    right = kron_view(other, tuple(n for size in two for n in (1, size)))
    sizes = tuple(a * b for a, b in zip(one, two, strict=True))
    if out is None:
        return kron_view(left * right, sizes)
    # ATen writes through a view with a version counter of its own; a resize counts where a dispatch
    # mode sees it.
    writes = int(STATE.before_write is not None and out._raw.shape != sizes)
    fit(out, sizes)
    refuse_links("mul", input, other, out)
    check_memory(out, (input, other))
    product = (left.detach() * right.detach()).contiguous()
    return store("mul", out, product.reshape(sizes), writes=writes)
