"""The functions of ATen that compute losses: their defaults, and arguments without derivatives.

Those of `torch.nn.functional` call these (`impl.nn.loss`, `impl.nn.loss_margin`).
"""

from __future__ import annotations

from impl.core.registry import NATIVE
from impl.core.state import STATE
from impl.dispatch.batching_rules import RULES
from impl.dispatch.definition import function, native
from impl.dispatch.not_implemented import refuse_gradient
from impl.operators.losses import losses, losses_binary, losses_margin
from impl.operators.losses.losses import NONE
from impl.tensor.tensor import Tensor

NATIVE["mse_loss"] = losses.mse_loss.call


@native()
def smooth_l1_loss(input, target, reduction, beta) -> Tensor:
    """Quadratic below `beta`, linear above. Raises RuntimeError for a negative beta."""
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return losses.smooth_l1_loss(input, target, reduction, float(beta))


@native()
def huber_loss(input, target, reduction, delta) -> Tensor:
    """Quadratic up to `delta`, linear beyond. Raises RuntimeError for delta <= 0."""
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return losses.huber_loss(input, target, reduction, delta)


@native()
def binary_cross_entropy(input, target, weight, reduction) -> Tensor:
    """The cross entropy of probabilities, with logarithms of at least -100.

    Raises RuntimeError for elements outside [0, 1].
    """
    refuse_gradient("binary_cross_entropy", "weight", weight, (input, target, weight))
    return losses_binary.binary_cross_entropy(input, target, weight, reduction)


@function(method=False)
def binary_cross_entropy_with_logits(
    input, target, weight=None, pos_weight=None, reduction=NONE
) -> Tensor:
    """The cross entropy of sigmoid(input), without overflow
    (torch.binary_cross_entropy_with_logits)."""
    if STATE.transforms:
        return losses_binary.logits_in_transforms(input, target, weight, pos_weight, reduction)
    operands = input, target, weight, pos_weight
    refuse_gradient("binary_cross_entropy_with_logits", "weight", weight, operands)
    refuse_gradient("binary_cross_entropy_with_logits", "pos_weight", pos_weight, operands)
    return losses_binary.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, reduction
    )


@native()
def soft_margin_loss(input, target, reduction) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1, reduced."""
    refuse_gradient("soft_margin_loss", "target", target, (input, target))
    return losses_margin.soft_margin_loss(input, target, reduction)


@native()
def multi_margin_loss(input, target, p, margin, weight, reduction) -> Tensor:
    """The mean over the other classes of max(0, margin - score of the target + score) ** p,
    reduced."""
    refuse_gradient("multi_margin_loss", "weight", weight, (input, target, weight))
    return losses_margin.multi_margin_loss(input, target, p, margin, weight, reduction)


@native()
@RULES["composed_fallback"]
def multilabel_margin_loss(input, target, reduction) -> Tensor:
    """The mean of max(0, 1 - score of a target + score) over targets and other classes, reduced."""
    return losses_margin.multilabel_margin_loss_forward(input, target, reduction)[0]
