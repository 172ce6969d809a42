"""The batching rules of normalisations: the normalisation without parameters, which are applied
behind it (ATen/functorch/BatchRulesNorm.cpp)."""

from __future__ import annotations

from impl.dispatch.vmap_rules import (
    ensured,
    folded_into,
    fronted,
    hide,
    hide_at,
    merged,
    unfolded,
)
from impl.operators.layers.batch_norm import check_elements, native_batch_norm
from impl.operators.layers.group_norm import native_group_norm
from impl.operators.layers.layer_norm import native_layer_norm
from impl.tensor.batched_tensor import is_at

_UPDATED = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
    "updated in place, were not batched.\nIf you are using a module and do not need eval mode, "
    "please set `track_running_stats` to be False.If you are using a prebuilt module and do not "
    "need eval mode, please see the functorch website for resources on how to patch your module to "
    "work with vmap"
)


def _affine(result, weight, bias):
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


def _affine_of_size(size, result, weight, bias):
    """`_affine` with parameters of that size, in which the channels have their place."""
    return _affine(result, *(None if p is None else p.view(size) for p in (weight, bias)))


@native_layer_norm.batches
def _layer_norm_of_batch(args, level):
    input, normalized_shape, weight, bias, eps = args
    differ = is_at(weight, level) or is_at(bias, level)
    given = (None, None) if differ else (weight, bias)
    made = native_layer_norm(fronted(input, level), normalized_shape, *given, eps)
    result, mean, rstd = hide(made, level) if is_at(input, level) else made
    return _affine(result, weight, bias) if differ else result, mean, rstd


@native_group_norm.batches
def _group_norm_of_batch(args, level):
    input, weight, bias, count, channels, plane, groups, eps = args
    if is_at(input, level):
        settings = (count * level.size, channels, plane, groups, eps)
        made = native_group_norm(folded_into(input, 0), None, None, *settings)
        results = [hide_at(unfolded(part, 0, level.size), 0, level) for part in made]
    else:
        results = native_group_norm(input, None, None, count, channels, plane, groups, eps)
    size = (channels, *(1,) * (input._raw.ndim - 2))
    return _affine_of_size(size, results[0], weight, bias), *results[1:]


def _of_examples(statistic, level):
    """A statistic of the channels of all examples; one that is empty is so for each of them."""
    if statistic._raw.size:
        return hide(unfolded(statistic, 0, level.size), level)
    return hide(statistic.expand(level.size, *statistic._raw.shape), level)


@native_batch_norm.batches
def _batch_norm_of_batch(args, level):
    """The channels of all examples are those of one input, and come first behind it."""
    input, weight, bias, *statistics, training, momentum, eps = args
    settings = (training, momentum, eps)
    kept = [s for s in statistics if s is not None]
    if training and is_at(input, level) and not all(is_at(s, level) for s in kept):
        raise RuntimeError(_UPDATED)
    differ = any(is_at(value, level) for value in (input, *kept))
    if differ:
        given = merged(ensured(input, level), 0, 1)
        if training:
            check_elements(given._raw)
        flat = [None if s is None else ensured(s, level).flatten() for s in statistics]
        made = native_batch_norm(given, None, None, *flat, *settings)
        result = hide(unfolded(made[0].transpose(0, 1), 0, level.size), level)
        found = [_of_examples(s, level) for s in made[1:]]
    else:
        made = native_batch_norm(input, None, None, *statistics, *settings)
        result, found = made[0].transpose(0, 1), made[1:]
    size = (-1, *(1,) * (input._raw.ndim - 1))
    return _affine_of_size(size, result, weight, bias).transpose(0, 1), *found
