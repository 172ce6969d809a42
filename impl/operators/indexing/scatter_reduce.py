"""Scatter with a reduction: scatter_reduce and index_reduce.

The gradient of a maximum or minimum is shared by all elements that attain it. The gradient of a
product with respect to a factor is the product of the other factors, also where that factor is
zero. Where several factors are zero, torch returns the first derivative, zero, and raises for the
second (scatter_reduce_backward).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.dtypes import BY_NUMPY
from impl.core.registry import array_ops
from impl.core.warning import warn_after_pass
from impl.dispatch.definition import Array, operator
from impl.dispatch.facts import MemoryOverlap, NoComplex, not_implemented
from impl.kernels.reduced_precision import add_at, combine_at
from impl.operators.indexing.gathering import with_dims
from impl.operators.indexing.index_writes import (
    check_in_self,
    check_slices,
    filled_at,
    slices,
    stopped_slices,
)
from impl.operators.indexing.out_of_range import set_at
from impl.operators.indexing.scattering import check_scatter, scatter_meta, scattered

_EXTREMA = {"amax": np.maximum, "amin": np.minimum}
_ALIASES = {"max": "amax", "min": "amin"}


# -- the reductions ---------------------------------------------------------------------------


def _identity(dtype: np.dtype, reduce: str):
    """The identity of a reduction, the number that stands first where `include_self` is false."""
    if reduce not in _EXTREMA:
        return int(reduce == "prod")
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -math.inf if reduce == "amax" else math.inf


def _reduced_at(target, key, values, reduce: str):
    """The target with values reduced into the positions of `key`: of a mean, the sum."""
    if reduce == "prod":
        return combine_at(np.multiply, target, key, values)
    if reduce in _EXTREMA:
        return combine_at(_EXTREMA[reduce], target, key, values)
    return add_at(target, key, values)


def _counted_at(target, key, values, include_self: bool):
    """The numbers of the elements of `target` among which a mean at `key` divides the sum."""
    counts = np.full(target.shape, int(include_self))
    np.add.at(counts, key, 1)
    return np.maximum(counts, 1)


def _divided(total, counts):
    if total.dtype.kind == "b":
        raise not_implemented("div_floor_cpu", BY_NUMPY[total.dtype])
    if total.dtype.kind in "iu":
        return total // counts.astype(total.dtype)
    return total / counts.astype(total.real.dtype)


def _check_kernel(value, reduce: str, kernel: str) -> None:
    kind = value.dtype.kind
    if (kind == "b" and reduce == "mean") or (kind == "c" and reduce in _EXTREMA):
        raise not_implemented(kernel, BY_NUMPY[value.dtype])


@operator(
    writes=2,
    inplace=True,
    out=True,
    complex=NoComplex(derivative="scatter_reduce"),
    numbers=False,
    layout_sensitive=True,
    memory=MemoryOverlap(disjoint="late", copied=True),
    batching="elements",
)
def scatter_reduce(
    self: Array, dim, index: Array, src: Array, reduce, *, include_self=True
) -> Array:
    """A copy with `src` reduced into the positions of `index` along `dim`, by "sum", "prod",
    "mean", "amax" or "amin", and with the values there unless `include_self` is false
    (torch.scatter_reduce).

    Raises RuntimeError for an index out of range, shapes that do not fit, and another dtype.
    """
    check_scatter(self, wrap_dim(dim, self.ndim), index, src)
    reduce = _ALIASES.get(reduce, reduce)
    if reduce not in ("sum", "prod", "mean", *_EXTREMA):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if not index.size:
        return _divided(self.copy(), np.array(1)) if reduce == "mean" else self.copy()
    _check_kernel(self, reduce, f"scatter_gather_tensor_cpu_reduce_{reduce}")
    if not include_self:
        self = scattered(self, dim, index, _identity(self.dtype, reduce), set_at)
    result = scattered(self, dim, index, src, functools.partial(_reduced_at, reduce=reduce))
    if reduce != "mean":
        return result
    count = functools.partial(_counted_at, include_self=include_self)
    return _divided(result, scattered(self, dim, index, src, count))


def _check_reduced(self, dim, index, source, reduce: str, include_self) -> int:
    """The dimension counted from the front. Raises RuntimeError for a name of no reduction of
    index_reduce, and as `check_slices` does."""
    if reduce not in ("prod", "mean", *_EXTREMA):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    return check_slices("index_reduce_", self, dim, index, source)


@operator(
    writes=1,
    copies=0,
    inplace=True,
    out=True,
    numbers=False,
    layout_sensitive=True,
    memory=MemoryOverlap(disjoint=True, copied=True, preceded=_check_reduced),
    batching="fallback",
)
def index_reduce(
    self: Array, dim, index: Array, source: Array, reduce, *, include_self=True
) -> Array:
    """A copy with slices of `source` reduced into the slices at a vector of indices along `dim`, by
    "prod", "mean", "amax" or "amin" (torch.Tensor.index_reduce_).

    Raises RuntimeError for another reduction, an index out of range, and shapes or dtypes that do
    not fit.
    """
    dim = _check_reduced(self, dim, index, source, reduce, include_self)
    text = "index_reduce() is in beta and the API may change at any time."
    warn_after_pass(text, once=text)
    if not include_self:
        if self.dtype.kind in "bc":
            raise not_implemented("index_reduce_func_exclude_input_init", BY_NUMPY[self.dtype])
        self = filled_at(self, dim, index.astype(np.int64), _identity(self.dtype, reduce))
    if self.ndim < 2 and self.dtype.kind in "bc":
        raise not_implemented("index_func_", BY_NUMPY[self.dtype])
    if self.dtype.kind == "c" and reduce in _EXTREMA:
        raise not_implemented(f"{_EXTREMA[reduce].__name__}_cpu", BY_NUMPY[self.dtype])
    result, places = np.array(with_dims(self)), with_dims(index)
    values = with_dims(source)
    write = functools.partial(_reduced_at, reduce=reduce)
    try:
        check_in_self(places, result.shape[dim])
    except IndexError as error:
        if not result.shape[dim] and self.ndim > 1:
            raise IndexError(  # noqa: B904
                f"select(): index 0 out of range for tensor of size {[*self.shape]} at dimension "
                f"{dim}"
            )
        if not result.size:
            raise
        raise stopped_slices(error, result, dim, places, values, write)  # noqa: B904
    key = slices(dim, places)
    total = write(result.copy(), key, values)
    if reduce == "mean":
        total = _divided(total, _counted_at(result, key, values, include_self))
    return total if self.ndim else total[0]


# -- derivatives ------------------------------------------------------------------------------


class _Places:
    """The reads and writes of an operator at its index, for the formula that both operators
    share."""

    def __init__(self, F, dim, index) -> None:
        self.F, self.dim, self.index = F, dim, index


class _Elements(_Places):
    name, source = "scatter_reduce", "src"

    def taken(self, value):
        return self.F.gather(value, self.dim, self.index)

    def added(self, value, source):
        return self.F.scatter_add(value, self.dim, self.index, source)

    def blanked(self, value):
        return self.F.scatter_value(value, self.dim, self.index, 0)

    def multiplied(self, value, source, include_self):
        return self.F.scatter_reduce(
            value, self.dim, self.index, source, "prod", include_self=include_self
        )


class _Slices(_Places):
    name, source = "index_reduce", "source"

    def taken(self, value):
        return self.F.index_select(value, self.dim, self.index)

    def added(self, value, source):
        return self.F.index_add(value, self.dim, self.index, source)

    def blanked(self, value):
        return self.F.index_fill_scalar(value, self.dim, self.index, 0)

    def multiplied(self, value, source, include_self):
        return self.F.index_reduce(
            value, self.dim, self.index, source, "prod", include_self=include_self
        )


def _gradients(F, places, grad, self, source, reduce: str, include_self: bool, result):
    if reduce == "sum":
        of_self, of_source = grad, places.taken(grad)
    elif reduce == "mean":
        counts = F.ones_like(grad) if include_self else F.zeros_like(grad)
        counts = places.added(counts, F.ones_like(source))
        counts = F.masked_fill(counts, counts == 0, 1)
        of_self, of_source = grad / counts, places.taken(grad) / places.taken(counts)
    elif reduce == "prod":
        of_self, of_source = _of_product(F, places, grad, self, source, include_self, result)
    else:
        chosen = self == result
        picked = source == places.taken(result)
        ties = places.added(F.cast_like(chosen, self), F.cast_like(picked, self))
        share = grad / ties
        of_self, of_source = chosen * share, picked * places.taken(share)
    return of_self if include_self else places.blanked(of_self), of_source


def _of_product(F, places, grad, self, source, include_self: bool, result):
    full = F.masked_fill(self, self == 0, 1)
    of_self = grad * places.multiplied(full, source, include_self) / full
    zero = source == 0
    count = places.taken(places.added(F.zeros_like(self), F.cast_like(zero, self)))
    only = F.bitwise_and(zero, count == 1)
    others = places.multiplied(self, F.masked_fill(source, only, 1), include_self)
    of_source = F.where(
        only,
        places.taken(grad * others),
        places.taken(grad * result) / F.masked_fill(source, zero, 1),
    )
    several = count > 1
    if F.count_zeros(several) < F.numel(several):
        of_source = F.delayed_error(
            of_source,
            f"{places.name}(): Double backward is unsupported for {places.source} when >1 zeros in "
            f"{places.source} are scattered to the same position in self",
        )
    return of_self, of_source


@operator(node="Error", function=False, method=False)
def delayed_error(self: Array, text) -> Array:
    """A copy of the value whose backward raises RuntimeError with `text` (torch's DelayedError)."""
    return self.copy()


def _raise(F, grad, text):
    raise RuntimeError(text)


delayed_error.gradient(self=_raise)
del array_ops.delayed_error  # the operator copies; the raw function need not
array_ops.delayed_error = lambda value, text: value


@scatter_reduce.gradients("self", "src")
def _scatter_gradients(F, grad, self, dim, index, src, reduce, include_self, result):
    places = _Elements(F, dim, index)
    return _gradients(F, places, grad, self, src, reduce, include_self, result)


@index_reduce.gradients("self", "source")
def _index_gradients(F, grad, self, dim, index, source, reduce, include_self, result):
    places = _Slices(F, dim, index)
    return _gradients(F, places, grad, self, source, reduce, include_self, result)


def _scatter_tangent(F, self_t, self, dim, index, src_t, src, reduce, include_self, result):
    """The tangent; None for a product, for which torch silently returns no tangent."""
    settings: dict[str, Any] = {"include_self": include_self}
    if reduce in ("sum", "mean"):
        return F.scatter_reduce(self_t, dim, index, src_t, reduce, **settings)
    if reduce == "prod":
        return None
    chosen, picked = self == result, src == F.gather(result, dim, index)
    ties = F.scatter_reduce(
        F.cast_like(chosen, self_t), dim, index, F.cast_like(picked, src_t), "sum", **settings
    )
    total = F.scatter_reduce(
        F.where(chosen, self_t, 0.0), dim, index, F.where(picked, src_t, 0.0), "sum", **settings
    )
    return total / ties


scatter_reduce.structured(scatter_meta)


@index_reduce.structured
def _index_reduce_meta(self, dim, index, source, reduce, include_self):
    _check_reduced(self, dim, index, source, reduce, include_self)
    return self.shape, self.dtype


scatter_reduce.forward(_scatter_tangent)
index_reduce.forward("unsupported", name="index_reduce", invited=True)
index_reduce.fast_path = None  # which may call the kernel twice, so that it warns twice
