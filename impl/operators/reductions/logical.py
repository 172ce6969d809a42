"""Reductions of truth values: all, any, and the count of elements that are not zero."""

from __future__ import annotations

import numpy as np

from impl.core.dims import wrap_dims
from impl.core.dtypes import bool_, uint8
from impl.core.meta_functions import reduced
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.out import store


def _logical(reduction, raw, dim, keepdim):
    """A logical reduction: bool, but uint8 of uint8; unlike in a sum no dimension, (), is none."""
    dims = () if dim is not None and np.size(dim) == 0 else wrap_dims(dim, raw.ndim)
    result = reduction(np.asarray(raw).astype(bool), axis=dims, keepdims=keepdim)
    return result.astype(np.uint8) if raw.dtype == np.uint8 else result


def _check_out(name: str, out) -> None:
    """Raise RuntimeError for an `out=` that is neither bool nor uint8."""
    if out is not None and out.dtype not in (bool_, uint8):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.dtype.legacy}")


def _as_stored(input, out):
    """The input; in uint8, where ATen reduces in the dtype of an `out=`."""
    return input.detach().to(uint8) if out is not None and out.dtype is uint8 else input


@operator(function=False, method=False, writes=1, batching="dims")
def all_dim(self: Array, dim=None, keepdim=False) -> Array:
    return _logical(np.all, self, dim, keepdim)


@operator(function=False, method=False, writes=1, batching="dims")
def any_dim(self: Array, dim=None, keepdim=False) -> Array:
    return _logical(np.any, self, dim, keepdim)


@function("all")
def all_(input, dim=None, keepdim=False, *, out=None):
    """Whether every element is true (torch.all)."""
    _check_out("all", out)
    result = all_dim(_as_stored(input, out), dim, keepdim)
    return result if out is None else store("all", out, result)


@function("any")
def any_(input, dim=None, keepdim=False, *, out=None):
    """Whether some element is true (torch.any)."""
    _check_out("any", out)
    result = any_dim(_as_stored(input, out), dim, keepdim)
    return result if out is None else store("any", out, result)


@function()
def count_nonzero(input, dim=None):
    """How many elements differ from zero (torch.count_nonzero)."""
    return (input != 0).sum(dim)


for _op in (any_dim, all_dim):
    _op.on_large_meta(reduced(np.bool_))
