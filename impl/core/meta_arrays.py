"""MetaArray: the array of a tensor on the meta device, sizes and strides over no memory.

Kernels and formulas are written with NumPy. A MetaArray takes part in NumPy's functions by their
protocols (`__array_ufunc__`, `__array_function__`), which here compute only the sizes, the strides
and the dtype of the result. So a kernel that looks at no element runs on one as it is, in a time
that does not depend on its size. Any function that looks at elements raises NeedsElements.

It is no ndarray, so that NumPy's C functions cannot read memory behind it, but an instance of it
for `isinstance`, as mocks are, because code that asks only for metadata need not tell them apart.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from impl.core.strides import contiguous_strides, extent, is_contiguous
from impl.core.tensor_iterator import elementwise_strides

# The address at which the memory of every MetaArray is said to begin; it is never read.
_START = 2**30


class NeedsElements(NotImplementedError):
    """The error where NumPy would read elements of a MetaArray, or has no rule for its function."""


class _Address:
    """Memory at an address, by the array interface; whatever is made of it must not be read."""

    def __init__(self, array: MetaArray) -> None:
        self.__array_interface__ = {
            "data": (_START + array.start, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.dtype.itemsize}",
            "version": 3,
        }


class _Flags:
    """The flags of a MetaArray that is contiguous in row-major order, or not."""

    writeable = True

    def __init__(self, array: MetaArray) -> None:
        self.c_contiguous = is_contiguous(array.shape, array.strides_in_elements)

    def __getitem__(self, name: str) -> bool:
        return getattr(self, name.lower())


class MetaArray(NDArrayOperatorsMixin):
    """An array without elements: `shape`, `dtype`, `strides` (in bytes), and `start` in its memory.

    The arguments are those of `np.ndarray`: `buffer` is the MetaArray whose memory it shows.
    """

    __slots__ = ("__weakref__", "base", "dtype", "shape", "start", "strides")

    def __init__(self, shape, dtype, buffer=None, offset: int = 0, strides=None) -> None:
        self.shape: tuple[int, ...] = tuple(map(int, shape))
        self.dtype = np.dtype(dtype)
        self.base = None if buffer is None else buffer.owner
        self.start: int = offset + (0 if buffer is None else buffer.start)
        if strides is None:
            size = self.dtype.itemsize
            strides = [s * size for s in contiguous_strides(self.shape)]
        self.strides: tuple[int, ...] = tuple(strides)

    @property  # type: ignore[misc]
    def __class__(self):
        return np.ndarray

    # -- metadata ---------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides_in_elements(self) -> tuple[int, ...]:
        """The strides in elements, as a tensor has them."""
        size = self.dtype.itemsize
        return tuple(s // size for s in self.strides)

    @property
    def owner(self) -> MetaArray:
        """The MetaArray whose memory this one shows, itself if it has its own."""
        return self if self.base is None else self.base

    @property
    def stop(self) -> int:
        """The end of its elements in that memory, in bytes."""
        size = self.dtype.itemsize
        return self.start + extent(self.shape, self.strides_in_elements) * size

    @property
    def flags(self) -> _Flags:
        return _Flags(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __getattr__(self, name: str):
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            raise NeedsElements(f"the attribute {name} of arrays of the meta device")
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"MetaArray({self.shape}, {self.dtype})"

    # -- elements ------------------------------------------------------------------

    def _refuse(self, *args, **settings):
        raise NeedsElements("an array of the meta device has no elements")

    __array__ = __bool__ = __float__ = __int__ = __index__ = __complex__ = _refuse
    item = tolist = tobytes = nonzero = _refuse

    # -- views ------------------------------------------------------------------------------

    def shown(self, view) -> MetaArray:
        """The view that a function of arrays makes of this one: NumPy's own, over an address."""
        made = view(np.asarray(_Address(self)))
        place = made.__array_interface__["data"][0] - _START - self.start
        return MetaArray(made.shape, self.dtype, self, place, made.strides)

    def __getitem__(self, key):
        items = key if isinstance(key, tuple) else (key,)
        items = tuple(item if _is_basic(item) else _as_array(item) for item in items)
        if not all(map(_is_basic, items)):
            return MetaArray(_indexed_shape(self.shape, items), self.dtype)
        if not any(item is Ellipsis for item in items):
            items = (*items, ...)  # so that a view is made of one element, too
        return self.shown(lambda array: array[items])

    def __setitem__(self, key, value) -> None:
        shape = self[key].shape
        if np.broadcast_shapes(np.shape(value), shape) != shape:
            raise ValueError(f"could not broadcast from {np.shape(value)} into shape {shape}")

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def transpose(self, *axes):
        """As of ndarray."""
        return self.shown(lambda array: array.transpose(*axes))

    def swapaxes(self, a, b):
        """As of ndarray."""
        return self.shown(lambda array: array.swapaxes(a, b))

    def squeeze(self, axis=None):
        """As of ndarray."""
        return self.shown(lambda array: array.squeeze(axis))

    def diagonal(self, offset=0, axis1=0, axis2=1):
        """As of ndarray."""
        return self.shown(lambda array: array.diagonal(offset, axis1, axis2))

    def reshape(self, *shape, order="C"):
        """As of ndarray: a view, where strides can describe it, else in new memory."""
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        shape = _sizes(self, tuple(map(operator.index, shape)))
        if order != "C":
            return MetaArray(shape, self.dtype)
        try:
            return self.shown(lambda array: np.reshape(array, shape, copy=False))
        except ValueError:
            return MetaArray(shape, self.dtype)

    def ravel(self, order="C"):
        """As of ndarray; of dense memory in the order "K" a view."""
        if order == "K":
            return MetaArray((self.size,), self.dtype, self)
        return self.reshape(-1)

    def view(self, dtype=None):
        """As of ndarray: the same memory, taken for another dtype if one is given."""
        if dtype is None or (isinstance(dtype, type) and issubclass(dtype, np.ndarray)):
            return self.shown(lambda array: array.view())
        dtype = np.dtype(dtype)
        result = self.shown(lambda array: array.view(f"V{dtype.itemsize}"))
        result.dtype = dtype
        return result

    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.swapaxes(-1, -2))

    @property
    def real(self):
        return self._part(0)

    @property
    def imag(self):
        return self._part(1)

    def _part(self, number: int):
        if self.dtype.kind != "c":
            return self if number == 0 else MetaArray(self.shape, self.dtype)
        half = np.dtype(f"f{self.dtype.itemsize // 2}")
        return MetaArray(self.shape, half, self, number * half.itemsize, self.strides)

    # -- new memory -------------------------------------------------------------------------

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """As of ndarray."""
        dtype = np.dtype(dtype)
        return self if not copy and dtype == self.dtype else like(self, dtype, order)

    def copy(self, order="C"):
        """As of ndarray."""
        return like(self, self.dtype, order)

    def flatten(self, order="C"):
        """As of ndarray."""
        return MetaArray((self.size,), self.dtype)

    def fill(self, value) -> None:
        """As of ndarray: there is nothing to fill."""

    # -- protocols --------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **settings):
        if method == "at":
            return None
        made = _UFUNC_METHODS[method](ufunc, *inputs, **settings)
        return made if out is None else _written(out, made)

    def __array_function__(self, function, types, args, kwargs):
        rule = FUNCTIONS.get(function)
        if rule is None:
            raise NeedsElements(f"np.{function.__name__} of arrays of the meta device")
        return rule(*args, **kwargs)


def is_meta(raw) -> bool:
    """Whether a raw value is a MetaArray."""
    return type(raw) is MetaArray


def holds(values) -> bool:
    """Whether one of the values is a MetaArray."""
    return any(type(value) is MetaArray for value in values)


def like(array, dtype=None, order="K", shape=None) -> MetaArray:
    """A MetaArray of an array's shape, or another, whose dimensions keep their order in memory."""
    dtype = array.dtype if dtype is None else np.dtype(dtype)
    shape = array.shape if shape is None else shape
    if order not in ("K", "A") or shape != array.shape or not is_meta(array):
        return MetaArray(shape, dtype)
    return strided_like(shape, dtype, [array])


def row_major(array):
    """An array, or a copy of it, in row-major order."""
    if type(array) is MetaArray:
        return array if array.flags.c_contiguous else MetaArray(array.shape, array.dtype)
    return np.ascontiguousarray(array)


def row_major_copy(array):
    """A copy of an array in row-major order."""
    return array.copy() if type(array) is MetaArray else np.array(array, order="C")


def meta_strided(shape, dtype, strides) -> MetaArray:
    """A MetaArray with strides in elements, None for row-major ones."""
    if strides is None:
        return MetaArray(shape, dtype)
    size = np.dtype(dtype).itemsize
    return MetaArray(shape, dtype, None, 0, [s * size for s in strides])


def strided_like(shape, dtype, operands) -> MetaArray:
    """A MetaArray laid out in memory as its operands are."""
    layouts = [(o.shape, o.strides_in_elements) for o in operands if is_meta(o)]
    steps = elementwise_strides(shape, layouts) if 0 not in shape else None
    return meta_strided(shape, dtype, steps)


def _sizes(array: MetaArray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes that `reshape` is given, with that of -1."""
    if -1 in shape:
        rest = 1
        for n in shape:
            rest *= n if n != -1 else 1
        if rest == 0 or array.size % rest:
            raise ValueError(f"cannot reshape array of size {array.size} into shape {shape}")
        shape = tuple(array.size // rest if n == -1 else n for n in shape)
    count = 1
    for n in shape:
        count *= n
    if count != array.size:
        raise ValueError(f"cannot reshape array of size {array.size} into shape {shape}")
    return shape


# -- indexing -----------------------------------------------------------------------------------


def _is_basic(item) -> bool:
    """Whether an item of an index makes a view: an integer, a slice, None or Ellipsis."""
    if isinstance(item, (bool, np.bool_)):
        return False
    whole = item is None or item is Ellipsis or isinstance(item, (int, np.integer, slice))
    return whole and type(item) is not MetaArray


def _as_array(item):
    return item if isinstance(item, np.ndarray) else np.asarray(item)


def _indexed_shape(shape, items) -> tuple[int, ...]:
    """The shape of an array indexed by arrays, and what else there is (NumPy's advanced rule)."""
    consumed = sum(_consumed(item) for item in items)
    full = []
    for item in items:
        full += [slice(None)] * (len(shape) - consumed) if item is Ellipsis else [item]
    full += [slice(None)] * (len(shape) - sum(map(_consumed, full)))
    before: list[int] = []
    after: list[int] = []
    chosen: list[tuple[int, ...]] = []
    places, dim = [], 0
    for place, item in enumerate(full):
        if isinstance(item, slice):
            (after if chosen else before).append(len(range(*item.indices(shape[dim]))))
        elif item is None:
            (after if chosen else before).append(1)
        else:
            chosen.append(_chosen_shape(item))
            places.append(place)
        dim += _consumed(item)
    together = places == list(range(places[0], places[0] + len(places)))
    middle = np.broadcast_shapes(*chosen)
    return (*before, *middle, *after) if together else (*middle, *before, *after)


def _consumed(item) -> int:
    """How many dimensions an item of an index goes over."""
    if item is None or item is Ellipsis:
        return 0
    return np.ndim(item) if getattr(item, "dtype", None) == np.bool_ else 1


def _chosen_shape(item) -> tuple[int, ...]:
    """The shape of the elements that an index array chooses; how many a mask does it has to say."""
    if getattr(item, "dtype", None) == np.bool_:
        return (int(np.count_nonzero(item)),)
    return np.shape(item)


# -- ufuncs -------------------------------------------------------------------------------------


def sample(value):
    """A value of the same dtype to ask NumPy for the dtype of results: an array is without size."""
    return np.empty(0, value.dtype) if isinstance(value, np.ndarray) else value


def _called(ufunc, *inputs, where=True, **settings):
    if ufunc.signature is not None:
        return _product(ufunc, *inputs, **settings)
    settings.pop("subok", None)
    settings.pop("order", None)
    made = ufunc(*map(sample, inputs), **settings)
    shape = np.broadcast_shapes(*map(np.shape, inputs))
    if isinstance(made, tuple):
        return tuple(strided_like(shape, part.dtype, inputs) for part in made)
    return strided_like(shape, made.dtype, inputs)


def _product(ufunc, a, b, **settings):
    """The result of `np.matmul`."""
    if ufunc is not np.matmul:
        raise NeedsElements(f"np.{ufunc.__name__} of arrays of the meta device")
    dtype = np.result_type(a, b) if "dtype" not in settings else settings["dtype"]
    if not (a.ndim and b.ndim) or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not match")
    rows = a.shape[-2:-1] if a.ndim > 1 else ()
    columns = b.shape[-1:] if b.ndim > 1 else ()
    return MetaArray((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *rows, *columns), dtype)


def reduced_shape(shape, axis, keepdims) -> tuple[int, ...]:
    """The shape of a reduction over an axis, several, or all (None)."""
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    dims = {axis_of(a, len(shape)) for a in axes}
    if keepdims and keepdims is not np._NoValue:
        return tuple(1 if i in dims else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in dims)


def axis_of(axis, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def _reduced(ufunc, array, axis=0, dtype=None, keepdims=False, initial=None, where=True):
    made = ufunc.reduce(np.ones(1, array.dtype), 0, dtype)
    return MetaArray(reduced_shape(np.shape(array), axis, keepdims), made.dtype)


def _accumulated(ufunc, array, axis=0, dtype=None):
    return like(array, ufunc.accumulate(np.ones(1, array.dtype), 0, dtype).dtype)


def _outer(ufunc, a, b, **settings):
    made = ufunc(sample(a), sample(b), **settings)
    return MetaArray((*np.shape(a), *np.shape(b)), made.dtype)


_UFUNC_METHODS: dict[str, Any] = {
    "__call__": _called,
    "reduce": _reduced,
    "accumulate": _accumulated,
    "outer": _outer,
}


def _written(out, made):
    """The arrays of `out=`, whose shapes the results must have."""
    for one, part in zip(out, made if isinstance(made, tuple) else (made,), strict=True):
        if one is not None and np.broadcast_shapes(one.shape, part.shape) != one.shape:
            raise ValueError(f"output has shape {one.shape}, the result {part.shape}")
    return out if len(out) > 1 else out[0]


FUNCTIONS: dict[Any, Any] = {}  # the rules of NumPy's functions, by `impl.core.meta_functions`
