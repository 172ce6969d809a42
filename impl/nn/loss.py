"""Losses of `torch.nn.functional`: reductions by name, and the checks on sizes."""

from __future__ import annotations

import warnings

from impl.autocast import raises
from impl.operator import FUNCTIONS
from impl.operators import losses, losses_binary, losses_composed
from impl.operators.losses_nll import reduction_of
from impl.refusals import refuse_gradient
from impl.tensor import Tensor

_REDUCTIONS = {"none": losses.NONE, "mean": losses.MEAN, "sum": losses.SUM}


def reduction_number(name: str, size_average=None, reduce=None) -> int:
    """The reduction as ATen numbers it, from the two legacy flags if given.

    Raises ValueError if unknown.
    """
    return _REDUCTIONS[reduction_of(name, size_average, reduce, stacklevel=4)]


def _same_size(input, target):
    """Both expanded to their common shape, with a warning when they had to be."""
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
    return _composed_l1(input, target, reduction_number(reduction, size_average, reduce))


@raises
def _composed_l1(input, target, reduction: int) -> Tensor:
    distance = (input - target).abs()
    if reduction == losses.NONE:
        return distance
    return distance.mean() if reduction == losses.MEAN else distance.sum()


def _weighted(values, input, weight, reduction: str) -> Tensor:
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    values = values * weight
    if reduction == "none":
        return values
    if reduction == "sum":
        return values.sum()
    if reduction == "mean":
        return values.sum() / weight.sum()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def smooth_l1_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Squared below `beta`, absolute above; with beta 0 it is l1_loss.

    Raises RuntimeError for a negative beta.
    """
    input, target = _same_size(input, target)
    number = reduction_number(reduction, size_average, reduce)
    if beta == 0.0:
        return _composed_l1(input, target, number)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return losses.smooth_l1_loss(input, target, number, float(beta))


def huber_loss(input, target, reduction: str = "mean", delta: float = 1.0, weight=None) -> Tensor:
    """Squared up to `delta`, delta times absolute beyond. Raises RuntimeError for delta <= 0."""
    input, target = _same_size(input, target)
    if weight is not None:
        values = huber_loss(input, target, reduction="none", delta=delta)
        return _weighted(values, input, weight, reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return losses.huber_loss(input, target, reduction_number(reduction), delta)


def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """Cross entropy of probabilities, logarithms cut off at -100.

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
    """Cross entropy of sigmoid(input), without overflow. Raises ValueError for different sizes."""
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
    """Divergence of `target` from the distribution whose logarithm is `input`, term by term, then
    reduced; "batchmean" divides the sum by the batch (torch.nn.functional.kl_div)."""
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
    return result / input.size(0) if reduction == "batchmean" else result
