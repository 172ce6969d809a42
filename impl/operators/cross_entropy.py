"""Cross entropy: of class numbers, in one go where they look usual, and of probabilities."""

from __future__ import annotations

import functools
import math

import numpy as np

from impl.autocast import raised
from impl.dtypes import FLOATING
from impl.graph import edge_node, meta_of, next_sequence
from impl.modes import STATE
from impl.operator import TAPED, new
from impl.operators.losses import MEAN, SUM
from impl.operators.losses_nll import (
    are_plain,
    likelihood,
    nll_loss_forward,
    of_plain,
    reduction_of,
)
from impl.operators.softmax import log_softmax, log_softmax_along, logarithms
from impl.saved import save
from impl.storage import Storage
from impl.tensor import Tensor, common, requires_grad


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """`nll_loss` of the log-softmax over the classes; or, when `target` has the input's shape and
    holds probabilities, their cross entropy (torch.nn.functional.cross_entropy).

    `label_smoothing` mixes the target with the uniform distribution. Errors as `nll_loss`.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if STATE.autocast is not None:
        input, target, weight = raised(input, target, weight)
    if input._raw.shape == target._raw.shape:
        if target.dtype.category < FLOATING:
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got "
                + target.dtype.legacy
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _of_probabilities(input, target, weight, reduction, label_smoothing)
    dim = 0 if input._raw.ndim == 1 else 1
    if label_smoothing > 0:
        _check_smoothing(label_smoothing)
        return _smoothed(input, target, weight, reduction, ignore_index, label_smoothing)
    if weight is None and reduction != "none":
        loss = _at_once(input, target, reduction == "mean", ignore_index)
        if loss is not None:
            return loss
    return likelihood(log_softmax(input, dim), target, weight, reduction, ignore_index)


@functools.cache
def _plans():
    """What the two nodes save and run, of which `_at_once` knows the order."""
    plans = log_softmax_along.plan(1, True), nll_loss_forward.plan(1, True)
    assert plans[0].names == ["dim", "result"]
    names = ["ignore_index", "reduction", "self", "target", "weight", "total_weight"]
    assert plans[1].names == names
    return plans


def _at_once(input: Tensor, target: Tensor, mean: bool, ignore_index: int) -> Tensor | None:
    """The log-softmax of rows of floats, and the loss of their classes, all of which count: one
    function for both and for their nodes (see `impl.operators.linear`). None for anything else."""
    path = STATE.path
    look = input._common or common(input)
    if path is None or look is None or type(target) is not Tensor or target._strides is not None:
        return None
    rows, classes = input._raw, target._raw
    if not are_plain(rows, classes, None, ignore_index) or len(rows) != len(classes):
        return None
    before = edge_node(input) if path else None
    if before is None and path and requires_grad(input):
        return None
    found = logarithms(rows, 1)
    reduction = MEAN if mean else SUM
    raw, count = of_plain(found, classes, reduction)
    result = new(raw)
    if before is None:
        return result
    middle = new(found)
    first, last = _plans()
    middle._node = node = log_softmax_along.node_class()
    node._plan, node._run, node._only, node._meta = first, first.straight, before, look
    if input._nr:
        node._numbers = (input._nr,)
    middle._memory = memory = Storage(found)
    node._kept = (1, memory)
    node._sequence = next_sequence()
    result._node = following = nll_loss_forward.node_class()
    following._plan, following._run, following._only = last, last.straight, node
    following._kept = (ignore_index, reduction, middle, save(target), None, new(count))
    following._sequence = next_sequence()
    following._meta = meta_of(raw)
    return result


def _check_smoothing(label_smoothing) -> None:
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _along_classes(weight, ndim: int):
    if ndim <= 1:
        return weight
    return TAPED.view(weight, (1, weight._raw.shape[0], *(1,) * (ndim - 2)))


def _of_probabilities(input, target, weight, reduction, label_smoothing):
    dim = 0 if input._raw.ndim == 1 else 1
    classes = input._raw.shape[dim]
    if weight is not None and weight._raw.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {[*weight._raw.shape]}"
        )
    likelihoods = log_softmax(input, dim)
    if label_smoothing > 0:
        _check_smoothing(label_smoothing)
        target = TAPED.add_scalar(
            TAPED.mul_scalar(target, 1 - label_smoothing), label_smoothing / classes
        )
    terms = likelihoods * target
    if weight is not None:
        terms = terms * _along_classes(weight, input._raw.ndim)
    if reduction == "none":
        return -terms.sum((dim,))
    total = terms.sum()
    if reduction == "sum":
        return -total
    if not input._raw.size:
        return -total.fill_(math.nan)
    return TAPED.div_scalar(-total, input._raw.size // classes)


def _smoothed(input, target, weight, reduction, ignore_index, label_smoothing):
    dim = 0 if input._raw.ndim == 1 else 1
    likelihoods = log_softmax(input, dim)
    first = likelihood(likelihoods, target, weight, reduction, ignore_index)
    classes = input._raw.shape[dim]
    if weight is None:
        uniform = -likelihoods.sum((dim,))
    else:
        uniform = -(likelihoods * _along_classes(weight, input._raw.ndim)).sum((dim,))
    ignored = np.asarray(target._raw == ignore_index)
    uniform.masked_fill_(new(ignored), 0.0)
    if reduction != "none":
        uniform = uniform.sum()
    if reduction == "mean":
        if weight is None:
            count = new(np.int64(np.count_nonzero(~ignored)))
        else:
            chosen = np.asarray(target._raw)[~ignored]
            count = new(weight._raw[chosen].sum(dtype=weight._raw.dtype))
        uniform = uniform / count
    # Of two terms torch evaluates the right one first, which the second derivative shows.
    uniform = TAPED.mul_scalar(uniform, label_smoothing / classes)
    return TAPED.mul_scalar(first, 1 - label_smoothing) + uniform
