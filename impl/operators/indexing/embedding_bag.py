"""Embedding bags: sums, means and maxima over bags of rows of a table, without gathering the rows.

A sum is the product of a sparse matrix (bags, rows) and the table; its backward multiplies by the
transposed matrix.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from impl.core.dims import existing_dim, wrap_dim
from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.messages import tensor_type
from impl.core.registry import array_ops, tensor_ops
from impl.dispatch.batching_rules import in_aten
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import SavedAs
from impl.dispatch.not_implemented import no_derivative, not_differentiated, require_scalar_type
from impl.dispatch.sparse_operator import sparse_operator
from impl.kernels.reduced_precision import widened
from impl.tensor.formatting import tensor_text

_SUM, _MEAN, _MAX = 0, 1, 2


_WHOLE = (("int64", "int32"), "Long, Int")
_FLOATS = (("float16", "bfloat16", "float32", "float64"), "Half, BFloat16, Float, Double")


def _check_type(name: str, raw, allowed, words: str) -> None:
    """Raise RuntimeError for an argument that has none of the `allowed` dtypes, which are named by
    the `words`."""
    kind = BY_NUMPY[raw.dtype]
    if kind.name not in allowed:
        raise RuntimeError(
            f"Expected tensor for argument #1 '{name}' to have one of the following scalar "
            f"types: {words}; but got {tensor_type(kind)} instead (while checking arguments for "
            "embedding_bag)"
        )


def _check_places(indices, offsets) -> None:
    for raw in (indices, offsets):
        _check_type("indices", raw, *_WHOLE)


def _check_dims(weight, indices, offsets) -> None:
    if indices.ndim not in (1, 2):
        raise RuntimeError(
            f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.ndim}"
        )
    if indices.ndim == 1 and offsets.ndim != 1:
        raise RuntimeError(
            f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.ndim}"
        )
    if weight.ndim != 2:
        raise RuntimeError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}"
        )


def _check(
    weight, indices, offsets, mode: int, per_sample_weights, include_last_offset, padding_idx
) -> None:
    _check_dims(weight, indices, offsets)
    _check_places(indices, offsets)
    _check_type("weight", weight, *_FLOATS)
    existing_dim(0, offsets.ndim)
    if offsets.size:
        if offsets[0] != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                f"from position 0. However, got {tensor_text(offsets[0])}"
            )
        if offsets[-1] > indices.size:
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {indices.size} but got "
                f"offsets[-1] of {offsets[-1]}"
            )
    elif include_last_offset:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if per_sample_weights is not None and mode != _SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        kinds = [tensor_type(BY_NUMPY[raw.dtype]) for raw in (weight, per_sample_weights)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type {kinds[0]} does not equal {kinds[1]} (while "
            "checking arguments for embedding_bag)"
        )
    wrong = np.flatnonzero((indices < 0) | (indices >= weight.shape[0]))
    by_rows = weight.strides[1] == weight.itemsize or weight.shape[1] < 2
    if wrong.size and mode != _MAX and weight.itemsize < 8 and padding_idx < 0 and by_rows:
        raise RuntimeError(
            f"Index {wrong[0]} of input takes value {indices[wrong[0]]} which is not in the valid "
            f"range [0, {weight.shape[0]})"
        )
    if wrong.size:
        raise RuntimeError(
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
            f"{indices[wrong[0]]}"
        )


def _bags(indices, offsets, count: int) -> np.ndarray:
    """The bag of each index; -1 if there is none."""
    if not count:
        return np.full(indices.size, -1)
    ends = np.append(offsets[1:count], indices.size)
    return np.repeat(np.arange(count), ends - offsets[:count])


def _sums(bags, rows, weights, count: int, size: int) -> scipy.sparse.csr_array:
    """The sparse matrix (bags, rows of the table) of the weight of each row in each bag."""
    return scipy.sparse.coo_array((weights, (bags, rows)), (count, size)).tocsr()


def _maxima(weight, bags, rows, count: int):
    """The maxima (count, d) of the bags and the row that attains each (the first at a tie); zeros
    for empty bags."""
    best = np.zeros((count, weight.shape[1]), weight.dtype)
    where = np.zeros(best.shape, np.int64)
    number = np.arange(bags.size) - np.searchsorted(bags, bags)  # position in its bag
    for step in range(int(number.max(initial=-1)) + 1):
        bag, row = bags[number == step], rows[number == step]
        better = (weight[row] > best[bag]) | (step == 0)
        best[bag] = np.where(better, weight[row], best[bag])
        where[bag] = np.where(better, row[:, None], where[bag])
    return best, where


@operator(
    node="EmbeddingBagBackward0",
    outputs=("result0", "result1", "result2", "result3"),
    function=False,
    method=False,
    saved_as=SavedAs(parts=("_sym_argsize_0",)),
)
def embedding_bag_op(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights: Array | None,
    include_last_offset,
    padding_idx,
) -> tuple:
    """The bags' results, the bag of each index, the bags' sizes, and the rows of the maxima."""
    _check(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx)
    count = offsets.size - 1 if include_last_offset else offsets.size
    bags = _bags(indices, offsets, count)
    kept = (indices != padding_idx) & (bags >= 0)
    wide = widened(weight)
    sizes = np.bincount(bags[kept], minlength=count).astype(indices.dtype)
    if mode == _MAX:
        best, where = _maxima(wide, bags[kept], indices[kept], count)
        return best.astype(weight.dtype), bags, sizes, where
    shares = np.ones(indices.size, wide.dtype)
    if per_sample_weights is not None:
        shares = widened(per_sample_weights)
    rows = not wide.size or wide.strides[1] == wide.itemsize
    if mode != _MEAN and padding_idx < 0 and wide.dtype == np.float32 and rows:
        bags = bags[:0]  # torch's kernel for this case leaves offset2bag empty
    where_from = _bags(indices, offsets, count)
    total = (
        _sums(where_from[kept], indices[kept], shares[kept], count, wide.shape[0]) @ wide
    ).astype(wide.dtype)
    if mode == _MEAN:
        total /= np.maximum(sizes, 1)[:, None].astype(wide.dtype)
    else:
        sizes = np.zeros_like(sizes)
    return total.astype(weight.dtype, copy=False), bags, sizes, sizes.copy()


@sparse_operator("EmbeddingBagBackwardBackward0")
def embedding_bag_backward(
    grad: Array,
    indices: Array,
    offsets: Array,
    offset2bag: Array,
    bag_size: Array,
    maximum_indices: Array,
    num_weights,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights: Array | None,
    padding_idx,
) -> Array:
    """The gradient of the table, which is sparse if that is asked."""
    _check_places(indices, offsets)
    count = grad.shape[0]
    if sparse:
        bags = _bags(indices, offsets, count)
        given = num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx
        return _sparse_backward(grad, indices, bags, bag_size, *given)
    wide = widened(grad)
    if mode == _MAX:
        result = np.zeros((num_weights, grad.shape[1]), wide.dtype)
        full = bag_size > 0
        columns = np.broadcast_to(np.arange(grad.shape[1]), grad.shape)
        np.add.at(result, (maximum_indices[full], columns[full]), wide[full])
        return result.astype(grad.dtype, copy=False)
    bags = _bags(indices, offsets, count)
    shares = np.ones(indices.size, wide.dtype)
    if per_sample_weights is not None:
        shares = widened(per_sample_weights)
    if scale_grad_by_freq:
        shares = shares / np.bincount(indices, minlength=num_weights)[indices].astype(wide.dtype)
    if mode == _MEAN:
        shares = shares / np.maximum(bag_size, 1)[bags].astype(wide.dtype)
    kept = indices != padding_idx
    matrix = _sums(bags[kept], indices[kept], shares[kept], count, num_weights)
    return (matrix.T @ wide).astype(grad.dtype, copy=False)


def _sparse_backward(grad, indices, bags, bag_size, size, by_frequency, mode, weights, padding_idx):
    """The gradient of the table as one element for each index, in their order
    (_embedding_bag_sparse_backward)."""
    values = grad[bags]
    if mode == _MEAN:
        values = values / np.maximum(bag_size, 1)[bags].astype(values.dtype)[:, None]
    if weights is not None:
        values = values * weights[:, None]
    shape = (size, grad.shape[1])
    return array_ops.embedding_sparse_backward(values, indices, shape, padding_idx, by_frequency)


@operator(node="NotImplemented", function=False, method=False)
def embedding_bag_per_sample_weights_backward(
    grad: Array, weight: Array, indices: Array, offsets: Array, offset2bag: Array, mode, padding_idx
) -> Array:
    """The gradient of `per_sample_weights`: the inner product of each row and its bag's
    gradient."""
    _check_places(indices, offsets)
    require_scalar_type(weight, grad.dtype)
    bags = _bags(indices, offsets, grad.shape[0])
    result = (widened(grad)[bags] * widened(weight)[indices]).sum(1)
    return np.where(indices != padding_idx, result, 0).astype(grad.dtype)


embedding_bag_op.differentiable("result0").gradient(
    weight="F.embedding_bag_backward(grad, indices, offsets, result1, result2, result3, "
    "weight_shape[0], scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx)"
)
embedding_bag_op.gradient(
    per_sample_weights=lambda F, grad, weight, indices, offsets, result1, mode, padding_idx: (
        F.embedding_bag_per_sample_weights_backward(
            grad, weight, indices, offsets, result1, mode, padding_idx
        )
    )
).forward("unsupported", name="_embedding_bag", invited=True)
embedding_bag_backward.gradients("grad", "per_sample_weights")(
    not_differentiated("_embedding_bag_backward")
)
embedding_bag_per_sample_weights_backward.gradients("grad", "weight")(
    no_derivative("_embedding_bag_per_sample_weights_backward")
)


@function("embedding_bag", method=False, batching="composed_fallback")
@in_aten("embedding_bag.padding_idx")
def _embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=_SUM,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """`functional.embedding_bag` with torch's own order of arguments, and with all its outputs
    (torch.embedding_bag)."""
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight._raw.shape[existing_dim(0, weight._raw.ndim)]
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, "
                f"but got {padding_idx}"
            )
        padding_idx = wrap_dim(padding_idx, rows)
    if BY_NUMPY[indices._raw.dtype].category < FLOATING and indices.dtype is not offsets.dtype:
        indices, offsets = indices.long(), offsets.long()
    return tensor_ops.embedding_bag_op(
        weight,
        indices.contiguous(),
        offsets.contiguous(),
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
