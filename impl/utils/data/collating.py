"""The making of a batch from examples (torch.utils.data.default_collate)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from impl.core.dtypes import float64
from impl.core.memory_formats import strided
from impl.core.registry import C
from impl.factories.creation.from_data import as_tensor, tensor
from impl.tensor.tensor import Tensor

_WRONG = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

_SPARSE = (
    "Batches of sparse tensors are not currently supported by the default collate_fn; please "
    "provide a custom collate_fn to handle them appropriately."
)


def default_convert(data: Any) -> Any:
    """The data with NumPy's arrays and numbers as tensors (torch.utils.data.default_convert)."""
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "SUO":
        return as_tensor(data)
    if isinstance(data, (Mapping, Sequence)) and not isinstance(data, (str, bytes)):
        return _rebuilt(data, default_convert)
    return data


def _rebuilt(data: Any, convert: Callable[[Any], Any]) -> Any:
    """A mapping or sequence of the same type with converted entries."""
    if isinstance(data, Mapping):
        entries = {key: convert(value) for key, value in data.items()}
        try:
            return type(data)(entries)  # type: ignore[call-arg]
        except TypeError:
            return entries
    parts = [convert(part) for part in data]
    if isinstance(data, tuple):
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    try:
        return type(data)(parts)
    except TypeError:
        return parts


def default_collate(batch: Sequence) -> Any:
    """Examples as one batch: tensors stacked, numbers as a tensor, containers entry by entry.

    Raises TypeError for examples of another type, RuntimeError for sparse tensors and for
    containers of different lengths.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        if first.layout is not strided:
            raise RuntimeError(_SPARSE)
        return C.stack(batch, 0)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(_WRONG.format(first.dtype))
        return default_collate([as_tensor(each) for each in batch])
    if isinstance(first, np.generic) and not isinstance(first, (str, bytes)):
        return as_tensor(batch)
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _rebuilt(
            {key: key for key in first}, lambda key: default_collate([each[key] for each in batch])
        )
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        entries = [default_collate(each) for each in zip(*batch, strict=True)]
        return type(first)(*entries) if hasattr(first, "_fields") else entries
    raise TypeError(_WRONG.format(type(first)))
