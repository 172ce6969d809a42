"""The rules of NumPy's functions for MetaArrays: the sizes, strides and dtypes of their results."""

from __future__ import annotations

import operator

import numpy as np

from impl.core.meta_arrays import (
    FUNCTIONS,
    MetaArray,
    axis_of,
    is_meta,
    like,
    reduced_shape,
    sample,
    strided_like,
)


def to_meta(value):
    """A result of a kernel as one of the meta device: its arrays as MetaArrays of their layout."""
    if isinstance(value, (tuple, list)):
        made = [to_meta(part) for part in value]
        return type(value)(made) if type(value) in (tuple, list) else type(value)(*made)
    if type(value) is np.ndarray and value.dtype != object:
        strides = value.strides if value.size else None  # of which NumPy keeps none then
        return MetaArray(value.shape, value.dtype, None, 0, strides)
    return MetaArray((), value.dtype) if isinstance(value, np.generic) else value


def like_first(first: MetaArray, *rest) -> MetaArray:
    """The result of an operator that has the sizes and the dtype of its first operand."""
    return MetaArray(first.shape, first.dtype)


def of_sizes(first: MetaArray, sizes, *rest) -> MetaArray:
    """The result of an operator that has the dtype of its first operand, and the sizes given."""
    return MetaArray(sizes, first.dtype)


def reduced(*dtypes):
    """A kernel for the meta device of a reduction over `dim`, or all of None, whose results have
    these dtypes, None for that of the operand."""

    def kernel(self, dim=None, keepdim=False, *rest):
        dims = dim if dim is None or isinstance(dim, int) else tuple(dim) or None
        shape = reduced_shape(self.shape, dims, keepdim)
        made = tuple(MetaArray(shape, self.dtype if d is None else d) for d in dtypes)
        return made if len(made) > 1 else made[0]

    return kernel


def rule(*functions):
    """Decorate the rule of NumPy's functions, which has their parameters."""

    def register(made):
        for function in functions:
            FUNCTIONS[function] = made
        return made

    return register


def _by_ufunc(ufunc):
    """The rule of a reduction by a ufunc."""

    def reduce(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
        return ufunc.reduce(a, axis, dtype, keepdims=keepdims is True)

    return reduce


rule(np.sum)(_by_ufunc(np.add))
rule(np.prod)(_by_ufunc(np.multiply))
rule(np.all)(lambda a, axis=None, out=None, keepdims=False: np.logical_and.reduce(a, axis))
rule(np.any)(lambda a, axis=None, out=None, keepdims=False: np.logical_or.reduce(a, axis))


def _extreme(ufunc):
    def reduce(a, axis=None, out=None, keepdims=False, initial=None, where=True):
        return ufunc.reduce(a, axis, keepdims=keepdims is True)

    return reduce


rule(np.max, np.amax)(_extreme(np.maximum))
rule(np.min, np.amin)(_extreme(np.minimum))
rule(np.cumsum)(lambda a, axis=None, dtype=None: np.add.accumulate(a, axis, dtype))
rule(np.cumprod)(lambda a, axis=None, dtype=None: np.multiply.accumulate(a, axis, dtype))
rule(np.shape)(lambda a: a.shape)
rule(np.ndim)(lambda a: a.ndim)
rule(np.size)(lambda a, axis=None: a.size if axis is None else a.shape[axis])
rule(np.reshape)(lambda a, shape, order="C", copy=None: a.reshape(shape, order=order))
rule(np.ravel)(lambda a, order="C": a.ravel(order))
rule(np.transpose)(lambda a, axes=None: a.transpose(axes))
rule(np.swapaxes)(lambda a, axis1, axis2: a.swapaxes(axis1, axis2))
rule(np.squeeze)(lambda a, axis=None: a.squeeze(axis))
rule(np.diagonal)(lambda a, offset=0, axis1=0, axis2=1: a.diagonal(offset, axis1, axis2))
rule(np.copy)(lambda a, order="K", subok=False: a.copy(order))
rule(np.real)(lambda a: a.real)
rule(np.imag)(lambda a: a.imag)
rule(np.iscomplexobj)(lambda a: a.dtype.kind == "c")


@rule(np.moveaxis)
def _moveaxis(a, source, destination):
    return a.shown(lambda array: np.moveaxis(array, source, destination))


@rule(np.expand_dims)
def _expand_dims(a, axis):
    return a.shown(lambda array: np.expand_dims(array, axis))


@rule(np.flip)
def _flip(a, axis=None):
    return a.shown(lambda array: np.flip(array, axis))


@rule(np.split, np.array_split)
def _split(a, indices_or_sections, axis=0):
    sizes = np.broadcast_to(np.empty((), np.uint8), a.shape)
    parts, start = [], 0
    for part in np.split(sizes, indices_or_sections, axis):
        stop = start + part.shape[axis]
        parts.append(a.swapaxes(0, axis)[start:stop].swapaxes(0, axis))
        start = stop
    return parts


@rule(np.broadcast_to)
def _broadcast_to(a, shape, subok=False):
    return a.shown(lambda array: np.broadcast_to(array, shape))


@rule(np.broadcast_arrays)
def _broadcast_arrays(*arrays, subok=False):
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(np.broadcast_to(a, shape) for a in arrays)


@rule(np.shares_memory, np.may_share_memory)
def _shares_memory(a, b, max_work=None):
    if not (is_meta(a) and is_meta(b)):
        return False
    return a.owner is b.owner and a.start < b.stop and b.start < a.stop


@rule(np.result_type)
def _result_type(*values):
    return np.result_type(*map(sample, values))


@rule(np.can_cast)
def _can_cast(value, to, casting="safe"):
    return np.can_cast(value.dtype, to, casting)


@rule(np.where)
def _where(condition, x, y):
    made = np.where(*map(sample, (condition, x, y)))
    operands = (condition, x, y)
    return strided_like(np.broadcast_shapes(*map(np.shape, operands)), made.dtype, operands)


@rule(np.clip)
def _clip(a, a_min=None, a_max=None, out=None, **settings):
    made = np.clip(sample(a), sample(a_min), sample(a_max), **settings)
    shape = np.broadcast_shapes(*(np.shape(v) for v in (a, a_min, a_max) if v is not None))
    return strided_like(shape, made.dtype, [a])


@rule(np.empty_like, np.zeros_like, np.ones_like)
def _empty_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return like(a, dtype, order, shape)


@rule(np.full_like)
def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return like(a, dtype, order, shape)


@rule(np.copyto)
def _copyto(dst, src, casting="same_kind", where=True):
    dst[...] = src


@rule(np.concatenate)
def _concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    first = arrays[0].shape
    axis = axis_of(axis, len(first))
    total = 0
    for array in arrays:
        if array.shape[:axis] + array.shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            raise ValueError("all the input array dimensions except for the axis must match")
        total += array.shape[axis]
    kind = np.result_type(*(a.dtype for a in arrays)) if dtype is None else dtype
    return MetaArray((*first[:axis], total, *first[axis + 1 :]), kind)


@rule(np.stack)
def _stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    first = np.shape(arrays[0])
    axis = axis_of(axis, len(first) + 1)
    if any(np.shape(a) != first for a in arrays):
        raise ValueError("all input arrays must have the same shape")
    kind = np.result_type(*map(sample, arrays)) if dtype is None else dtype
    return MetaArray((*first[:axis], len(arrays), *first[axis:]), kind)


@rule(np.argmax, np.argmin)
def _argmax(a, axis=None, out=None, *, keepdims=False):
    return MetaArray(reduced_shape(a.shape, axis, keepdims), np.int64)


@rule(np.take_along_axis)
def _take_along_axis(arr, indices, axis=-1):
    axis = axis_of(axis, arr.ndim)
    one = [1 if i == axis else n for i, n in enumerate(arr.shape)]
    return MetaArray(np.broadcast_shapes(one, np.shape(indices)), arr.dtype)


@rule(np.put_along_axis)
def _put_along_axis(arr, indices, values, axis):
    return None


@rule(np.take)
def _take(a, indices, axis=None, out=None, mode="raise"):
    if axis is None:
        return MetaArray(np.shape(indices), a.dtype)
    axis = axis_of(axis, a.ndim)
    return MetaArray((*a.shape[:axis], *np.shape(indices), *a.shape[axis + 1 :]), a.dtype)


@rule(np.sort, np.roll, np.tril, np.triu, np.nan_to_num, np.cbrt)
def _same(a, *args, **settings):
    return like(a, order="C")


@rule(np.argsort)
def _argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    return MetaArray(a.shape, np.int64)


@rule(np.isposinf, np.isneginf)
def _sign_test(x, out=None):
    return like(x, np.bool_)


@rule(np.repeat)
def _repeat(a, repeats, axis=None):
    if axis is None:
        return MetaArray((a.size * operator.index(repeats),), a.dtype)
    axis = axis_of(axis, a.ndim)
    count = a.shape[axis] * operator.index(repeats)
    return MetaArray((*a.shape[:axis], count, *a.shape[axis + 1 :]), a.dtype)


@rule(np.tile)
def _tile(A, reps):
    reps = (reps,) if np.isscalar(reps) else tuple(reps)
    shape = (1,) * (len(reps) - A.ndim) + A.shape
    reps = (1,) * (len(shape) - len(reps)) + reps
    return MetaArray([n * r for n, r in zip(shape, reps, strict=True)], A.dtype)


@rule(np.pad)
def _pad(array, pad_width, mode="constant", **settings):
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    return MetaArray([n + sum(w) for n, w in zip(array.shape, widths, strict=True)], array.dtype)


@rule(np.dot)
def _dot(a, b, out=None):
    if not np.ndim(a) or not np.ndim(b):
        return np.multiply(a, b)
    if np.ndim(b) < 3:
        return np.matmul(a, b)
    columns = (*b.shape[:-2], b.shape[-1])
    return MetaArray((*a.shape[:-1], *columns), np.result_type(a.dtype, b.dtype))


@rule(np.trace)
def _trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return a.diagonal(offset, axis1, axis2).sum(-1)


@rule(np.diff)
def _diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    axis = axis_of(axis, a.ndim)
    return MetaArray(
        [max(size - n, 0) if i == axis else size for i, size in enumerate(a.shape)], a.dtype
    )


def _method(function):
    """A method of arrays by NumPy's function of the same name."""
    return lambda self, *args, **settings: function(self, *args, **settings)


for _function in (
    *(np.sum, np.prod, np.all, np.any, np.max, np.min, np.cumsum, np.cumprod, np.argmax),
    *(np.argmin, np.take, np.repeat, np.dot, np.trace, np.clip, np.argsort),
):
    setattr(MetaArray, _function.__name__, _method(_function))
MetaArray.conj = MetaArray.conjugate = lambda self: np.conjugate(self)  # type: ignore[attr-defined]
MetaArray.sort = lambda self, *args, **settings: None  # type: ignore[attr-defined]
