"""Embeddings: rows of a table selected by integer indices."""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dims import require_dims
from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.messages import tensor_type
from impl.core.meta_arrays import MetaArray
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.state import STATE
from impl.core.strides import element_strides, has_zero_strides
from impl.dispatch.definition import (
    Array,
    OfArguments,
    formula_operation,
    function,
    operator,
    written,
)
from impl.dispatch.facts import MemoryOverlap, NoComplex, SavedAs
from impl.dispatch.not_implemented import not_differentiated
from impl.dispatch.vmap_rules import folded_into, fronted, hide, hide_at, unfolded
from impl.kernels.empty_norms import require_identity
from impl.kernels.reduced_precision import sums_at, widened
from impl.operators.indexing.gathering import check_selected
from impl.tensor.batched_tensor import is_at
from impl.tensor.tensor import Tensor, requires_grad


def _check_indices(name: str, number: int, indices) -> None:
    kind = BY_NUMPY[indices.dtype]
    if kind.name not in ("int64", "int32"):
        raise RuntimeError(
            f"Expected tensor for argument #{number} 'indices' to have one of the following scalar "
            f"types: Long, Int; but got {tensor_type(kind)} instead (while checking arguments for "
            f"{name})"
        )


@operator(
    node="EmbeddingBackward0",
    function=False,
    method=False,
    complex=NoComplex(derivative="embedding"),
    saved_as=SavedAs(parts=("_sym_argsize_0",)),
)
def embedding_rows(weight: Array, indices: Array, padding_idx, scale_grad_by_freq, sparse) -> Array:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices("embedding", 1, indices)
    check_selected(weight, 0, indices)
    return weight[indices]


@embedding_rows.composes
def _rows_in_view(weight, indices, *rest):
    if indices._raw.ndim == 1:
        return NotImplemented
    rows = embedding_rows(weight, indices.reshape(-1), *rest)
    return rows.view((*indices._raw.shape, *weight._raw.shape[1:]))


@operator(node="EmbeddingDenseBackwardBackward0", function=False, method=False)
def embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights, padding_idx, scale_grad_by_freq
) -> Array:
    """The gradient of the table: each row sums the gradients of its occurrences in `indices`."""
    _check_indices("embedding_backward", 2, indices)
    rows = np.reshape(indices, -1)
    width = grad_output.shape[-1]
    values = grad_output.reshape(rows.size, width)
    if scale_grad_by_freq:
        _, inverse, counts = np.unique(rows, return_inverse=True, return_counts=True)
        values = values / counts[inverse][:, None].astype(values.dtype)
    kept = rows != padding_idx
    return sums_at((num_weights, width), rows[kept], values[kept])


@formula_operation
def number_of_rows(shape):
    """The number of rows of a table, from its shape."""
    return shape[0]


tensor_ops.number_of_rows = number_of_rows


@embedding_rows.batches
def _rows_of_batch(args, level):
    """Tables that differ are one of more rows; for the same indices, one of wider rows. As in torch
    `padding_idx` counts the rows of the one table."""
    weight, indices, *rest = args
    if not is_at(weight, level):
        return hide(embedding_rows(weight, fronted(indices, level), *rest), level)
    if not is_at(indices, level):
        made = embedding_rows(folded_into(weight, 1), indices, *rest)
        place = indices._raw.ndim
        return hide_at(unfolded(made, place, level.size), place, level)
    rows = weight._raw.shape[0]
    first = FUNCTIONS["arange"](0, level.size * rows, rows)
    places = fronted(indices, level) + first.view(-1, *(1,) * indices._raw.ndim)
    return hide(embedding_rows(folded_into(weight, 0), places, *rest), level)


embedding_rows.index_position = embedding_rows.position["indices"]
embedding_rows.gradient(
    weight=lambda F, grad, indices, weight_shape, padding_idx, scale_grad_by_freq, sparse: (
        F.embedding_sparse_backward(grad, indices, weight_shape, padding_idx, scale_grad_by_freq)
        if sparse
        else F.embedding_dense_backward(
            grad, indices, F.number_of_rows(weight_shape), padding_idx, scale_grad_by_freq
        )
    )
).forward("linear")


def _looked_up(F, grad, indices, padding_idx):
    rows = F.reshape(indices, (-1,))
    found = F.index_select(grad, 0, rows)
    if padding_idx >= 0:
        hidden = F.reshape(rows == padding_idx, (rows.shape[0], 1))
        found = F.masked_fill(found, hidden, 0)
    return F.view(found, (*indices.shape, -1))


def _fills(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) -> int:
    """How often the rows that are looked up are written: the padding's are filled in place."""
    return int(padding_idx >= 0)


embedding_dense_backward.gradient(
    grad_output=written(_looked_up, OfArguments(_fills)),
).forward("linear")


def _renormed(weight, indices, max_norm, norm_type):
    """The rows that are looked up and have a larger norm, scaled, each with its index."""
    if weight.ndim != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {weight.ndim}-dimensional tensor for "
            "argument #1 'self' (while checking arguments for embedding_renorm_)"
        )
    _check_indices("embedding_renorm_", 2, indices)
    dtype = BY_NUMPY[weight.dtype]
    if dtype.category < FLOATING:
        raise NotImplementedError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{dtype.legacy} instead."
        )
    for row in np.unique(indices):
        if not -len(weight) <= row < len(weight):
            raise IndexError(
                f"select(): index {row} out of range for tensor of size {[*weight.shape]} at "
                "dimension 0"
            )
        require_identity(weight[row], norm_type, None)
        sizes = np.abs(widened(weight[row])).astype(np.float64)
        norm = float(np.linalg.norm(sizes, norm_type).astype(weight.real.dtype))
        if norm > max_norm:
            if has_zero_strides(weight.shape[1:], element_strides(weight)[1:]):
                raise RuntimeError(messages.OVERLAP)
            yield row, weight[row] * weight.dtype.type(max_norm / (norm + 1e-7))


@operator(
    node="EmbeddingRenormBackward0",
    function=False,
    method=False,
    fresh=True,
    torch_name="embedding_renorm",
    memory=MemoryOverlap(within=True),
)
def renormed_rows(weight: Array, indices: Array, max_norm, norm_type) -> Array:
    table = weight.copy()
    for row, value in _renormed(table, indices, max_norm, norm_type):
        table[row] = value
    return table


renormed_rows.in_parts(_renormed)
renormed_rows.gradient(weight=not_differentiated("embedding_renorm"))
renormed_rows.forward("unsupported", name="embedding_renorm_")


@function(method=False)
def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float):
    """Scale the rows that are looked up, in place, to a norm of at most `max_norm`
    (torch.embedding_renorm_)."""
    return renormed_rows.inplace(weight, indices, max_norm, norm_type)


@function("embedding", method=False)
def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """`functional.embedding` with torch's own order of arguments (torch.embedding)."""
    if STATE.enabled and requires_grad(weight):
        require_dims(0, weight._raw.ndim)  # whose size torch saves first
    return tensor_ops.embedding_rows(weight, indices, padding_idx, scale_grad_by_freq, sparse)


embedding_rows.on_large_meta(
    lambda weight, indices, *rest: MetaArray((*indices.shape, weight.shape[1]), weight.dtype)
)
embedding_dense_backward.on_large_meta(
    lambda grad_output, indices, num_weights, *rest: MetaArray(
        (num_weights, grad_output.shape[-1]), grad_output.dtype
    )
)
