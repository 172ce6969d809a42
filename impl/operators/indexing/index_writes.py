"""Writing slices by their indices along one dimension: index_add, index_copy, index_fill."""

from __future__ import annotations

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.dtypes import BY_NUMPY
from impl.core.indices import INDEX_DTYPES, check_along
from impl.core.meta_functions import like_first
from impl.core.registry import array_ops, tensor_ops
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.not_implemented import require_long
from impl.kernels.casting import storable
from impl.kernels.reduced_precision import add_at, add_each_at
from impl.operators.indexing.gathering import with_dims
from impl.operators.indexing.out_of_range import stopped
from impl.tensor.allocation import preserved
from impl.tensor.geometry import Geometry, check_bounds
from impl.tensor.tensor import Tensor, new


def _legacy(value) -> str:
    return BY_NUMPY[value.dtype].legacy


def slices(dim: int, index) -> tuple:
    """The indexing key of the slices along `dim` at `index`."""
    return (slice(None),) * dim + (index,)


def check_slices(name: str, self, dim, index, source) -> int:
    """The dimension counted from the front, after checking the slices of `source` against `self`.

    Raises IndexError for an index that is no vector, RuntimeError for its dtype and size, and for
    other shapes and dtypes of the source.
    """
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: "
            f"{index.ndim} with type: {_legacy(index)} and size: {list(index.shape)}"
        )
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index but got: {_legacy(index)}"
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"{name}(): self ({_legacy(self)}) and source ({_legacy(source)}) must have the "
            "same scalar type"
        )
    if dim and dim >= source.ndim:
        raise RuntimeError(
            f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim "
            f"{source.ndim}"
        )
    count = source.shape[dim] if source.ndim > dim else 1
    if index.size != count:
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim): ({count}), for dim: {dim}"
        )
    if _without(self.shape, dim) != _without(source.shape, dim) or self.ndim != source.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
        )
    return dim


@operator(
    inplace=True,
    out=True,
    writes=1,
    copies=0,
    numbers=False,
    memory=MemoryOverlap(disjoint="late", copied=True),
)
def index_add(self: Array, dim, index: Array, source: Array, *, alpha=1) -> Array:
    """A copy with alpha times the slices of `source` added at `index` (torch.index_add).

    Raises RuntimeError for an index out of range, IndexError for one in a vector, and RuntimeError
    for shapes or dtypes that do not fit.
    """
    dim = check_slices("index_add_", self, dim, index, source)
    result, values, places = np.array(with_dims(self)), with_dims(source), with_dims(index)
    if result.ndim > 1 and not result.size:  # torch looks at no index
        return result
    if alpha != 1:
        values = values * self.dtype.type(alpha)
    scatters = _scatters(self, dim, index, alpha)
    add = add_at if scatters else add_each_at
    try:
        if scatters:
            check_along(places, dim, result.shape[dim])
        else:
            check_in_self(places, result.shape[dim])
    except RuntimeError as error:
        known = np.where(places < 0, result.shape[dim], places)
        raise stopped(error, result, slices(dim, known), values, add)  # noqa: B904
    except IndexError as error:
        raise stopped_slices(error, result, dim, places, values, add)  # noqa: B904
    result = add(result, slices(dim, places), values)
    return result if self.ndim else result[0]


def _scatters(self, dim: int, index, alpha) -> bool:
    """Whether torch adds as scatter_add does, which is in the first and the last dimension; else it
    does so slice by slice, and to a vector element by element. Then half precision is rounded after
    each addition, not each sum."""
    outer = self.ndim > 1 and dim in (0, self.ndim - 1)
    return outer and alpha == 1 and index.dtype == np.int64


@index_add.composes
def _added_to_clone(self, dim, index, source, alpha):
    place = check_slices("index_add_", self._raw, dim, index._raw, source._raw)
    if not self._raw.size or not _scatters(self._raw, place, index._raw, alpha):
        return NotImplemented
    shape = [1] * self._raw.ndim
    shape[place] = -1
    return self.clone().scatter_add_(place, index.view(shape).expand(source._raw.shape), source)


def check_in_self(places, size: int) -> None:
    """Raise IndexError for an index out of range, without a number in the text."""
    if ((places < 0) | (places >= size)).any():
        raise IndexError("index out of range in self")


def stopped_slices(error: Exception, target, dim: int, places, values, write) -> Exception:
    """`stopped` for a write of one slice after the other; negative indices are out of range."""
    places = np.where(places < 0, target.shape[dim], places)
    target, values = np.moveaxis(target, dim, 0), np.moveaxis(values, dim, 0)
    error = stopped(error, target, (places,), values, write)
    error.written = np.moveaxis(error.written, 0, dim)  # type: ignore[attr-defined]
    return error


def _without(shape, dim: int) -> tuple[int, ...]:
    return tuple(n for d, n in enumerate(shape) if d != dim)


def _selected(F, grad, dim, index, source, source_dim):
    if source_dim:
        return F.expand(F.index_select(grad, dim, index), tuple(source.shape))
    return F.index_select(grad, dim, F.squeeze_dim(index, 0))


def _index_add_source(F, grad, dim, index, source, source_dim, alpha):
    picked = _selected(F, grad, dim, index, source, source_dim)
    return picked if alpha == 1 else F.mul_scalar(picked, alpha)


@index_add.structured
def _index_add_meta(self, dim, index, source, alpha):
    check_slices("index_add_", self, dim, index, source)
    return self.shape, self.dtype


index_add.gradient(self=lambda F, grad: grad, source=_index_add_source)
index_add.forward("linear")


@operator(
    inplace=True,
    out=True,
    autocast="promote",
    writes=1,
    copies=0,
    numbers=False,
    memory=MemoryOverlap(
        disjoint=True,
        copied=True,
        preceded=lambda self, dim, index, source: wrap_dim(dim, self.ndim),
    ),
)
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
    require_long("index_copy_", index)
    if self.dtype != source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{_legacy(self)} and (source) {_legacy(source)}"
        )
    slice_shape, other = _without(self.shape, dim), _without(source.shape, dim)
    if slice_shape != other:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, slice_shape))} at dimension {dim} and source slice "
            f"shape: {' '.join(map(str, other))} at dimension 0."
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
            error = IndexError(
                f"index_copy_(): index {i} is out of bounds for dimension {dim} with size {size}"
            )
            key = slices(dim, np.where(places < 0, size, places))
            raise stopped(error, result, key, values)
    result[slices(dim, places)] = values
    return result if self.ndim else result[0]


@index_copy.structured
def _index_copy_meta(self, dim, index, source):
    wrap_dim(dim, self.ndim)
    return self.shape, self.dtype


index_copy.gradient(
    self=lambda F, grad, dim, index: F.index_fill_scalar(grad, dim, index, 0),
    source=_selected,
)
index_copy.forward("reapplied")


def _check_index_of_fill(self, dim, index, value) -> None:
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")


_MEMORY_OF_FILL = MemoryOverlap(
    within=("index_fill_", "tensor[mask] = scalar"),
    disjoint=True,
    operands="second",
    preceded=_check_index_of_fill,
)


def _check_filled(self, dim, index, value) -> None:
    _check_index_of_fill(self, dim, index, value)
    if _loses_imaginary_part(self, value):
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )


def _loses_imaginary_part(self, value) -> bool:
    complex_value = value.dtype.kind == "c" if hasattr(value, "dtype") else type(value) is complex
    return complex_value and self.dtype.kind != "c"


def filled_at(self, dim, index, value):
    """A copy with the slices at `index` filled with a number (see `index_fill`)."""
    _check_filled(self, dim, index, value)
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    result = preserved(with_dims(self))
    places, size = with_dims(index), result.shape[dim]
    if not self.size:
        return result  # as in torch, which looks at no index where there is no element
    key, number = slices(dim, places), storable(value, self.dtype)
    for i in places.tolist():
        if not -size <= i < size:
            text = f"index {i} is out of bounds for dimension {dim} with size {size}"
            raise stopped(IndexError(text), result, key, number)
    result[key] = number
    return result if self.ndim else result[0]


@operator(
    function=False,
    method=False,
    node="IndexFillBackward0",
    fresh=True,
    numbers=False,
    memory=_MEMORY_OF_FILL,
)
def index_fill_scalar(self: Array, dim, index: Array, value) -> Array:
    return filled_at(self, dim, index, value)


@operator(
    function=False,
    method=False,
    node="IndexFillBackward1",
    fresh=True,
    numbers=False,
    memory=_MEMORY_OF_FILL,
)
def index_fill_tensor(self: Array, dim, index: Array, value: Array) -> Array:
    return filled_at(self, dim, index, np.asarray(value)[()])


def _distinct(F, grad, dim, index):
    return F.sum_all(F.index_select(grad, dim, F.distinct(index)))


array_ops.distinct = lambda index: np.unique(index)
tensor_ops.distinct = lambda index: new(np.unique(index._raw))


for _op in (index_fill_scalar, index_fill_tensor):
    _op.composes(lambda self, dim, index, value: self.clone().index_fill_(dim, index, value))
    _op.gradient(self=lambda F, grad, dim, index: F.index_fill_scalar(grad, dim, index, 0))
index_fill_tensor.gradient(value=_distinct)
index_fill_scalar.forward("reapplied", value=0)
index_fill_tensor.forward("reapplied")


def _check_restrided(self, dim, index) -> None:
    """Raise RuntimeError for indices into a dimension without elements, as torch does when it
    views the tensor with that dimension's size as many as there are indices."""
    shape, strides = [*self._raw.shape], [*self.stride()]
    if -len(shape) <= dim < len(shape) and not shape[dim] and index._raw.ndim < 2:
        shape[dim], strides[dim] = index._raw.size, 0
        check_bounds(self, Geometry(tuple(shape), tuple(strides), self._offset))


def _index_fill(call, self, dim, index, value):
    if isinstance(value, Tensor):
        op = index_fill_tensor
        if value._raw.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value._raw.ndim} dimension(s)."
            )
    else:
        op = index_fill_scalar
    number = value._raw if isinstance(value, Tensor) else value
    if index._raw.dtype == np.int64 and not _loses_imaginary_part(self._raw, number):
        _check_restrided(self, dim, index)
    return call(op)(self, dim, index, value)


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


index_add.on_large_meta(like_first)
