"""Scaled dot-product attention: the fused flash-attention operator, and ATen's composition.

A. Vaswani et al., "Attention is all you need", NeurIPS 2017.
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING, REDUCED, bool_, float32
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.dispatch import fused
from impl.dispatch.autocast import lower_precision_fp
from impl.dispatch.definition import Array, operator
from impl.dispatch.not_implemented import no_derivative
from impl.kernels.reduced_precision import widened
from impl.kernels.vectorized import largest, row_sums, smallest
from impl.operators.activations.softmax import checked, logsumexp_tangent
from impl.operators.layers.attention_kernels import takes_flash
from impl.operators.layers.packed_heads import before_heads, heads_in
from impl.tensor.allocation import ordered_like
from impl.tensor.tensor import Tensor

# -- one operator -------------------------------------------------------------------------------


def _scale(scale, query) -> float:
    if scale is None:
        width = query.shape[-1]
        return 1.0 / math.sqrt(width) if width else math.inf
    return scale


def _repeated(value, query):
    """A key or value with its heads repeated up to the number of the query's heads."""
    times = query.shape[1] // value.shape[1]
    return value if times == 1 else np.repeat(value, times, 1)


def _gathered(grad, like):
    """The adjoint of `_repeated`: the sum over the query's heads that share a head of `like`."""
    batch, heads, *rest = grad.shape
    few = like.shape[1]
    return grad if few == heads else grad.reshape(batch, few, heads // few, *rest).sum(2)


def _scores(query, key, mask, scale):
    """The scaled products of rows, with the mask; a causal one is not applied."""
    scores = np.matmul(query, key.swapaxes(-2, -1))
    scores *= query.dtype.type(_scale(scale, query))
    if mask is not None:
        scores = (
            np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + widened(mask)
        )
    return scores.astype(query.dtype, copy=False)


def _causal(scores):
    """Whether a position may attend to another, (L, S): to those that are not after it."""
    return np.tri(scores.shape[-2], scores.shape[-1], dtype=bool)


def _exponentials(scores, rounded: bool):
    """The parts of a softmax over the last dimension: exponentials, their sums, and logsumexp.

    The maximum is subtracted first, unless all sums are of a moderate size without that, and the
    exponentials are not `rounded` to half precision. Sums are one where no score is finite.
    """
    if scores.size and not rounded:
        exponentials = np.exp(scores)
        total = row_sums(exponentials)
        if smallest(total) > 1e-8 and largest(total) < 1e8:
            return exponentials, total, np.log(total)
    highest = scores.max(-1, keepdims=True, initial=-np.inf)
    shift = np.where(highest == -np.inf, scores.dtype.type(0), highest)
    exponentials = np.exp(scores - shift)
    total = row_sums(exponentials)
    safe = np.where(total == 0, scores.dtype.type(1), total)
    return exponentials, safe, np.log(total) + shift


def _rounded(value, dtype):
    """The value rounded to half precision if `dtype` is reduced, as torch rounds a product's
    operand."""
    return value.astype(dtype).astype(value.dtype) if dtype in REDUCED else value


@operator(
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    outputs=("output", "logsumexp"),
    function=False,
    method=False,
    fresh=True,
    batching="fallback",
)
def flash_attention(
    query: Array, key: Array, value: Array, dropout_p, is_causal, attn_mask: Array | None, scale
) -> tuple:
    q = widened(query)
    k, v = (_repeated(widened(t), query) for t in (key, value))
    scores = _scores(q, k, attn_mask, scale)
    if is_causal:
        # ATen masks before it scales: a factor of zero gives NaN, a negative one plus infinity.
        hidden = scores.dtype.type(-np.inf * _scale(scale, query))
        scores = np.where(_causal(scores), scores, hidden)
    parts, total, logsumexp = _exponentials(scores, query.dtype in REDUCED)
    result = np.matmul(_rounded(parts, query.dtype), v) / total
    return ordered_like(result.astype(query.dtype, copy=False), query), logsumexp[..., 0]


@flash_attention.composes
def _in_view(query, key, value, dropout_p, is_causal, attn_mask, scale):
    """The result is a transposed view."""
    output, logsumexp = flash_attention.computed(
        query, key, value, dropout_p, is_causal, attn_mask, scale
    )
    return output.view_as(output), logsumexp


@operator(
    node="NotImplemented",
    outputs=("grad_query", "grad_key", "grad_value"),
    function=False,
    method=False,
    fresh=True,
)
def flash_attention_backward(
    grad_out: Array,
    query: Array,
    key: Array,
    value: Array,
    out: Array,
    logsumexp: Array,
    dropout_p,
    is_causal,
    attn_mask: Array | None,
    scale,
) -> tuple:
    """The gradients of query, key and value."""
    operands = grad_out, query, key, value, out, logsumexp, is_causal, attn_mask, scale
    return tuple(_rows_first_product(*factors) for factors in _factors(*operands))


def _factors(grad_out, query, key, value, out, logsumexp, is_causal, attn_mask, scale):
    """For query, key and value: the two factors of the gradient, and the operand."""
    q, g = widened(query), widened(grad_out)
    k, v = (_repeated(widened(t), query) for t in (key, value))
    weights = _scores(q, k, attn_mask, scale)
    weights -= np.where(np.isinf(logsumexp), logsumexp.dtype.type(0), logsumexp)[..., None]
    np.exp(weights, out=weights)
    if is_causal:
        weights[..., ~_causal(weights)] = 0
    of_weights = np.matmul(g, v.swapaxes(-2, -1))
    along = np.einsum("...d,...d->...", g, widened(out))  # whatever the order of the dimensions
    of_weights -= along[..., None]
    of_weights *= weights
    of_scores = _rounded(of_weights, query.dtype)
    factor = q.dtype.type(_scale(scale, q))
    # A product that BLAS is to scale by zero is not computed, whatever its factors are.
    of_scores = of_scores * factor if factor else np.zeros_like(of_scores)
    return (
        (of_scores, k, query),
        (of_scores.swapaxes(-2, -1), q, key),
        (_rounded(weights, query.dtype).swapaxes(-2, -1), g, value),
    )


def _rows_first_product(left, right, like):
    """The matrix products, gathered as `like`, (batch, heads, rows, width), and in memory with the
    rows before the heads."""
    batch, heads, rows, width = like.shape
    result = np.empty_like(np.empty((batch, rows, heads, width), like.dtype).swapaxes(1, 2))
    if left.shape[1] == heads and left.dtype == like.dtype:
        return np.matmul(left, right, out=result)
    result[...] = _gathered(np.matmul(left, right), like)
    return result


@flash_attention.differentiable("output").gradients("query", "key", "value")
def _flash_gradients(
    F, grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale
):
    return F.flash_attention_backward(
        grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale
    )


def _gradient_of_packed(node, grad, keep: bool, dependencies: dict):
    """Backward of self-attention up to the projection that packs query, key and value: the products
    are written where they belong in its gradient. None where the heads are no views of one."""
    saved = node._saved
    target = None if saved is None else before_heads(node._next_nodes, dependencies)
    if target is None or type(grad) is not np.ndarray:
        return None
    values = dict(zip(node._plan.names, saved, strict=True))
    names = ("query", "key", "value", "output", "logsumexp", "is_causal", "attn_mask", "scale")
    operands = [fused.unpack_array(values[name], node) for name in names]
    if not keep:
        node._saved = None
    whole = np.empty(*target._meta)
    parts = heads_in(whole, *operands[0].shape)
    for (left, right, _), part in zip(_factors(grad, *operands), parts, strict=True):
        np.matmul(left, right, out=part)
    return [whole], (target,)


flash_attention.node_class._fused_backward = staticmethod(_gradient_of_packed)
flash_attention.forward(
    "unsupported", name="_scaled_dot_product_flash_attention_for_cpu", invited=True
)
flash_attention_backward.gradients("grad_out", "query", "key", "value", "out", "logsumexp")(
    no_derivative("_scaled_dot_product_flash_attention_for_cpu_backward")
)


@operator(node="SafeSoftmaxBackward0", function=False, method=False, batching="dims")
def safe_softmax(self: Array, dim) -> Array:
    """softmax, but zeros where all scores are minus infinity."""
    checked(self, dim, "softmax")
    parts, total, _ = _exponentials(widened(self), self.dtype in REDUCED)
    return (parts / total).astype(self.dtype, copy=False)


safe_softmax.gradient(self=lambda F, grad, result, dim: F.softmax_backward_data(grad, result, dim))


def _safe_tangent(F, self_t, self, dim, result):
    mean = logsumexp_tangent(F, self_t, self, (dim,), True)
    nothing = F.all_dim(self == -math.inf, dim, True)
    return result * (self_t - F.where(nothing, F.zeros_like(mean), mean))


safe_softmax.forward(_safe_tangent)


def mixed_heads(operands, batch: int, heads: int, is_causal: bool) -> Tensor:
    """`packed_heads` mixed by flash attention, in rows (length * batch, heads * head).

    The views before and after are recorded, but called without parsers and checks.
    """
    _, length, head = operands[0]._raw.shape
    q, k, v = (tensor_ops.view(t, (batch, heads, length, head)) for t in operands)
    mixed = flash_attention(q, k, v, 0.0, is_causal, None, None)[0]
    turned = tensor_ops.permute(mixed, (2, 0, 1, 3))
    return tensor_ops.reshape(turned, (batch * length, heads * head))


# -- composed -----------------------------------------------------------------------------------


def _added_mask(mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A mask to add to the scores: minus infinity where a boolean mask is false."""
    if mask is None or mask.dtype.name != "bool":
        return mask
    zero, lowest = (FUNCTIONS["scalar_tensor"](n, dtype=like.dtype) for n in (0.0, -math.inf))
    return FUNCTIONS["where"](mask, zero, lowest)


def _repeated_heads(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Key and value with each head as often as queries share it. Raises RuntimeError for numbers of
    heads that do not divide."""
    if any(query.size(-3) % t.size(-3) for t in (key, value)):
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query"
        )
    heads = query._raw.shape[-3]
    return [
        t if (few := t._raw.shape[-3]) == heads else t.repeat_interleave(heads // few, -3)
        for t in (key, value)
    ]


def _composed(query, key, value, mask, dropout_p, is_causal, scale, enable_gqa) -> Tensor:
    if is_causal:
        shape = (query._raw.shape[-2], key._raw.shape[-2])
        mask = FUNCTIONS["ones"](shape, dtype=BY_NUMPY[np.dtype(bool)]).tril()
    mask = _added_mask(mask, query)
    kind = query.dtype
    if kind.numpy in REDUCED:
        query, key, value = (tensor.to(float32) for tensor in (query, key, value))
    factor = _scale(scale, query._raw)
    root = math.sqrt(abs(factor))
    scaled = tensor_ops.mul_scalar if kind.category >= FLOATING else FUNCTIONS["mul"]  # promotes
    # Before the key is transposed, in the order of torch's nodes.
    query = scaled(query, -root if factor < 0 else root)
    if enable_gqa:
        key, value = _repeated_heads(query, key, value)
    scores = FUNCTIONS["matmul"](query, scaled(key.transpose(-2, -1), root))
    if mask is not None:
        if tensor_ops.is_subclass_like(scores, mask):
            scores = scores + mask
        else:
            scores.add_(mask)
    weights = safe_softmax(scores, -1)
    if dropout_p > 0:
        weights = FUNCTIONS["dropout"](weights, dropout_p, True)
    return FUNCTIONS["matmul"](weights, value).to(kind)


def _check_operands(query, key, value, mask, is_causal) -> None:
    ranks = [tensor._raw.ndim for tensor in (query, key, value)]
    if len({tensor.dtype for tensor in (query, key, value)}) > 1:
        kinds = [tensor.dtype.c_name for tensor in (query, key, value)]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{kinds[0]} key.dtype: {kinds[1]} and value.dtype: {kinds[2]} instead."
        )
    if min(ranks) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{ranks[0]} key.dim: {ranks[1]} and value.dim: {ranks[2]} instead."
        )
    if is_causal and mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if mask is not None and mask.dtype not in (bool_, float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {mask.dtype.c_name} and  query.dtype: {query.dtype.c_name} instead."
        )


@lower_precision_fp
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value (torch.nn.functional).

    (..., L, E), (..., S, E) and (..., S, V) give (..., L, V). A boolean mask is true for the
    positions to attend to; a mask of floats is added to the scores. With `enable_gqa` each head of
    key and value serves an equal number of the query's heads. Raises RuntimeError for a mask with
    `is_causal`, for sizes that do not fit, and where no kernel is allowed (`takes_flash`).
    """
    _check_operands(query, key, value, attn_mask, is_causal)
    if all(tensor._raw.ndim == 3 for tensor in (query, key, value)):
        query, key, value = (tensor.unsqueeze(0) for tensor in (query, key, value))
        while attn_mask is not None and attn_mask.dim() < 4:
            attn_mask = attn_mask.unsqueeze(0)
        return scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
        ).squeeze(0)
    operands = (query, key, value)
    # Without a width all scores are zero, and the result is the mean of the values.
    if 0 in (*query._raw.shape[:-1], *key._raw.shape[:-1], *value._raw.shape):
        zeros = query.new_zeros((*query._raw.shape[:-1], value._raw.shape[-1]))
        nothing = query.sum() + key.sum() + value.sum()
        return zeros + tensor_ops.mul_scalar(nothing, 0)
    if takes_flash(*operands, attn_mask, dropout_p, enable_gqa):
        if dropout_p != 0:  # negative, or not a number
            raise RuntimeError(
                "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0"
            )
        mask = _added_mask(attn_mask, query)
        return flash_attention(*operands, dropout_p, is_causal, mask, scale)[0]
    return _composed(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
