"""Losses of `torch.nn.functional` with margins, likelihoods and distances."""

from __future__ import annotations

import math
from collections.abc import Callable

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.nn.loss import reduced
from impl.nn.reduction import get_enum, number_of, string_of
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor


@overridable("input", "target")
def soft_margin_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1, reduced
    (torch.nn.functional.soft_margin_loss).

    Raises ValueError for an unknown reduction, RuntimeError for a target that does not broadcast
    to the input.
    """
    number = number_of(reduction, size_average, reduce)
    return C.soft_margin_loss(input, target, number)


@overridable("input", "target", "weight")
def multi_margin_loss(
    input,
    target,
    p: int = 1,
    margin: float = 1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the other classes of max(0, margin - score of the target + score) ** p, for
    scores (N, C) and int64 targets (N,); reduced (torch.nn.functional.multi_margin_loss).

    Raises ValueError for p other than 1 and 2, RuntimeError for other shapes and classes.
    """
    number = number_of(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return C.multi_margin_loss(input, target, p, margin, weight, number)


@overridable("input", "target")
def multilabel_margin_loss(
    input, target, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The mean of max(0, 1 - score of a target + score) over targets and other classes, for scores
    (N, C) and targets (N, C), which list classes until the first -1; reduced
    (torch.nn.functional.multilabel_margin_loss).

    Raises RuntimeError for other shapes and classes.
    """
    number = number_of(reduction, size_average, reduce)
    return C.multilabel_margin_loss(input, target, number)


@overridable("input", "target", "weight")
def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The binary cross entropy of each class, averaged over the classes (the last dimension), then
    reduced (torch.nn.functional.multilabel_soft_margin_loss)."""
    reduction = string_of(reduction, size_average, reduce)
    loss = -(target * C.log_sigmoid(input) + (1 - target) * C.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    last = input.dim() - 1
    classes = input.size(last)
    loss = loss.sum(dim=last) / classes
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return reduced(loss, reduction)


@overridable("input1", "input2", "target")
def margin_ranking_loss(
    input1,
    input2,
    target,
    margin: float = 0,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin - target * (input1 - input2)), reduced
    (torch.nn.functional.margin_ranking_loss).

    Raises RuntimeError for different numbers of dimensions.
    """
    number = number_of(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return C.margin_ranking_loss(input1, input2, target, margin, number)


@overridable("input", "target")
def hinge_embedding_loss(
    input, target, margin: float = 1.0, size_average=None, reduce=None, reduction: str = "mean"
) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1, reduced
    (torch.nn.functional.hinge_embedding_loss)."""
    number = number_of(reduction, size_average, reduce)
    return C.hinge_embedding_loss(input, target, margin, number)


@overridable("input1", "input2", "target")
def cosine_embedding_loss(
    input1,
    input2,
    target,
    margin: float = 0,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, reduced
    (torch.nn.functional.cosine_embedding_loss)."""
    number = number_of(reduction, size_average, reduce)
    return C.cosine_embedding_loss(input1, input2, target, margin, number)


@overridable("input", "target")
def poisson_nll_loss(
    input,
    target,
    log_input: bool = True,
    full: bool = False,
    size_average=None,
    eps: float = 1e-8,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of Poisson counts, reduced
    (torch.nn.functional.poisson_nll_loss)."""
    reduction = string_of(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return C.poisson_nll_loss(input, target, log_input, full, eps, get_enum(reduction))


@overridable("input", "target", "var")
def gaussian_nll_loss(
    input, target, var, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of a normal distribution with mean `input` and variance `var`, at
    least `eps`, reduced (torch.nn.functional.gaussian_nll_loss).

    `var` is a number, or of the input's shape, or has one number for each row. Raises ValueError
    for other shapes and for negative variances.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * C.ones_like(input)
    elif C.any(var < 0):
        raise ValueError("var has negative entry/entries")
    shape, own = input.size(), var.size()
    if own != shape:
        if shape[:-1] == own:
            var = C.unsqueeze(var, -1)
        elif (
            input.ndim != var.ndim or sum(m for n, m in zip(shape, own, strict=True) if n != m) != 1
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (C.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


@overridable("anchor", "positive", "negative")
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average=None,
    reduce=None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + |anchor - positive| - |anchor - negative|) in the norm of order p, reduced
    (torch.nn.functional.triplet_margin_loss).

    Raises ValueError unless the margin is positive.
    """
    number = number_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return C.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


@overridable("anchor", "positive", "negative")
def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function: Callable | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance function, by default the Euclidean
    (torch.nn.functional.triplet_margin_with_distance_loss)."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = anchor.ndim, positive.ndim, negative.ndim
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative "
            f"{ranks[2]}D inputs"
        )
    distance = C.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = C.minimum(far, distance(positive, negative))
    return reduced(C.clamp_min(margin + near - far, 0), reduction)


@overridable("log_probs", "targets", "input_lengths", "target_lengths")
def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log-likelihood of label sequences, given the log-probabilities (T, N, C) of the
    classes at each time step, reduced (torch.nn.functional.ctc_loss)."""
    return C.ctc_loss(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        get_enum(reduction),
        zero_infinity,
    )
