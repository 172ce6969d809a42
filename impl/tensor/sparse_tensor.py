"""SparseTensor: a tensor of the layout `torch.sparse_coo` (ATen/SparseTensorImpl.h).

Its `_raw` is a SparseArray. The operators that take it are defined, or given a second kernel, in
`impl.operators.sparse`; all others raise NotImplementedError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import messages
from impl.core.memory_formats import contiguous_format, layout, sparse_coo
from impl.core.read_only import read_only
from impl.core.sparse_array import SparseArray
from impl.core.state import STATE
from impl.core.strides import strides_of
from impl.tensor.tensor import Tensor, blank, new

EXIST: list[bool] = []
"""Not empty once a SparseTensor was made: operators look for sparse operands only then."""


class SparseTensor(Tensor):
    """A tensor that stores elements with their indices; see SparseArray."""

    @read_only
    def is_sparse(self) -> bool:
        return True

    @read_only
    def layout(self) -> layout:
        return sparse_coo

    def _array(self) -> np.ndarray:
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")

    def data_ptr(self) -> int:
        """Raises RuntimeError: there is no storage."""
        raise RuntimeError(messages.NO_POINTER)

    def tolist(self):
        """Raises RuntimeError: there is no storage."""
        raise RuntimeError(messages.NO_POINTER)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Raises TypeError: NumPy has no sparse arrays."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    @read_only
    def nbytes(self) -> int:
        """Raises RuntimeError: there are two parts."""
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent "
            "tensors, add the nbytes of the indices and values.  If you want the size of the  "
            "equivalent dense tensor, multiply numel() by element_size()"
        )

    def stride(self, dim: int | None = None):
        """Zeros: there are no strides."""
        strides = (0,) * self._raw.ndim
        return strides if dim is None else strides[dim]

    def is_contiguous(self, *, memory_format=contiguous_format) -> bool:
        """False: there is no memory whose order this could be."""
        return False

    def sparse_dim(self) -> int:
        """The number of sparse dimensions."""
        return self._raw.sparse_dim

    def dense_dim(self) -> int:
        """The number of dense dimensions, those of a stored element."""
        return self._raw.ndim - self._raw.sparse_dim

    def _nnz(self) -> int:
        return self._raw.nnz

    def is_coalesced(self) -> bool:
        """Whether the indices are known to be distinct and sorted."""
        return self._raw.coalesced

    def _indices(self) -> Tensor:
        return over(self._raw.indices)

    def _values(self) -> Tensor:
        return over(self._raw.values)

    def detach(self) -> Tensor:
        """The same elements with the same version counter, without history."""
        result = sparse_tensor(alias(self._raw))
        result._storage = self._storage
        return result


SPARSE: set[type] = {SparseTensor}
"""The classes of sparse tensors: besides this one, that of sparse Parameters."""

SparseTensor.__name__ = SparseTensor.__qualname__ = Tensor.__name__  # torch has only one class
SparseTensor.__module__ = Tensor.__module__


def alias(raw: SparseArray) -> SparseArray:
    """Another value over the same indices and elements, of which one can be replaced alone."""
    return raw.with_values(raw.values)


def sparse_tensor(raw: SparseArray) -> Any:
    """A tensor over a sparse value."""
    if not EXIST:
        EXIST.append(True)
    tensor = blank(SparseTensor)
    tensor._raw = raw
    tensor._strides = tensor.stride()
    if STATE.inference:
        tensor._inference = tensor._uncounted = True
    return tensor


def over(raw) -> Tensor:
    """A tensor over a new raw value, dense or sparse."""
    return sparse_tensor(raw) if type(raw) is SparseArray else new(raw, strides_of(raw))


def holds(args) -> bool:
    """Whether an argument, or an element of a list of them, is sparse."""
    return any(type(a) in SPARSE or (type(a) in (list, tuple) and holds(a)) for a in args)
