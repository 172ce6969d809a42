"""The batching rule of `nll_loss`: its composition of `gather` and `where`
(ATen/functorch/BatchRulesLoss.cpp)."""

from __future__ import annotations

from impl.core.registry import FUNCTIONS
from impl.operators.losses.losses import MEAN, NONE
from impl.operators.losses.losses_nll import nll_loss2d_forward, nll_loss_forward


@nll_loss_forward.batches
@nll_loss2d_forward.batches
def _of_batch(args, level):
    input, target, weight, reduction, ignore_index = args
    dim = 1 if input._raw.ndim > 1 else 0
    if weight is not None:
        sizes = [1] * input._raw.ndim
        sizes[dim] = input._raw.shape[dim]
        weight = weight.view(sizes)
        input = input * weight
    counted = FUNCTIONS["ne"](target, ignore_index)
    classes = FUNCTIONS["where"](counted, target, 0).unsqueeze(dim)
    losses = -input.gather(dim, classes).squeeze(dim)
    losses = FUNCTIONS["where"](counted, losses, 0)
    if weight is None:
        total = counted.sum().to(input.dtype)
    else:
        shares = weight.expand(input._raw.shape).gather(dim, classes).squeeze(dim)
        total = FUNCTIONS["where"](counted, shares, 0).sum()
    if reduction == NONE:
        return losses, total
    return losses.sum() / total if reduction == MEAN else losses.sum(), total
