"""Quantiles by interpolation between values by rank: `quantile`, `nanquantile`."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.dtypes import float32, float64, int64
from impl.core.registry import tensor_ops
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import function
from impl.dispatch.out import copy_out, fit
from impl.kernels.selection import selected
from impl.operators.copies.cat_stack import broadcast_tensors
from impl.operators.indexing.index_operators import from_scalar
from impl.tensor.tensor import Tensor, new

_ROUNDED: dict[str, str] = {"lower": "floor_", "higher": "ceil_", "nearest": "round_"}
_MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def _check(input: Tensor, q: Tensor, interpolation: str) -> None:
    if interpolation not in _MODES:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if not input._raw.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q._raw.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input.dtype not in (float32, float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")


def _rows(input: Tensor, dim, kept: tuple[int, ...]) -> Tensor:
    """The values along a new last dimension, behind the dimensions `kept`."""
    if dim is None:
        values = input.flatten()
    elif dim == input._raw.ndim - 1:
        values = input
    else:
        values = input.unsqueeze(-1).transpose(dim, -1)
    return tensor_ops.reshape(values, (*kept, values._raw.shape[-1]))


def _ranks(q: Tensor, values: Tensor, skip_nan: bool) -> Tensor:
    """The ranks of the quantiles among the sorted values, fractional; NaN is sorted last."""
    nan = tensor_ops.isnan(values)
    q = q.to(float64)
    if skip_nan:
        ranks = q * (nan.logical_not_().sum(-1, True) - 1)
        return ranks.masked_fill_(ranks < 0, 0)
    last = values._raw.shape[-1] - 1
    ranks, mask = broadcast_tensors([tensor_ops.mul_scalar(q, last), nan.any(-1, True)])
    return ranks.masked_fill(mask, last)


def _at_ranks(values: Tensor, *ranks: Tensor) -> list[Tensor]:
    """The values of each of several sets of ranks; few are selected, many read from a sorted copy.

    Which of equal values is chosen, and gets the gradient, depends on that.
    """
    every = np.concatenate([r._raw for r in ranks], -1)
    if every.shape[-1] ** 2 > values._raw.shape[-1]:
        values = values.sort()[0]
        return [tensor_ops.gather(values, -1, r) for r in ranks]
    values = values.contiguous()
    places = np.split(selected(values._raw, every), len(ranks), -1)
    return [tensor_ops.gather(values, -1, new(p)) for p in places]


@fp32
def _quantile(
    skip_nan: bool, input: Tensor, q, dim, keepdim: bool, interpolation: str, out=None
) -> Tensor:
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = from_scalar(float(q), input)
    _check(input, q, interpolation)
    if out is not None and out.dtype is not input.dtype:
        raise RuntimeError("quantile() out tensor must be same dtype as the input tensor")
    shape = input._raw.shape
    if dim is not None:
        dim = wrap_dim(dim, len(shape))
    rest: tuple[Any, ...] = ()
    if dim is not None and shape:
        rest = (*shape[:dim], *((1,) if keepdim else ()), *shape[dim + 1 :])
    elif keepdim:
        rest = (1,) * len(shape)
    if out is not None:
        fit(out, (*q._raw.shape, *rest))
    raw = np.asarray(q._raw)
    if not ((raw >= 0) & (raw <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    values = _rows(input, dim, rest)
    ranks = _ranks(q, values, skip_nan)
    if interpolation in _ROUNDED:
        getattr(ranks, _ROUNDED[interpolation])()
        (chosen,) = _at_ranks(values, ranks.to(int64))
    else:
        below = ranks.to(int64)
        middle = interpolation == "midpoint"
        weights = new(np.full_like(ranks._raw, 0.5)) if middle else ranks - below
        chosen, above = _at_ranks(values, below, ranks.ceil_().to(int64))
        chosen.lerp_(above, weights.to(input.dtype))
    if not q._raw.ndim:
        return chosen.squeeze_(-1)
    return chosen.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)


@function(batching="fallback")
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """The q-th quantiles, 0 <= q <= 1, of all elements or along `dim`; NaN if an element is NaN
    (torch.quantile).

    A 1-D `q` adds a first dimension to the result. Raises RuntimeError for dtypes other than
    float32 and float64, for an empty input, and for a `q` out of range.
    """
    result = _quantile(False, input, q, dim, keepdim, interpolation, out=out)
    return result if out is None else copy_out("quantile", out, result.contiguous())


@function(batching="fallback")
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """`quantile` of the elements that are not NaN (torch.nanquantile)."""
    result = _quantile(True, input, q, dim, keepdim, interpolation, out=out)
    return result if out is None else copy_out("nanquantile", out, result.contiguous())
