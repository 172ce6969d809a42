"""Losses of `torch.nn.functional` between predictions and targets."""

from __future__ import annotations

import math

from impl.core.registry import C
from impl.core.warning import warn
from impl.functional import broadcast_shapes
from impl.nn.reduction import get_enum, number_of, string_of
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor


def reduced(values, reduction: str) -> Tensor:
    """The values reduced by recorded operators; of an unknown reduction as they are."""
    if reduction == "mean":
        return values.mean()
    return C.sum(values) if reduction == "sum" else values


def _warn_of_size(input, target) -> None:
    if target.size() != input.size():
        warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
        )


@overridable("input", "target", "weight")
def mse_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None
) -> Tensor:
    """(input - target) ** 2, reduced; weighted by `weight` if given.

    Raises ValueError for an unknown reduction, RuntimeError for shapes that do not broadcast.
    """
    _warn_of_size(input, target)
    reduction = string_of(reduction, size_average, reduce)
    wide, aim = C.broadcast_tensors([input, target])
    if weight is None:
        return C.mse_loss(wide, aim, get_enum(reduction))
    _check_weight(weight, input)
    return _weighted(C.pow(wide - aim, 2), weight, reduction)


@overridable("input", "target", "weight")
def l1_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None
) -> Tensor:
    """|input - target|, reduced; composed of sub, abs and the reduction."""
    _warn_of_size(input, target)
    reduction = string_of(reduction, size_average, reduce)
    wide, aim = C.broadcast_tensors([input, target])
    if weight is None:
        return C.l1_loss(wide, aim, get_enum(reduction))
    _check_weight(weight, input)
    return _weighted(C.abs(wide - aim), weight, reduction)


def _check_weight(weight, input) -> None:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


def _weighted(values, weight, reduction: str, by_weights: bool = True) -> Tensor:
    """The weighted values, reduced; their mean is their sum by that of the weights, or (of
    `huber_loss`) by their number. Raises ValueError for an unknown reduction."""
    values = values * weight
    if reduction == "mean" and by_weights:
        return C.sum(values) / C.sum(weight)
    if reduction not in ("none", "mean", "sum"):
        expected = "Expected one of 'none', 'mean', 'sum'"
        raise ValueError(f"Invalid reduction mode: {reduction}. {expected}.")
    return reduced(values, reduction)


@overridable("input", "target")
def smooth_l1_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Quadratic below `beta`, linear above; `l1_loss` if beta is 0.

    Raises RuntimeError for a negative beta.
    """
    _warn_of_size(input, target)
    reduction = string_of(reduction, size_average, reduce)
    wide, aim = C.broadcast_tensors([input, target])
    if beta == 0.0:
        return C.l1_loss(wide, aim, get_enum(reduction))
    return C.smooth_l1_loss(wide, aim, get_enum(reduction), beta)


@overridable("input", "target", "weight")
def huber_loss(input, target, reduction: str = "mean", delta: float = 1.0, weight=None) -> Tensor:
    """Quadratic up to `delta`, linear beyond. Raises RuntimeError for delta <= 0."""
    _warn_of_size(input, target)
    wide, aim = C.broadcast_tensors([input, target])
    if weight is None:
        return C.huber_loss(wide, aim, get_enum(reduction), delta)
    _check_weight(weight, input)
    values = C.huber_loss(wide, aim, get_enum("none"), delta)
    return _weighted(values, weight, reduction, by_weights=False)


@overridable("input", "target", "weight")
def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The cross entropy of probabilities, with logarithms of at least -100.

    Raises ValueError for different sizes, RuntimeError for elements outside [0, 1].
    """
    number = number_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        size = broadcast_shapes(target.size(), weight.size())
        weight = weight.expand(size)
    return C.binary_cross_entropy(input, target, weight, number)


@overridable("input", "target", "weight", "pos_weight")
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
    number = number_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return C.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


@overridable("input", "target")
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
    flagged = size_average is not None or reduce is not None
    if reduction == "mean" and not flagged:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support "
            "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
        )
    by_batch = reduction == "batchmean"
    named = "sum" if by_batch else reduction
    result = C.kl_div(input, target, number_of(named, size_average, reduce), log_target=log_target)
    return result / input.size()[0] if by_batch and input.dim() != 0 else result


@overridable("input", "target", "weight")
def nll_loss(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
) -> Tensor:
    """Minus the log-probability of each target class, averaged, summed, or unreduced.

    `input` is (C,), (N, C) or (N, C, d1, ...), `target` the class numbers, int64 or uint8, without
    the class dimension; `weight` (C,) weighs classes. Raises ValueError when the batches differ,
    IndexError for a class that does not exist, RuntimeError for other shapes and dtypes
    (torch.nn.functional.nll_loss).
    """
    reduction = string_of(reduction, size_average, reduce)
    return C.nll_loss_nd(input, target, weight, get_enum(reduction), ignore_index)


@overridable("input", "target", "weight")
def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
) -> Tensor:
    """`nll_loss` of the log-softmax over the classes; or, when `target` has the input's shape and
    holds probabilities, their cross entropy (torch.nn.functional.cross_entropy).

    `label_smoothing` is the share of the uniform distribution mixed into the target. Errors as
    `nll_loss`.
    """
    reduction = string_of(reduction, size_average, reduce)
    return C.cross_entropy_loss(
        input, target, weight, get_enum(reduction), ignore_index, label_smoothing
    )


def _check_linear(input, linear_weight, linear_bias) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    shape, weights = tuple(input.shape), tuple(linear_weight.shape)
    if shape[-1] != weights[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{shape[-1]} and {weights[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != weights[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {weights[:-1]}, got {tuple(linear_bias.shape)}"
        )
    if len(weights) > 2 and len(shape) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {weights} requires batched input, "
            f"(N, {shape[-1]}), got unbatched input with shape {shape}"
        )


@overridable("input", "linear_weight", "target", "linear_bias", "weight")
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
    """`cross_entropy` of `C.linear(input, linear_weight, linear_bias)`, for an input (D,) or (N, D)
    and weights (C, D) or (C, d1, ..., D); composed, as PyTorch does without options for chunking
    (torch.nn.functional.linear_cross_entropy).

    Raises RuntimeError for sizes that do not match, and for an `ignore_index` with a target of
    probabilities; other errors as `linear` and `cross_entropy`.
    """
    _check_linear(input, linear_weight, linear_bias)
    shape, weights = input.shape, linear_weight.shape
    logits_shape = (*shape[:-1], *weights[:-1])
    if target.shape == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if len(weights) > 2:
        rows = math.prod(weights[:-1])
        linear_weight = linear_weight.reshape(rows, weights[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(rows)
    return cross_entropy(
        C.linear(input, linear_weight, linear_bias).reshape(logits_shape),
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )
