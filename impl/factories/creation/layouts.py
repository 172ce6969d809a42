"""Factories of tensors of the layout `torch.sparse_coo`, which have no elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import messages
from impl.core.dtypes import get_default_dtype
from impl.core.memory_formats import sparse_coo
from impl.core.sparse_array import SparseArray
from impl.tensor.sparse_tensor import sparse_tensor
from impl.tensor.tensor import Tensor

_EMPTY = ("zeros", "empty", "zeros_like", "empty_like", "new_zeros", "new_empty")
# The operator by which torch fills the new tensor, which has no kernel for it.
_FILLED_BY = {
    "ones_like": "fill_.Scalar",
    "full_like": "fill_.Scalar",
    "new_ones": "fill_.Scalar",
    "new_full": "fill_.Scalar",
    "rand": "uniform_",
    "rand_like": "uniform_",
    "randn": "normal_",
    "randn_like": "normal_",
    "randint": "random_.to",
    "randint_like": "random_.to",
    "arange": "arange.start_out",
    "linspace": "linspace.out",
    "logspace": "logspace.out",
    "eye": "eye.m_out",
    "randperm": "randperm.generator_out",
}


def is_sparse_layout(layout, source: Tensor | None) -> bool:
    """Whether a factory makes a sparse tensor: it is asked to, or its source is one."""
    if layout is None:
        return source is not None and source.is_sparse
    return layout is sparse_coo


def made_sparse(name: str, size, source: Tensor | None, dtype) -> Any:
    """The sparse tensor of a factory, without elements; like a sparse source if no size is given.

    Raises RuntimeError or NotImplementedError for a factory of other elements than zeros.
    """
    if name in ("full", "ones"):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    if source is not None and not source.is_sparse and name in ("empty_like", "ones_like"):
        raise NotImplementedError(messages.NO_KERNEL.format("empty_strided", "SparseCPU"))
    if name not in _EMPTY:
        raise NotImplementedError(
            messages.NO_KERNEL.format(_FILLED_BY.get(name, name), "SparseCPU")
        )
    if dtype is None:
        dtype = get_default_dtype() if source is None else source.dtype
    shape = source.shape if size is None and source is not None else size
    sparse_dim = len(shape)
    if size is None and source is not None and source.is_sparse:
        sparse_dim = source.sparse_dim()
    values = np.zeros((0, *shape[sparse_dim:]), dtype.numpy)
    return sparse_tensor(SparseArray(np.zeros((sparse_dim, 0), np.int64), values, shape, True))
