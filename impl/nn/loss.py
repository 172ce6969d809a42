"""Losses of `torch.nn.functional` between predictions and targets: reductions and checks."""

from __future__ import annotations

import math
import warnings

from impl.core.registry import FUNCTIONS
from impl.dispatch.autocast import fp32
from impl.dispatch.not_implemented import refuse_gradient
from impl.operators.losses import losses, losses_binary, losses_composed
from impl.operators.losses.cross_entropy import cross_entropy
from impl.operators.losses.losses_nll import reduction_of
from impl.operators.products.linear import linear
from impl.tensor.tensor import Tensor

_REDUCTIONS = {"none": losses.NONE, "mean": losses.MEAN, "sum": losses.SUM}


def reduction_number(name: str, size_average=None, reduce=None) -> int:
    """ATen's number of a reduction, which the two deprecated flags override.

    Raises ValueError for an unknown name.
    """
    return _REDUCTIONS[reduction_of(name, size_average, reduce, stacklevel=4)]


def reduced(values, reduction: str) -> Tensor:
    """The values reduced by recorded operators. Raises ValueError for an unknown reduction."""
    if reduction == "none":
        return values
    if reduction == "mean":
        return values.mean()
    if reduction == "sum":
        return values.sum()
    raise ValueError(f"{reduction} is not valid")


def _same_size(input, target):
    """Both broadcast to their common shape, with a warning if the shapes differ."""
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            UserWarning,
            stacklevel=3,
        )
    return FUNCTIONS["broadcast_tensors"](input, target)


def mse_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None
) -> Tensor:
    """(input - target) ** 2, reduced; weighted by `weight` if given.

    Raises ValueError for an unknown reduction, RuntimeError for shapes that do not broadcast.
    """
    input, target = _same_size(input, target)
    if weight is not None:
        return _weighted((input - target) ** 2, input, weight, reduction)
    return losses.mse_loss(input, target, reduction_number(reduction, size_average, reduce))


def l1_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None
) -> Tensor:
    """|input - target|, reduced; composed of sub, abs and the reduction."""
    input, target = _same_size(input, target)
    if weight is not None:
        return _weighted((input - target).abs(), input, weight, reduction)
    return _composed_l1(input, target, reduction_of(reduction, size_average, reduce))


@fp32
def _composed_l1(input, target, reduction: str) -> Tensor:
    return reduced((input - target).abs(), reduction)


def _weighted(values, input, weight, reduction: str, by_weights: bool = True) -> Tensor:
    """The weighted values, reduced; their mean is their sum by that of the weights, or (of
    `huber_loss`) by their number.

    Raises ValueError for weights of another size, and for an unknown reduction.
    """
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    if reduction not in _REDUCTIONS:
        expected = "Expected one of 'none', 'mean', 'sum'"
        raise ValueError(f"Invalid reduction mode: {reduction}. {expected}.")
    values = values * weight
    if reduction == "mean" and by_weights:
        return values.sum() / weight.sum()
    return reduced(values, reduction)


def smooth_l1_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Quadratic below `beta`, linear above; `l1_loss` if beta is 0.

    Raises RuntimeError for a negative beta.
    """
    input, target = _same_size(input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if beta == 0.0:
        return _composed_l1(input, target, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return losses.smooth_l1_loss(input, target, _REDUCTIONS[reduction], float(beta))


def huber_loss(input, target, reduction: str = "mean", delta: float = 1.0, weight=None) -> Tensor:
    """Quadratic up to `delta`, linear beyond. Raises RuntimeError for delta <= 0."""
    input, target = _same_size(input, target)
    if weight is not None:
        values = huber_loss(input, target, reduction="none", delta=delta)
        return _weighted(values, input, weight, reduction, by_weights=False)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return losses.huber_loss(input, target, reduction_number(reduction), delta)


def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The cross entropy of probabilities, with logarithms of at least -100.

    Raises ValueError for different sizes, RuntimeError for elements outside [0, 1].
    """
    number = reduction_number(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    refuse_gradient("binary_cross_entropy", "weight", weight)
    return losses_binary.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input,
    target,
    weight=None,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
    pos_weight=None,
) -> Tensor:
    """The cross entropy of sigmoid(input), without overflow. ValueError for different sizes."""
    number = reduction_number(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    refuse_gradient("binary_cross_entropy_with_logits", "weight", weight)
    refuse_gradient("binary_cross_entropy_with_logits", "pos_weight", pos_weight)
    return losses_binary.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input,
    target,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of `target` from the distribution with the logarithm `input`,
    by element, reduced; "batchmean" divides the sum by the batch size
    (torch.nn.functional.kl_div)."""
    number = losses.SUM
    if reduction != "batchmean":
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support "
                "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
                "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
                "major release.",
                stacklevel=2,
            )
        number = reduction_number(reduction, size_average, reduce)
    result = losses_composed.kl_div(input, target, number, log_target=log_target)
    batches = reduction == "batchmean" and input.dim() != 0
    return result / input.size(0) if batches else result


def _check_linear(input, linear_weight, linear_bias) -> None:
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
    and weights (C, D) or (C, d1, ..., D); composed, as PyTorch does without options for chunking
    (torch.nn.functional.linear_cross_entropy).

    Raises RuntimeError for sizes that do not match, and for an `ignore_index` with a target of
    probabilities; other errors as `linear` and `cross_entropy`.
    """
    _check_linear(input, linear_weight, linear_bias)
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
