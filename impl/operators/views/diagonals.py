"""Matrices made from diagonals, and diagonals as copies."""

from __future__ import annotations

import functools

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.out import store_resized
from impl.dispatch.record import underived_out
from impl.dispatch.vmap_writes import falls_back
from impl.tensor.tensor import Tensor


@operator(method=False, node="DiagonalBackward0_copy", writes=1, batching="dims")
def diagonal_copy(self: Array, offset=0, dim1=0, dim2=1) -> Array:
    """A copy of `diagonal` (torch.diagonal_copy)."""
    return np.array(array_ops.diagonal(self, offset, dim1, dim2), order="C")


diagonal_copy.gradient(self="F.diagonal_backward(grad, self_shape, offset, dim1, dim2)")
diagonal_copy.forward("linear")


@operator(writes=1, batching="dims")
def diag_embed(self: Array, offset=0, dim1=-2, dim2=-1) -> Array:
    """Matrices whose diagonals are the last dimension, zeros elsewhere (torch.diag_embed)."""
    ndim = self.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, side)
    result = np.zeros(shape, self.dtype)
    array_ops.diagonal(result, offset, first, second)[...] = self
    return result


@diag_embed.composes
def _embedded_in_zeros(self, offset, dim1, dim2):
    result = diag_embed.computed(self, offset, dim1, dim2)
    result.diagonal(offset, dim1, dim2).copy_(self)
    return result


diag_embed.gradient(self=lambda F, grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2))
diag_embed.forward("linear")


@underived_out("aten::diag_embed", store_resized)
def _diag_embed(input, diagonal):
    return tensor_ops.diag_embed(input, diagonal)


FUNCTIONS["diagonal_copy"] = underived_out("aten::diagonal_copy", store_resized)(
    FUNCTIONS["diagonal_copy"]
)


def check_diag_cast(input, out) -> None:
    """Raise RuntimeError for an `out=` that the elements cannot be cast to."""
    if isinstance(out, Tensor) and input.dtype.category > out.dtype.category:
        raise RuntimeError(
            f"diag: result type {input.dtype.legacy} can't be cast to the desired out= type "
            f"{out.dtype.legacy}"
        )


@function("diag")
def diag(input, diagonal=0, *, out=None):
    """The matrix with a vector as its diagonal, or a copy of a matrix's diagonal (torch.diag).

    Raises RuntimeError for other numbers of dimensions.
    """
    ndim = input._raw.ndim
    if ndim == 1:
        check_diag_cast(input, out)
        return _diag_embed(input, diagonal, out=out)
    if ndim == 2:
        return FUNCTIONS["diagonal_copy"](input, diagonal, 0, 1, out=out)
    prefix = "" if out is not None else "diag(): "
    raise RuntimeError(f"{prefix}Supports 1D or 2D tensors. Got {ndim}D")


@function("diagflat", batching="composed_fallback")
def diagflat(input, offset=0):
    """The matrix with all elements, flattened, as its diagonal (torch.diagflat)."""
    return tensor_ops.diag_embed(tensor_ops.view(input.contiguous(), (-1,)), offset)


@function("fill_diagonal_", torch=False)
@functools.partial(falls_back, "fill_diagonal_")
def fill_diagonal_(self, fill_value, wrap=False):
    """Fill the main diagonal in place; in a tall matrix, with `wrap`, again after each N columns.

    Raises RuntimeError for less than two dimensions, and for more of unequal size
    (torch.Tensor.fill_diagonal_).
    """
    shape, strides = self._raw.shape, self.stride()
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step, length = sum(strides), min(shape)
    offset = self.storage_offset()
    tensor_ops.as_strided(self, (length,), (step,), offset).fill_(fill_value)
    rows, columns = shape[0], shape[1]
    if wrap and len(shape) == 2 and rows > columns + 1:
        length = (rows * columns + columns) // (columns + 1) - length
        tensor_ops.as_strided(self, (length,), (step,), offset + strides[0] * (columns + 1)).fill_(
            fill_value
        )
    return self
