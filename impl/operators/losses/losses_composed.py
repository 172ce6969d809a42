"""Losses that ATen composes of other operators; their reductions are the numbers of ATen's enum."""

from __future__ import annotations

import math

import numpy as np

from impl.core import messages
from impl.core.dtypes import FLOATING, bool_, float64, get_default_dtype
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import function, native
from impl.kernels.casting import check_numbers, storable
from impl.operators.losses.losses import MEAN, NONE, SUM
from impl.operators.losses.similarity import pairwise_distance
from impl.tensor.tensor import Tensor, new

_TINY = 1e-12  # added to squared norms


def _reduced(values: Tensor, reduction: int) -> Tensor:
    if reduction == MEAN:
        return values.mean()
    return values.sum() if reduction == SUM else values


def _floating(values):
    """The values, integers in the default dtype: a floating number in a formula makes them so."""
    return values.to(get_default_dtype()) if values.dtype.category < FLOATING else values


def _plus(values, number):
    """A floating number added by ATen's overload for scalars."""
    return tensor_ops.add_scalar(_floating(values), float(number))


def _saved(condition, values):
    """The values where the condition holds, zeros elsewhere."""
    return tensor_ops.where(condition, values, tensor_ops.zeros_like(values))


@native()
@fp32
def l1_loss(input, target, reduction) -> Tensor:
    """|input - target|, reduced."""
    return _reduced((input - target).abs(), reduction)


@function(method=False, batching="composed_fallback")
@fp32
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=NONE) -> Tensor:
    """max(0, margin - target * (input1 - input2)), reduced (torch.margin_ranking_loss)."""
    difference = input1 - input2
    return _reduced(_plus(-target * difference, margin).clamp_min_(0), reduction)


@function(method=False)
@fp32
def hinge_embedding_loss(input, target, margin=1.0, reduction=NONE) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1, both where it is
    neither; reduced (torch.hinge_embedding_loss)."""
    if input.dtype is bool_:
        raise NotImplementedError(messages.SUBTRACT_BOOLS)
    # ATen fills a tensor of the input's dtype with the margin, so integers truncate it.
    whole = input.dtype.category < FLOATING
    number = storable(margin, input.dtype.numpy if whole else float64.numpy).item()
    check_numbers(input.dtype.numpy, number)
    limit = new(np.asarray(number).astype(input._raw.dtype))
    short = tensor_ops.sub(limit, input).clamp_min_(0)
    apart = _saved(target != 1, short)
    near = _saved(target != -1, input)
    return _reduced(apart + near, reduction)


@function(method=False)
@fp32
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=NONE) -> Tensor:
    """1 - cos of the angle where the target is 1, max(0, cos - margin) where it is -1, reduced.

    The inputs are (N, D) and the target (N,), or (D,) and (). Raises RuntimeError for other shapes
    (torch.cosine_embedding_loss).
    """
    rank = target._raw.ndim
    if rank > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1._raw.ndim != rank + 1 or input2._raw.ndim != rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes "
            f"{[*input1._raw.shape]} and {[*input2._raw.shape]}."
        )
    products = (input1 * input2).sum(rank)
    first = _plus((input1 * input1).sum(rank), _TINY)
    second = _plus((input2 * input2).sum(rank), _TINY)
    cosine = products / (first * second).sqrt_()
    near = _saved(target == 1, tensor_ops.sub(1, cosine))
    apart = _saved(target == -1, tensor_ops.sub_scalar(cosine, margin).clamp_min_(0))
    return _reduced(near + apart, reduction)


@function(method=False)
@fp32
def poisson_nll_loss(input, target, log_input, full, eps, reduction) -> Tensor:
    """Minus the log-likelihood of Poisson counts, of which the input is the mean or its logarithm;
    `full` adds Stirling's formula for log(target!) (torch.poisson_nll_loss)."""
    if log_input:
        product = target * input
        loss = input.exp() - product
    else:
        loss = input - target * _plus(input, eps).log()
    if full:
        half = tensor_ops.mul_scalar(
            tensor_ops.mul_scalar(_floating(target), 2 * math.pi).log(), 0.5
        )
        stirling = target * target.log() - target + half
        loss += stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, reduction)


@function(method=False, batching="composed_fallback")
@fp32
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=NONE
) -> Tensor:
    """max(0, margin + the distance of anchor and positive - that of anchor and negative), reduced;
    with `swap` the latter is no larger than that of positive and negative.

    Raises RuntimeError for different numbers of dimensions (torch.triplet_margin_loss).
    """
    check_triplet(anchor, positive, negative)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = tensor_ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    short = tensor_ops.clamp_min_number(tensor_ops.add_scalar(near, margin) - far, 0)
    return _reduced(short, reduction)


def check_triplet(anchor, positive, negative) -> None:
    """Raise RuntimeError unless the three tensors have the same number of dimensions."""
    ranks = [t._raw.ndim for t in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {ranks[0]}D, positive {ranks[1]}D, and negative "
            f"{ranks[2]}D inputs"
        )


@function(method=False, batching="composed_fallback")
@fp32
def kl_div(input, target, reduction=NONE, *, log_target=False):
    """Divergence of `target` from the distribution whose logarithm is `input`, element by element
    and then reduced; with `log_target` the target is a logarithm too (torch.kl_div).

    Raises RuntimeError for complex numbers.
    """
    if input.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if input.dtype.category < FLOATING or target.dtype.category < FLOATING:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        difference = target - input  # before the multiplication, as torch records it
        terms = target.exp() * difference
    else:
        cross = target * input
        terms = FUNCTIONS["xlogy"](target, target) - cross
    if reduction not in (MEAN, SUM):
        return terms
    return terms.mean() if reduction == MEAN else terms.sum()
