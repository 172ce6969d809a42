"""Cross entropy: of class indices, with a fused fast path, and of class probabilities."""

from __future__ import annotations

import functools
import math

from impl.core.dims import require_dims
from impl.core.dtypes import FLOATING
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.state import STATE
from impl.core.storage import Storage
from impl.dispatch import fused
from impl.dispatch.autocast import raised
from impl.dispatch.definition import native
from impl.operators.activations.softmax import log_softmax, log_softmax_along, logarithms
from impl.operators.losses.losses import MEAN, NONE, SUM
from impl.operators.losses.losses_nll import (
    are_plain,
    nll_loss_forward,
    nll_loss_nd,
    of_plain,
)
from impl.tensor.tensor import Tensor, dense_meta, new


@native()
def cross_entropy_loss(
    input, target, weight, reduction: int, ignore_index: int, label_smoothing: float
):
    """`nll_loss` of the log-softmax over the classes; or, when `target` has the input's shape and
    holds probabilities, their cross entropy.

    `label_smoothing` is the share of the uniform distribution mixed into the target. Errors as
    `nll_loss_nd`.
    """
    if STATE.autocast is not None:
        input, target, weight = raised(input, target, weight)
    if input._raw.shape == target._raw.shape:
        if target.dtype.category != FLOATING:
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
    if weight is None and reduction != NONE:
        loss = _fused(input, target, reduction, ignore_index)
        if loss is not None:
            return loss
    return nll_loss_nd(log_softmax(input, dim), target, weight, reduction, ignore_index)


@functools.cache
def _plans():
    """The plans of both nodes. The assertions check the order of saved values that `_fused`
    relies on."""
    plans = log_softmax_along.plan(1, True), nll_loss_forward.plan(1, True)
    assert plans[0].names == ["dim", "result"]
    names = ["ignore_index", "reduction", "self", "target", "weight", "total_weight"]
    assert plans[1].names == names
    return plans


def _fused(input: Tensor, target: Tensor, reduction: int, ignore_index: int) -> Tensor | None:
    """The fused log-softmax and loss of rows of floats, with the nodes of both operators (compare
    `impl.operators.products.linear`).

    None for inputs that need the slow path: `are_plain` is false, or fused recording is off.
    """
    path = STATE.fast_path
    meta = input._dense_meta or dense_meta(input)
    if path is None or meta is None or type(target) is not Tensor or target._strides is not None:
        return None
    rows, classes = input._raw, target._raw
    if rows.shape[:1] != classes.shape or not are_plain(rows, classes, None, ignore_index):
        return None
    before, connected = fused.connection(input) if path else (None, True)
    if not connected:
        return None
    found = logarithms(rows, 1)
    raw, count = of_plain(found, classes, reduction)
    result = new(raw)
    if before is None:
        return result
    middle = new(found)
    first, last = _plans()
    node, following = log_softmax_along.node_class(), nll_loss_forward.node_class()
    if input._nr:
        node._input_nrs = (input._nr,)
    middle._memory = memory = Storage(found)
    fused.record(middle, node, first, before, (1, memory), meta)
    saved = (ignore_index, reduction, middle, fused.save(target), None, new(count))
    fused.record(result, following, last, node, saved, fused.tensor_meta(raw))
    return result


def _check_smoothing(label_smoothing) -> None:
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _along_classes(weight, ndim: int):
    if ndim <= 1:
        return weight
    return tensor_ops.view(weight, (1, weight._raw.shape[0], *(1,) * (ndim - 2)))


def _of_probabilities(input, target, weight, reduction, label_smoothing):
    dim = 0 if input._raw.ndim == 1 else 1
    require_dims(dim, input._raw.ndim)
    classes = input._raw.shape[dim]
    if weight is not None and weight._raw.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {[*weight._raw.shape]}"
        )
    likelihoods = log_softmax(input, dim)
    if label_smoothing > 0:
        _check_smoothing(label_smoothing)
        target = tensor_ops.add_scalar(
            tensor_ops.mul_scalar(target, 1 - label_smoothing), label_smoothing / classes
        )
    terms = likelihoods * target
    if weight is not None:
        terms = terms * _along_classes(weight, input._raw.ndim)
    if reduction == NONE:
        return -terms.sum((dim,))
    total = terms.sum()
    if reduction == SUM:
        return -total
    if not input._raw.size:
        return -total.fill_(math.nan)
    return tensor_ops.div_scalar(-total, input._raw.size // classes)


def _smoothed(input, target, weight, reduction, ignore_index, label_smoothing):
    dim = 0 if input._raw.ndim == 1 else 1
    likelihoods = log_softmax(input, dim)
    first = nll_loss_nd(likelihoods, target, weight, reduction, ignore_index)
    classes = input._raw.shape[dim]
    if weight is None:
        uniform = -likelihoods.sum((dim,))
    else:
        uniform = -(likelihoods * _along_classes(weight, input._raw.ndim)).sum((dim,))
    ignored = FUNCTIONS["eq"](target, ignore_index)
    uniform.masked_fill_(ignored, 0.0)
    if reduction != NONE:
        uniform = uniform.sum()
    if reduction == MEAN:
        counted = ignored.logical_not()
        if weight is None:
            count = counted.sum()
        else:
            chosen = FUNCTIONS["masked_select"](target, counted)
            count = weight.detach()[chosen.long()].sum()
        uniform = uniform / count
    # torch evaluates the right term first, which is visible in the graph of the second derivative.
    uniform = tensor_ops.mul_scalar(uniform, label_smoothing / classes)
    return tensor_ops.mul_scalar(first, 1 - label_smoothing) + uniform
