"""Sorting and selection by rank: sort, topk, kthvalue, median, mode, cummax and cummin.

Each returns the indices it chose, and the gradient goes to those. Among equal elements torch
promises an index only for `sort(stable=True)`; the others take those of its algorithms
(`impl.kernels.selection`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.dtypes import int64
from impl.core.inference_mode import refuses
from impl.dispatch.definition import Array, function, operator, written
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import refuse_bool, refuse_complex
from impl.dispatch.out import (
    check_same,
    named_out,
    store,
    store_exactly,
    typed_out,
    warn_resized,
)
from impl.kernels import introsort, selection
from impl.operators.reductions.extrema import (
    changes_of_rank,
    copies_single,
    evenly,
    first_nan_or,
    indexed,
    read_at,
    read_evenly,
    select,
    selected,
    sharing_by_row,
    to_index,
)
from impl.tensor import memory_overlap
from impl.tensor.allocation import copied_layout
from impl.tensor.tensor import Tensor
from impl.tensor.write import resize


def _comparable(array):
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _along(choose, array, dim: int, *arguments):
    """The places along `dim` that a function of rows chooses."""
    rows = np.moveaxis(_comparable(array), dim, -1)
    return np.moveaxis(choose(rows, *arguments), -1, dim)


def _sorted(self, dim, descending, choose):
    array = np.asarray(self)
    dim = wrap_dim(dim, array.ndim)
    if array.ndim == 0:
        return array[()].copy(), np.int64(0)
    order = _along(choose, array, dim, descending)
    return np.take_along_axis(array, order, dim), order


def _define_sort(name: str, node: str):
    def kernel(self: Array, dim, descending, stable=False) -> Array:
        choose = selection.stable_order if stable else selection.in_order
        return _sorted(self, dim, descending, choose)

    kernel.__name__ = name
    outputs = ("values", "indices")
    text = " Sort does not support complex dtypes on CPU"
    refused = NoComplex(text=text, error=TypeError, after_dims=True)
    facts: dict[str, Any] = {"complex": refused, "writes": 1, "copies": 0}
    settings = {**facts, "function": False, "method": False, "fresh": True}
    op = operator(node=node, outputs=outputs, batching="dims", **settings)(kernel)
    op.laid_out_as(copied_layout)
    return op


sort_default = _define_sort("sort_default", "SortBackward0")
sort_stable = _define_sort("sort_stable", "SortBackward1")


@operator(
    node="TopkBackward0",
    outputs=("values", "indices"),
    function=False,
    method=False,
    writes=lambda args: not args[0]._raw.ndim,
    copies=copies_single,
    batching="dims",
)
def topk_dim(self: Array, k, dim, largest, sorted=True) -> Array:
    array = np.asarray(self)
    dim = wrap_dim(dim, array.ndim)
    size = array.shape[dim] if array.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError("selected index k out of range")
    if array.dtype.kind == "c":
        raise TypeError(" topk does not support complex dtypes on CPU")
    if array.dtype.kind == "b":
        raise NotImplementedError("topk does not support bool dtypes on CPU")
    if array.ndim == 0:
        return array[()].copy(), np.int64(0)
    order = np.ascontiguousarray(_along(selection.largest, array, dim, k, largest, sorted))
    return np.take_along_axis(array, order, dim), order.astype(np.int64)


def _to_places(F, grad, dim, indices, self_shape):
    return to_index(F, grad, dim, indices, self_shape, True)


written(_to_places, times=2)
for _op in (sort_default, sort_stable, topk_dim):
    _op.differentiable("values").gradient(self=_to_places)
for _op in (sort_default, sort_stable):
    _op.forward(values=lambda F, self_t, dim, indices: read_at(F, self_t, dim, indices, True))
topk_dim.forward(values=lambda F, self_t, dim, indices: F.gather(self_t, dim, indices))

Sorted, Largest = indexed("sort"), indexed("topk")
_UNSTATED = object()


def _apart(out, input, *rest, **named) -> None:
    """Raise RuntimeError for values that share memory in part with the input, which is copied to
    them."""
    if isinstance(out, (tuple, list)) and isinstance(out[0], Tensor):
        memory_overlap.check_memory(out[0], (input,))


@function(out=True, storing=store_exactly, derived=(0,), before=_apart)
def sort(input, dim=-1, descending=False, *, stable=_UNSTATED):
    """The elements in order along `dim`, with their indices (torch.sort).

    `stable` chooses the overload, whatever its value.
    """
    if stable is _UNSTATED:
        return Sorted(sort_default(input, dim, descending))
    return Sorted(sort_stable(input, dim, descending, stable))


@function(out="sort", storing=store_exactly, batching="by_example")
def argsort(input, dim=-1, descending=False, stable=False):
    """The indices that sort along `dim` (torch.argsort)."""
    source = input if input._inference else input.detach()
    return sort_stable(source, dim, descending, stable)[1]


@function(out="sort", storing=store_exactly)
def msort(input):
    """Sorted along the first dimension (torch.msort)."""
    return sort_default(input, 0, False)[0]


@function(out=True, storing=store_exactly, derived=(0,))
def topk(input, k, dim=-1, largest=True, sorted=True):
    """The k largest (or smallest) elements along `dim`, in order (torch.topk)."""
    return Largest(topk_dim(input, int(k), dim, largest, sorted))


# -- one element by rank ----------------------------------------------------------------------


def _check_rank(k: int, array, dim: int) -> int:
    """The dimension counted from the front. Raises IndexError where it has no elements,
    RuntimeError for a rank out of range."""
    dim = wrap_dim(dim, array.ndim)
    size = array.shape[dim] if array.ndim else 1
    if array.ndim and size == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= size:
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    return dim


@operator(
    node="KthvalueBackward0",
    outputs=("values", "indices"),
    function=False,
    method=False,
    writes=1,
    complex=NoComplex(derivative="kthvalue"),
    batching="dims",
)
def kthvalue_dim(self: Array, k, dim, keepdim) -> Array:
    array = np.asarray(self)
    dim = _check_rank(k, array, dim)
    if array.ndim == 0:
        return array[()].copy(), np.int64(0)
    refuse_bool(array, "kthvalue_cpu")
    refuse_complex(array, "kthvalue_cpu")
    index = selection.kth(np.moveaxis(_comparable(array), dim, -1), k - 1)
    return select(array, np.asarray(index), dim, keepdim)


kthvalue_dim.composes(refuses("kthvalue"))


def _median(flat, skip_nan: bool):
    """The lower median. NaN if any element is, or if none is left."""
    real = flat.dtype.kind in "fV"
    nan = np.isnan(flat) if real else np.zeros(flat.shape, bool)
    if flat.size == 0:
        if real:
            return flat.dtype.type(np.nan)
        wide = np.int64 if flat.dtype.itemsize == 8 else np.int32
        return np.asarray(np.iinfo(wide).min).astype(flat.dtype)[()]  # NaN as C converts it
    if nan.any() and not (skip_nan and not nan.all()):
        return flat[nan.argmax()].copy()
    rest = flat[~nan]
    return np.sort(_comparable(rest), kind="stable")[(rest.size - 1) // 2].astype(flat.dtype)


@cache
def _selected_of_equals(size: int) -> int:
    """Which of equal elements a selection of the first by partition (C++'s std::nth_element) leaves
    in the first place: torch's choice where there is nothing but NaN."""
    order, end = [*range(size)], size
    while end > 3:
        order[0], order[end // 2] = order[end // 2], order[0]
        order[1:end] = order[end - 1 : 0 : -1]
        end = (end + 1) // 2
    return order[0]


def _median_along(self, dim, keepdim, skip_nan: bool):
    array = np.asarray(self)
    dim = wrap_dim(dim, array.ndim)
    if array.ndim == 0:
        return array[()].copy(), np.int64(0)
    size = array.shape[dim]
    if size == 0:
        raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
    order = np.argsort(_comparable(array), axis=dim, kind="stable")
    if skip_nan and array.dtype.kind in "fV":
        # NaN sort last: the lower median of the rest is at a rank that differs by row.
        count = size - np.isnan(array).sum(dim, keepdims=True)
        rank = np.maximum(count - 1, 0) // 2
        index = np.take_along_axis(order, rank, dim)
        index = np.where(count, index, _selected_of_equals(size)).squeeze(dim)
    else:
        index = np.take(order, (size - 1) // 2, axis=dim)
        index = first_nan_or(array, dim, index)
    return select(array, np.asarray(index), dim, keepdim)


def _define_median(name: str, skip_nan: bool, words: str) -> None:
    """Define and publish `median` or `nanmedian`, of all elements and along a dimension."""

    def of_all(self: Array) -> Array:
        refuse_bool(self, "median_cpu")
        return _median(np.asarray(self).reshape(-1), skip_nan)

    def along(self: Array, dim, keepdim) -> Array:
        refuse_bool(self, "median_out")
        return _median_along(self, dim, keepdim, skip_nan)

    of_all.__name__, along.__name__ = f"{name}_all", f"{name}_dim"
    node = f"{name.capitalize()}Backward"
    hidden: dict[str, Any] = {"function": False, "method": False}
    all_op = operator(node=f"{node}0", complex=NoComplex("median_cpu"), **hidden)(of_all)
    all_op.gradient(self=evenly).forward(read_evenly)
    outputs = ("values", "indices")
    hidden |= {"complex": NoComplex("median_out"), "batching": "dims"}
    dim_op = operator(node=f"{node}1", outputs=outputs, writes=1, **hidden)(along)
    dim_op.composes(refuses(name))
    dim_op.differentiable("values").gradient(self=selected).forward(values=read_at)

    def of_rows(rows):
        return dim_op(rows, 1, False)[0] if rows._raw.shape[1] else NotImplemented

    sharing_by_row(all_op, of_rows)
    pair = indexed(name)

    def median(input, dim=None, keepdim=False):
        return all_op(input) if dim is None else pair(dim_op(input, dim, keepdim))

    median.__doc__ = f"The lower median{words} (torch.{name})."
    wrong = (
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but "
        "type {3} does not equal {2} (while checking arguments for median)",
        "Expected tensor for argument #1 'indices' to have scalar type {0.legacy}; but got "
        "{3} instead (while checking arguments for median)",
    )

    def check_outputs(out, input, dim=-1, keepdim=False) -> None:
        place = wrap_dim(dim, input._raw.ndim)
        if 0 in input._raw.shape[place : place + 1]:
            text = f"median(): Expected reduction dim {place} to have non-zero size."
            raise IndexError(text)
        check_same(wrong[1], out[1], int64)
        check_same(wrong[0], out[0], input.dtype)

    function(name, out=True, before=check_outputs, derived=(0,))(median)


_define_median("median", False, "; without `dim` its gradient is shared by ties")
_define_median("nanmedian", True, " of what is not NaN")


def _writes_of_mode(args) -> int:
    """The third and later dimensions are only taken away."""
    self, dim, _ = args
    ndim = self._raw.ndim
    return changes_of_rank(args) // (1 + (wrap_dim(dim, ndim) > 1)) if ndim else 2


@operator(
    node="ModeBackward0",
    outputs=("values", "indices"),
    function=False,
    method=False,
    writes=_writes_of_mode,
    copies=copies_single,
    complex=NoComplex(derivative="mode"),
    batching="dims",
)
def mode_dim(self: Array, dim, keepdim) -> Array:
    array = np.asarray(self)
    dim = wrap_dim(dim, array.ndim)
    if array.ndim == 0:
        return array[()].copy(), np.int64(0)
    if array.shape[dim] == 0:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    if not array.size:
        index = np.empty((*array.shape[:dim], *array.shape[dim + 1 :]), np.int64)
    else:
        refuse_complex(array, "mode_cpu")
        index = np.apply_along_axis(_mode_index, dim, _comparable(array))
    return select(array, index, dim, keepdim)


mode_dim.copied_by = "fill_tensor_inplace"


def _mode_index(row) -> int:
    """The last of the places of the most frequent value, the smallest of several, in the order that
    sorting leaves them in; NaN is never equal to NaN, and stays where it is met."""
    values = row.tolist()
    order = [*range(len(values))]
    introsort.sort(order, lambda a, b: values[a] < values[b], 0, len(order))
    chosen = most = count = 0
    for place, after in zip(order, [*order[1:], None], strict=True):
        count += 1
        if after is None or values[place] != values[after]:
            if count > most:
                chosen, most = place, count
            count = 0
    return chosen


for _op in (kthvalue_dim, mode_dim):
    _op.differentiable("values").gradient(self=selected).forward(values=read_at)

Ranked, Mode = indexed("kthvalue"), indexed("mode")


def _fit_ranked(out, input: Tensor, dim: int, keepdim: bool) -> None:
    """Resize both of `out=` to the result's shape with the dimension kept, as ATen does before it
    removes that (_allocate_or_resize_output_with_indices); only where the kernel fails is it seen.

    Raises RuntimeError for one of another dtype.
    """
    ndim = input._raw.ndim
    place = wrap_dim(dim, ndim)
    shape = tuple(1 if d == place else n for d, n in enumerate(input._raw.shape))
    texts = (
        "output values must be of same type as input",
        "output indices must be of scalar type Long",
    )
    for one, expected, text in zip(out, (input.dtype, int64), texts, strict=True):
        check_same(text, one, expected)
        before = one._raw.shape
        if not keepdim and len(before) == ndim - 1:
            before = (*before[:place], 1, *before[place:])
        if before == shape:
            continue
        if one._raw.size:
            warn_resized(before, shape)
        resize(one, shape)


@function()
@named_out("kthvalue", outputs=(0,))
def kthvalue(input, k, dim=-1, keepdim=False, *, out=None):
    """The k-th smallest element along `dim` and its index, k counted from 1 (torch.kthvalue)."""
    for tensor in out or ():
        memory_overlap.check_disjoint(tensor, input)
    if out is None:
        return Ranked(kthvalue_dim(input, int(k), dim, keepdim))
    _check_rank(int(k), input._raw, dim)
    _fit_ranked(out, input, dim, keepdim)
    return _store_ranked("kthvalue", out, Ranked(kthvalue_dim(input, int(k), dim, keepdim)))


def _store_ranked(name: str, out, result):
    """Store values and indices in `out=`, both of which have got their dimension too many."""
    for one, value in zip(out, result, strict=True):
        resize(one, value._raw.shape)
    return store(name, out, result)


_WRONG_MODE = "expected scalar type '{0.legacy}' but got '{1.legacy}' for "


@function(
    out=True,
    before=typed_out(_WRONG_MODE + "values output", _WRONG_MODE + "indices output"),
    derived=(0,),
)
def mode(input, dim=-1, keepdim=False):
    """The most frequent value along `dim`, the smallest of several (torch.mode)."""
    return Mode(mode_dim(input, dim, keepdim))


# -- running extrema --------------------------------------------------------------------------


def _running(name: str, self, dim, better):
    array = np.asarray(self)
    if not array.ndim and dim not in (-1, 0):
        raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
    dim = wrap_dim(dim, array.ndim)
    if array.ndim == 0:
        return array[()].copy(), np.int64(0)
    if array.size:
        refuse_complex(array, f"{name}_cpu")
    rows = np.moveaxis(_comparable(array), dim, 0)
    index = np.zeros(rows.shape, np.int64)
    if rows.shape[0]:
        best, at = rows[0].copy(), np.zeros(rows.shape[1:], np.int64)
        for i in range(1, rows.shape[0]):
            takes = np.isnan(rows[i]) | (better(rows[i], best) & ~np.isnan(best))
            best = np.where(takes, rows[i], best)
            at = np.where(takes, i, at)
            index[i] = at
    index = np.ascontiguousarray(np.moveaxis(index, 0, dim))
    return np.take_along_axis(array, index, dim), index


def _running_backward(F, grad, self, indices, dim):
    if not F.numel(self):
        return self
    return F.scatter_add(F.new_zeros(grad, self.shape), dim, indices, grad)


written(_running_backward, times=lambda arrived, made: 2 if 0 not in made.shape else 0)


def _define_running(name: str, better, words: str) -> None:
    """Define and publish `cummax` or `cummin`."""

    def kernel(self: Array, dim) -> Array:
        return _running(name, self, dim, better)

    kernel.__name__ = f"{name}_dim"
    node, outputs = f"{name.capitalize()}Backward0", ("values", "indices")
    facts: dict[str, Any] = {"complex": NoComplex(derivative=name), "writes": 1}
    facts["batching"] = "dims"
    op = operator(node=node, outputs=outputs, function=False, method=False, **facts)(kernel)
    op.composes(refuses(name))
    op.differentiable("values").gradient(self=_running_backward)
    op.forward(values=lambda F, self_t, dim, indices: F.gather(self_t, dim, indices))

    pair = indexed(name)

    def running(input, dim):
        return pair(op(input, dim))

    running.__doc__ = (
        f"The running {words} and where it is; an equal later element takes over (torch.{name})."
    )
    wrong = "expected scalar_type {0.legacy} but found {1.legacy}"
    function(name, out=True, before=typed_out(wrong, wrong), derived=(0,))(running)


_define_running("cummax", np.greater_equal, "maximum")
_define_running("cummin", np.less_equal, "minimum")
