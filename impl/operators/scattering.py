"""Writing by index along one dimension: scatter, scatter_add, index_add, index_copy, index_fill."""

from __future__ import annotations

import warnings

import numpy as np

from impl.constants import preserved
from impl.dimensions import wrap_dim
from impl.dtypes import BY_NUMPY, COMPLEX, category_of_number
from impl.operator import RAW, TAPED, Array, function, operator
from impl.operators.gathering import INDEX_DTYPES, along, check_along, with_dims
from impl.tensor import Tensor


def add_at(target: np.ndarray, key, values) -> np.ndarray:
    """Add values to the places of `key`, one after the other where a place comes again."""
    if target.dtype.kind != "V":
        np.add.at(target, key, values)
        return target
    # NumPy's ufunc.at knows no extension types; float32 holds what bfloat16 holds.
    wide = target.astype(np.float32)
    np.add.at(wide, key, values.astype(np.float32))
    return wide.astype(target.dtype)


def _legacy(value) -> str:
    return BY_NUMPY[value.dtype].legacy


# -- an index per element ---------------------------------------------------------------------


def _check_scatter(self, dim: int, index, src=None) -> None:
    if index.size and index.dtype not in INDEX_DTYPES:
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return
    if max(self.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    places, target = with_dims(index), with_dims(self)
    source = None if src is None else with_dims(src)
    wrong = any(
        n > m for d, (n, m) in enumerate(zip(places.shape, target.shape, strict=True)) if d != dim
    )
    if source is not None:
        if max(index.ndim, 1) != max(src.ndim, 1):
            # ATen looks the sizes up before it compares the numbers of dimensions.
            if src.ndim and src.ndim < index.ndim and _fits(places, source, src.ndim):
                wrap_dim(src.ndim, src.ndim)
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        wrong = wrong or any(n > m for n, m in zip(places.shape, source.shape, strict=True))
    if wrong:
        text = (
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} "
            f"apart from dimension {dim}"
        )
        if src is not None:
            text += f" and to be no larger size than src {list(src.shape)}"
        raise RuntimeError(text)
    check_along(places, dim, target.shape[dim])


def _fits(places, source, ndim: int) -> bool:
    return all(places.shape[d] <= source.shape[d] for d in range(ndim))


def _scattered(self, dim, index, src, combine):
    dim = wrap_dim(dim, self.ndim)
    _check_scatter(self, dim, index, src if isinstance(src, (np.ndarray, np.generic)) else None)
    result = np.array(with_dims(self), order="C")
    if not index.size:
        return result if self.ndim else result[0]
    places = with_dims(index)
    if isinstance(src, (np.ndarray, np.generic)):
        src = with_dims(src)[tuple(slice(n) for n in places.shape)]
    else:
        src = np.array(src).astype(self.dtype)
    result = combine(result, along(dim, places), src)
    return result if self.ndim else result[0]


def _set(target, key, values):
    target[key] = values
    return target


def _multiply(target, key, values):
    np.multiply.at(target, key, values)
    return target


@operator(function=False, method=False, node="ScatterBackward0")
def scatter_src(self: Array, dim, index: Array, src: Array) -> Array:
    return _scattered(self, dim, index, src, _set)


@operator(function=False, method=False, node="ScatterBackward1")
def scatter_value(self: Array, dim, index: Array, value) -> Array:
    return _scattered(self, dim, index, value, _set)


scatter_src.gradient(
    self=lambda F, grad, dim, index: F.scatter_value(grad, dim, index, 0),
    src=lambda F, grad, dim, index: F.gather(grad, dim, index),
)
scatter_value.gradient(self=lambda F, grad, dim, index: F.scatter_value(grad, dim, index, 0))


def _reducing(name: str, aten: str, annotation: str):
    """scatter(reduce=...), which has no derivative: its node says so when it runs."""

    def kernel(self: Array, dim, index: Array, src, reduce) -> Array:
        return _scattered(self, dim, index, src, add_at if reduce == "add" else _multiply)

    def refuse(F, grad):
        raise RuntimeError(f"derivative for aten::{aten} is not implemented")

    kernel.__name__ = name
    kernel.__annotations__["src"] = annotation
    op = operator(function=False, method=False, node="NotImplemented")(kernel)
    op.gradient(self=refuse)
    if annotation == "Array":
        op.gradient(src=refuse)
    op.numbers = False
    return op


_reduce_src = {
    inplace_: _reducing(f"scatter{inplace_}_reduce_src", f"scatter{inplace_}", "Array")
    for inplace_ in ("", "_")
}
_reduce_value = {
    inplace_: _reducing(f"scatter{inplace_}_reduce_value", f"scatter{inplace_}", "number")
    for inplace_ in ("", "_")
}


def _scatter(suffix, self, dim, index, src, value, reduce):
    def call(op):
        return op.inplace if suffix else op

    source = value if src is None else src
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        if isinstance(source, Tensor):
            warnings.warn(
                "The reduce argument of torch.scatter with Tensor src is deprecated and will be "
                "removed in a future PyTorch release. Use torch.scatter_reduce instead for more "
                "reduction options.",
                UserWarning,
                stacklevel=3,
            )
            return call(_reduce_src[suffix])(self, dim, index, source, reduce)
        return call(_reduce_value[suffix])(self, dim, index, source, reduce)
    op = scatter_src if isinstance(source, Tensor) else scatter_value
    return call(op)(self, dim, index, source)


@function("scatter")
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy with `src` (a tensor or a number) written where `index` says along `dim`.

    Which of several sources for one place survives is unspecified. Raises RuntimeError for an
    index out of range, shapes that do not fit, and another dtype (torch.scatter).
    """
    return _scatter("", input, dim, index, src, value, reduce)


@function("scatter_", torch=False)
def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
    """`scatter` in place (torch.Tensor.scatter_)."""
    return _scatter("_", self, dim, index, src, value, reduce)


TAPED.scatter = scatter


def _raw_scatter(self, dim, index, src):
    return _scattered(self, dim, index, src, _set)


RAW.scatter = _raw_scatter


@operator(inplace=True)
def scatter_add(self: Array, dim, index: Array, src: Array) -> Array:
    """A copy with `src` added where `index` says along `dim` (torch.scatter_add).

    Raises RuntimeError for an index out of range, shapes that do not fit, and another dtype.
    """
    return _scattered(self, dim, index, src, add_at)


scatter_add.gradient(
    self=lambda F, grad: grad,
    src=lambda F, grad, dim, index: F.gather(grad, dim, index),
)


# -- an index per slice -----------------------------------------------------------------------


def _slices(dim: int, index) -> tuple:
    return (slice(None),) * dim + (index,)


@operator(inplace=True)
def index_add(self: Array, dim, index: Array, source: Array, *, alpha=1) -> Array:
    """A copy with alpha times the slices of `source` added at `index` (torch.index_add).

    Raises RuntimeError for an index out of range, and shapes or dtypes that do not fit.
    """
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(
            "index_add_(): Index is supposed to be a vector, but got dim: "
            f"{index.ndim} with type: {_legacy(index)} and size: {list(index.shape)}"
        )
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(
            f"index_add_(): Expected dtype int32/int64 for index but got: {_legacy(index)}"
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"index_add_(): self ({_legacy(self)}) and source ({_legacy(source)}) must have the "
            "same scalar type"
        )
    count = source.shape[dim] if source.ndim > dim else 1
    if index.size != count:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim): ({count}), for dim: {dim}"
        )
    if _without(self.shape, dim) != _without(source.shape, dim) or self.ndim != source.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
        )
    result, values, places = np.array(with_dims(self)), with_dims(source), with_dims(index)
    check_along(places, 0 if not self.ndim else dim, result.shape[dim])
    if alpha != 1:
        values = values * self.dtype.type(alpha)
    result = add_at(result, _slices(dim, places), values)
    return result if self.ndim else result[0]


def _without(shape, dim: int) -> tuple[int, ...]:
    return tuple(n for d, n in enumerate(shape) if d != dim)


def _selected(F, grad, dim, index, source):
    if source.ndim:
        return F.expand(F.index_select(grad, dim, index), tuple(source.shape))
    return F.index_select(grad, dim, F.squeeze_dim(index, 0))


def _index_add_source(F, grad, dim, index, source, alpha):
    picked = _selected(F, grad, dim, index, source)
    return picked if alpha == 1 else F.mul_scalar(picked, alpha)


index_add.gradient(self=lambda F, grad: grad, source=_index_add_source)


@operator(inplace=True)
def index_copy(self: Array, dim, index: Array, source: Array) -> Array:
    """A copy with the slices of `source` written at `index` along `dim` (torch.index_copy).

    Raises IndexError for an index out of range, RuntimeError for shapes that do not fit.
    """
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element (got "
            f"{index.size})"
        )
    if source.ndim != self.ndim and source.ndim and self.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality "
            f"must match. Source dimensionality ({source.ndim}), destination dimensionality "
            f"({self.ndim})"
        )
    if index.dtype != np.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {_legacy(index)}"
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{_legacy(self)} and (source) {_legacy(source)}"
        )
    slice_shape, other = _without(self.shape, dim), _without(source.shape, dim)
    if self.ndim and source.ndim and slice_shape != other:
        where = next(d for d, (a, b) in enumerate(zip(slice_shape, other, strict=True)) if a != b)
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, slice_shape))} at dimension {dim} and source slice "
            f"shape: {' '.join(map(str, other))} at dimension {0 if where is None else dim}."
        )
    count = source.shape[dim] if source.ndim else 1
    if index.size != count:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({count})"
        )
    result, values, places = np.array(with_dims(self)), with_dims(source), with_dims(index)
    size = result.shape[dim]
    for i in places.tolist():
        if not 0 <= i < size:
            raise IndexError(
                f"index_copy_(): index {i} is out of bounds for dimension {dim} with size {size}"
            )
    result[_slices(dim, places)] = values
    return result if self.ndim else result[0]


index_copy.gradient(
    self=lambda F, grad, dim, index: F.index_fill_scalar(grad, dim, index, 0),
    source=lambda F, grad, dim, index, source: _selected(F, grad, dim, index, source),
)


def _filled_at(self, dim, index, value):
    dim = wrap_dim(dim, self.ndim)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    result = preserved(with_dims(self))
    places, size = with_dims(index), result.shape[dim]
    for i in places.tolist():
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {size}")
    result[_slices(dim, places)] = value
    return result if self.ndim else result[0]


@operator(function=False, method=False, node="IndexFillBackward0", fresh=True)
def index_fill_scalar(self: Array, dim, index: Array, value) -> Array:
    return _filled_at(self, dim, index, value)


@operator(function=False, method=False, node="IndexFillBackward1", fresh=True)
def index_fill_tensor(self: Array, dim, index: Array, value: Array) -> Array:
    return _filled_at(self, dim, index, value.astype(self.dtype))


def _distinct(F, grad, dim, index):
    return F.sum_all(F.index_select(grad, dim, F.distinct(index)))


RAW.distinct = lambda index: np.unique(index)
TAPED.distinct = lambda index: _new(np.unique(index._raw))


def _new(raw) -> Tensor:
    from impl.operator import new

    return new(raw)


for _op in (index_fill_scalar, index_fill_tensor):
    _op.gradient(self=lambda F, grad, dim, index: F.index_fill_scalar(grad, dim, index, 0))
index_fill_tensor.gradient(value=_distinct)
for _op in (index_fill_scalar, index_fill_tensor):
    _op.overlaps = ("index_fill_", "tensor[mask] = scalar")
index_copy.disjoint = True
for _op in (scatter_src, scatter_value, scatter_add, index_add):
    _op.disjoint = "late"


def _index_fill(call, self, dim, index, value):
    if isinstance(value, Tensor):
        if value._raw.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value._raw.ndim} dimension(s)."
            )
        return call(index_fill_tensor)(self, dim, index, value)
    if category_of_number(value) == COMPLEX and not self.is_complex():
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    return call(index_fill_scalar)(self, dim, index, value)


@function("index_fill")
def index_fill(input, dim, index, value):
    """A copy with the slices at `index` filled with a number or 0-dim tensor (torch.index_fill).

    Negative indices count from the end. Raises IndexError out of range.
    """
    return _index_fill(lambda op: op, input, dim, index, value)


@function("index_fill_", torch=False)
def index_fill_(self, dim, index, value):
    """`index_fill` in place (torch.Tensor.index_fill_)."""
    return _index_fill(lambda op: op.inplace, self, dim, index, value)


TAPED.index_fill = index_fill
RAW.index_fill = _filled_at


for _op in (
    scatter_src,
    scatter_value,
    scatter_add,
    index_add,
    index_copy,
    index_fill_scalar,
    index_fill_tensor,
):
    _op.numbers = False
