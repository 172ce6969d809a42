"""SparseArray: the raw value of a sparse COO tensor (ATen/SparseTensorImpl.h).

It stands where a dense tensor has a NumPy array. Kernels that know it take `indices` and `values`;
all others run into one of NumPy's protocols, or an attribute of arrays, and raise
NotImplementedError.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from impl.core.dtypes import BY_NUMPY, bool_, float16, promote_types

_NOT_ADDED = (bool_.numpy, float16.numpy)  # the dtypes that torch's kernels do not add


class SparseArray:
    """Stored elements and where they belong: all others are zero.

    `indices` (int64) has a row for each of the first dimensions of `shape`, the sparse ones, and a
    column for each stored element; `values` has such an element, with all dense dimensions, in each
    row. An index may occur several times, which stands for the sum; `coalesced` says that the
    indices are known to be distinct and sorted.
    """

    __slots__ = ("__weakref__", "coalesced", "indices", "shape", "values")

    base = NotImplemented  # not None: the engine does not write it in place
    flags = SimpleNamespace(c_contiguous=True)

    def __init__(self, indices, values, shape, coalesced: bool | None = None) -> None:
        """`coalesced` None: as torch finds it, from the number of elements."""
        self.indices = indices
        self.values = values
        self.shape = tuple(shape)
        self.coalesced = values.shape[0] < 2 if coalesced is None else coalesced

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, zeros included."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def sparse_dim(self) -> int:
        """The number of sparse dimensions, which come first."""
        return self.indices.shape[0]

    @property
    def nnz(self) -> int:
        """The number of stored elements."""
        return self.values.shape[0]

    def with_values(self, values) -> SparseArray:
        """Other elements at the same indices."""
        return SparseArray(self.indices, values, self.shape, self.coalesced)

    def without_elements(self, dtype=None) -> SparseArray:
        """The same with no stored elements, in its own or another dtype."""
        values = self.values[:0] if dtype is None else self.values[:0].astype(dtype)
        return SparseArray(self.indices[:, :0], values, self.shape, True)

    def places(self) -> np.ndarray:
        """The places of the stored elements, with the sparse dimensions flattened to one."""
        places = np.zeros(self.nnz, np.int64)
        for size, row in zip(self.shape, self.indices, strict=False):
            places = places * size + row
        return places

    def coalesce(self) -> SparseArray:
        """The same with distinct, sorted indices; elements of one index are summed in order."""
        if self.coalesced:
            return self
        if self.nnz < 2:
            return SparseArray(self.indices.copy(), self.values.copy(), self.shape, True)
        _, first, group = np.unique(self.places(), return_index=True, return_inverse=True)
        values = np.zeros((len(first), *self.values.shape[1:]), self.dtype)
        np.add.at(values, group, self.values)
        return SparseArray(self.indices[:, first], values, self.shape, True)

    def to_dense(self) -> np.ndarray:
        """A new array with the stored elements, summed where they meet, and zeros."""
        return self.added_to(np.zeros(self.shape, self.dtype))

    def added_to(self, dense: np.ndarray, alpha=1) -> np.ndarray:
        """Add `alpha` times the elements to an array of the same shape, in place; returns it.

        A single number in an expanded array with dense dimensions is left out, as torch's kernel
        takes a stride of zero for no elements (add_dense_sparse_worker_hybrid_cpu).
        """
        values = self.values
        if values.size == 1 and values.ndim > 1 and not any(values.strides):
            return dense
        if not self.sparse_dim:
            dense += values.sum(0) * alpha
            return dense
        indices, values = self._within(values if alpha == 1 else values * alpha)
        np.add.at(dense, tuple(indices), values)
        return dense

    def _within(self, values) -> tuple[np.ndarray, np.ndarray]:
        """The indices and elements that have a place in the array: an unchecked index, such as a
        negative one, counts on from the row before it, or falls outside."""
        sizes = self.shape[: self.sparse_dim]
        if not self.indices.size or (
            self.indices.min() >= 0 and (self.indices.max(1) < sizes).all()
        ):
            return self.indices, values
        places = self.places()
        inside = (places >= 0) & (places < int(np.prod(sizes)))
        return np.array(np.unravel_index(places[inside], sizes)), values[inside]

    def found_in(self, dense: np.ndarray) -> np.ndarray:
        """The elements of an array of the same shape at the indices, in new memory."""
        return dense[tuple(self.indices)].copy() if self.sparse_dim else dense[None].copy()

    def plus(self, other: SparseArray, alpha=1) -> SparseArray:
        """The sum with `alpha` times another (add_out_sparse_cpu).

        Elements are merged in the order of both, as if both were sorted; where those of one of them
        do not lie row-major, as an expanded gradient's, one list follows the other. Raises
        NotImplementedError for bool and half.
        """
        dtype = common_dtype(self, other)
        theirs = other.values.astype(dtype, copy=False)
        theirs = theirs if alpha == 1 else (theirs * alpha).astype(dtype, copy=False)
        if not other.nnz:
            return self if self.dtype == dtype else self.with_values(self.values.astype(dtype))
        if not self.nnz:
            return other.with_values(theirs.copy())
        contiguous = self.values.flags.c_contiguous and other.values.flags.c_contiguous
        if dtype in _NOT_ADDED:
            kernel = "cadd_sparse" if contiguous else "add_out_sparse_cpu"
            raise NotImplementedError(
                f"\"{kernel}\" not implemented for '{BY_NUMPY[dtype].legacy}'"
            )
        if contiguous:
            return self._merged(other, theirs, dtype)
        indices = np.concatenate([self.indices, other.indices], 1)
        values = np.concatenate([self.values, theirs]).astype(dtype, copy=False)
        result = SparseArray(indices, values, self.shape)
        if result.nnz > result.size:
            summed = result.coalesce()
            result = SparseArray(summed.indices, summed.values, self.shape)
        return result

    def _merged(self, other: SparseArray, theirs, dtype) -> SparseArray:
        mine, others = self.places().tolist(), other.places().tolist()
        origins: list[tuple[int, int]] = []  # of each element: the row here and there, or -1
        i = j = 0
        while i < len(mine) or j < len(others):
            left = j >= len(others) or (i < len(mine) and mine[i] <= others[j])
            right = i >= len(mine) or (j < len(others) and others[j] <= mine[i])
            origins.append((i if left else -1, j if right else -1))
            i, j = i + left, j + right
        a, b = np.array(origins).T
        found = np.where(a >= 0, self.indices[:, a], other.indices[:, b])
        indices = _with_room(found, len(mine) + len(others))
        values = np.zeros((len(origins), *self.values.shape[1:]), dtype)
        values[a >= 0] += self.values[a[a >= 0]]
        values[b >= 0] += theirs[b[b >= 0]]
        return SparseArray(indices, values, self.shape, self.coalesced and other.coalesced)

    def broadcast_to(self, shape) -> SparseArray:
        """The elements, once summed, repeated along new dimensions, which come first and are
        sparse; and along dense ones of size 1, not along such sparse ones, as in torch's product.
        """
        lead, count = len(shape) - self.ndim, self.sparse_dim
        if not lead:
            values = np.broadcast_to(self.values, (self.nnz, *shape[count:]))
            return SparseArray(self.indices, values, shape, self.coalesced)
        summed = self.coalesce()
        copies = int(np.prod(shape[:lead]))
        places = np.indices(shape[:lead]).reshape(lead, copies)
        indices = np.concatenate(
            [np.repeat(places, summed.nnz, 1), np.tile(summed.indices, (1, copies))]
        )
        values = np.broadcast_to(summed.values, (summed.nnz, *shape[lead + count :]))
        values = np.tile(values, (copies, *[1] * (values.ndim - 1)))
        return SparseArray(indices, values, shape, True)

    def times(self, other: Any) -> SparseArray:
        """The product with a number or an array, at the same indices (mul_sparse)."""
        if isinstance(other, SparseArray):
            return self._common(other)
        if isinstance(other, np.ndarray) and other.ndim:
            other = self.found_in(np.broadcast_to(other, self.shape))
        return self.with_values(self.values * other)

    def _common(self, other: SparseArray) -> SparseArray:
        """The product with another (mul_out_sparse_cpu): at the indices that both have, or those of
        one that is not coalesced, zeros among them; of two such, the one with fewer elements."""
        if not self.nnz or not other.nnz:
            return self.without_elements(common_dtype(self, other))
        if self.coalesced and other.coalesced:
            return self._intersected(other)
        first = other.coalesced or (not self.coalesced and self.nnz < other.nnz)
        source, sought = (self, other) if first else (other, self)
        return SparseArray(source.indices.copy(), source.sums_with(sought), self.shape, False)

    def _intersected(self, other: SparseArray) -> SparseArray:
        _, a, b = np.intersect1d(self.places(), other.places(), True, True)
        indices = _with_room(self.indices[:, a], min(self.nnz, other.nnz))
        return SparseArray(indices, self.values[a] * other.values[b], self.shape, True)

    def sums_with(self, other: SparseArray) -> np.ndarray:
        """For each element the sum of its products with the elements of another at its index."""
        order = np.argsort(other.places(), kind="stable")
        found, places = other.places()[order], self.places()
        begin, end = np.searchsorted(found, places), np.searchsorted(found, places, "right")
        dtype = common_dtype(self, other)
        sums = np.zeros(np.broadcast_shapes(self.values.shape, (1, *other.values.shape[1:])), dtype)
        for i in range(int((end - begin).max())):
            (rows,) = np.nonzero(begin + i < end)
            sums[rows] += self.values[rows] * other.values[order[begin[rows] + i]]
        return sums

    def permuted(self, order: list[int], coalesced: bool) -> SparseArray:
        """The sparse dimensions in another order, and the dense ones behind them."""
        count = self.sparse_dim
        if any(i >= count for i in order[:count]):
            raise RuntimeError(
                "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
                "allowed.Only transpositions within sparse and dense dimensions are supported."
            )
        values = self.values.transpose(0, *(i - count + 1 for i in order[count:]))
        return SparseArray(
            self.indices[order[:count]], values, [self.shape[i] for i in order], coalesced
        )

    def transposed(self, dim0: int, dim1: int) -> SparseArray:
        """Two sparse dimensions exchanged (sparse_transpose_)."""
        count = self.sparse_dim
        if dim0 >= count or dim1 >= count:
            raise RuntimeError(
                "sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
                f"{count}, d0: {dim0}, d1: {dim1}"
            )
        order = list(range(self.ndim))
        order[dim0], order[dim1] = dim1, dim0
        return self.permuted(order, self.coalesced and not self.nnz)

    @property
    def T(self) -> SparseArray:
        """The transposed matrix. Raises RuntimeError for dense dimensions, and more than two."""
        dense = self.ndim - self.sparse_dim
        if dense or self.ndim > 2:
            raise RuntimeError(
                "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
                f"{self.sparse_dim} sparse and {dense} dense dimensions"
            )
        return self if self.ndim < 2 else self.transposed(0, 1)

    def reshape(self, *shape):
        """Raises RuntimeError, in torch's words."""
        raise RuntimeError("reshape is not implemented for sparse tensors")

    def astype(self, dtype, copy: bool = True):
        """Raises RuntimeError: a gradient that is cast would have to be dense."""
        raise RuntimeError(
            "to(options) doesn't support converting to a different layout, but got self.layout "
            "being Sparse and options.layout set as Strided"
        )

    # -- Python's operators, as formulas of dense operators apply them --------------------------

    def __add__(self, other: Any):
        if isinstance(other, SparseArray):
            return self.plus(other)
        return self.added_to(np.array(other)) if isinstance(other, np.ndarray) else NotImplemented

    def __radd__(self, other: Any):
        return self.added_to(np.array(other)) if isinstance(other, np.ndarray) else NotImplemented

    def __mul__(self, other: Any):
        return self.times(other)

    __rmul__ = __mul__

    def __neg__(self) -> SparseArray:
        return self.with_values(-self.values)

    def __truediv__(self, other: Any):
        if isinstance(other, (np.ndarray, SparseArray)) and other.ndim:
            return NotImplemented
        return self.with_values(self.values / other)

    def __array_ufunc__(self, ufunc, method: str, *operands, **options):
        dense = operands[0]
        if method == "__call__" and isinstance(dense, np.ndarray):
            if ufunc is np.add and (not options or options.get("out", (None,))[0] is dense):
                return self.added_to(dense.copy())  # also for dense += sparse, as in torch's engine
            if ufunc is np.multiply and not options:
                return self.times(dense)
        raise NotImplementedError(f"{ufunc.__name__} of a sparse tensor")

    # -- everything else ------------------------------------------------------------------------

    def __array_function__(self, function, types, args, kwargs):
        if function is np.shape:
            return self.shape
        if function is np.ndim:
            return self.ndim
        raise NotImplementedError(f"{function.__name__} of a sparse tensor")

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError("an operator of a sparse tensor")

    def __getattr__(self, name: str):
        if name.startswith("__"):  # which Python and NumPy look for
            raise AttributeError(name)
        raise NotImplementedError(f"{name} of a sparse tensor")


def _with_room(indices: np.ndarray, count: int) -> np.ndarray:
    """A copy in memory for so many elements, as torch's: accumulation looks how it lies."""
    copy = np.empty((len(indices), count), np.int64)[:, : indices.shape[1]]
    copy[...] = indices
    return copy


def common_dtype(a, b) -> np.dtype:
    """The NumPy dtype to which the elements of two values of as many dimensions promote."""
    return promote_types(BY_NUMPY[a.dtype], BY_NUMPY[b.dtype]).numpy
