"""Embeddings of `torch.nn.functional`: rows of a table, and sums, means or maxima of them."""

from __future__ import annotations

from impl.core.dtypes import int64
from impl.core.registry import C
from impl.core.warning import warn
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor


def _renorm(weight, input, max_norm, norm_type) -> None:
    """Scale the rows that are looked up, in place and unrecorded."""
    C.embedding_renorm_(weight.detach(), input, max_norm, norm_type)


@overridable("input", "weight")
def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
) -> Tensor:
    """The rows of `weight` (n, d) with the indices in `input`, int64 or int32 of any shape.

    The row `padding_idx` gets no gradient; with `scale_grad_by_freq`, gradients are divided by how
    often a row was looked up; with `max_norm`, longer rows are scaled in place first. Raises
    IndexError for indices out of range, RuntimeError for other dtypes and ranks
    (torch.nn.functional.embedding).
    """
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx > 0:
        if padding_idx >= weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        if padding_idx < -weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx = weight.size(0) + padding_idx
    if max_norm is not None:
        input = input.contiguous()
        _renorm(weight, input, max_norm, norm_type)
    return C.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@overridable("input", "weight", "offsets", "per_sample_weights")
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
) -> Tensor:
    """The sums, means or maxima (bags, d) of rows of `weight` (n, d), by `mode`.

    The bags are the rows of a 2-D `input` of int64 or int32, or begin at the `offsets` into a 1-D
    one (of which, with `include_last_offset`, the last is the end). The row `padding_idx` does not
    count; `per_sample_weights` scale the rows of sums; for the others see `embedding`. Raises
    ValueError for other ranks and modes, RuntimeError for other dtypes, offsets and rows that are
    not there (torch.nn.functional.embedding_bag).
    """
    if weight.dtype == int64 and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
        )
        weight, input = input, weight
    input, offsets, per_sample_weights, include_last_offset = _flat(
        input, weight, offsets, per_sample_weights, include_last_offset
    )
    number = _mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    return C.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        number,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


def _mode(mode, scale_grad_by_freq, sparse) -> int:
    """ATen's number of a mode. Raises ValueError for another one, and for settings that its maxima
    do not support."""
    names = ("sum", "mean", "max")
    if mode not in names:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    return names.index(mode)


def _flat(input, weight, offsets, per_sample_weights, include_last_offset):
    """The arguments with the indices in one dimension."""
    given = per_sample_weights is not None
    if given and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        offsets = C.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        weights = per_sample_weights.reshape(-1) if given else None
        return input.reshape(-1), offsets, weights, False
    if input.dim() != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, per_sample_weights, include_last_offset
