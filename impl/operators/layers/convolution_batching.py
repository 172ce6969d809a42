"""The batching rule of convolutions (ATen/functorch/BatchRulesConvolution.cpp).

Images that differ between examples are more images. Where weights differ, too, each example takes a
group of channels of its own; for the same images the weights of all examples make more channels.
"""

from __future__ import annotations

from impl.core.registry import FUNCTIONS
from impl.dispatch.vmap_rules import folded_into, fronted, hide_at, merged, unfolded
from impl.operators.layers.convolution import convolution
from impl.tensor.batched_tensor import is_at


@convolution.batches
def _of_batch(args, level):
    images, weight, bias, *rest = args
    if images._raw.ndim != weight._raw.ndim:
        return NotImplemented
    apart = bias is not None and (is_at(bias, level) or is_at(weight, level))
    within = None if apart else bias
    if is_at(images, level) and is_at(weight, level):
        result = _in_groups(images, weight, within, rest, level)
    elif is_at(weight, level):
        result = _of_weights(images, weight, within, rest, level)
    elif is_at(images, level):
        made = convolution(folded_into(images, 0), weight, within, *rest)
        result = hide_at(unfolded(made, 0, level.size), 0, level)
    else:
        result = convolution(images, weight, within, *rest)
    if not apart:
        return result
    for _ in range(images._raw.ndim - 2):
        bias = bias.unsqueeze(-1)
    return FUNCTIONS["add"](result, bias)


def _in_groups(images, weight, bias, rest, level):
    """Images and weights that both differ: the channels of each example are groups of their own."""
    *settings, transposed, output_padding, groups = rest
    made = convolution(
        folded_into(images, 1),
        folded_into(weight, 0),
        bias,
        *settings,
        transposed,
        output_padding,
        groups * level.size,
    )
    return hide_at(unfolded(made, 1, level.size), 1, level)


def _of_weights(images, weight, bias, rest, level):
    """Weights that differ, of the same images: the channels of all weights of each group."""
    transposed, groups = rest[-3], rest[-1]
    if groups == 1:
        made = convolution(images, folded_into(weight, int(transposed)), bias, *rest)
        return hide_at(unfolded(made, 1, level.size), 1, level)
    made = convolution(images, _by_group(weight, transposed, groups), bias, *rest)
    parts = unfolded(unfolded(made, 1, groups), 2, level.size)
    return hide_at(merged(parts, 1, 2), 1, level)


def _by_group(weight, transposed: bool, groups: int):
    """The weights of all examples, those of one group together."""
    if transposed:
        return folded_into(weight, 1)
    value = unfolded(fronted(weight, weight._level), 1, groups)
    return merged(merged(value, 0, 1), 0, 0)
