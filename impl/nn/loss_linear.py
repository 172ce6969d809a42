"""The cross entropy of a linear layer's outputs."""

from __future__ import annotations

import math

from impl.operators.cross_entropy import cross_entropy
from impl.operators.linear import linear
from impl.tensor import Tensor


def _check(input, linear_weight, linear_bias) -> None:
    shape, weights = tuple(input._raw.shape), tuple(linear_weight._raw.shape)
    if len(shape) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(shape)}")
    if len(weights) < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {len(weights)}"
        )
    if shape[-1] != weights[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{shape[-1]} and {weights[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias._raw.shape) != weights[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {weights[:-1]}, got {tuple(linear_bias._raw.shape)}"
        )
    if len(weights) > 2 and len(shape) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {weights} requires batched input, "
            f"(N, {shape[-1]}), got unbatched input with shape {shape}"
        )


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`, for an input (D,) or (N, D)
    and weights (C, D) or (C, d1, ..., D), as torch composes it where no options ask for chunks
    (torch.nn.functional.linear_cross_entropy).

    Raises RuntimeError for sizes that do not fit, and for an `ignore_index` beside a target of
    probabilities; other errors as `linear` and `cross_entropy`.
    """
    _check(input, linear_weight, linear_bias)
    shape, weights = input._raw.shape, linear_weight._raw.shape
    logits_shape = (*shape[:-1], *weights[:-1])
    if tuple(target._raw.shape) == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if len(weights) > 2:
        rows = math.prod(weights[:-1])
        linear_weight = linear_weight.reshape(rows, weights[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(rows)
    return cross_entropy(
        linear(input, linear_weight, linear_bias).reshape(logits_shape),
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )
