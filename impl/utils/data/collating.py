"""The making of a batch from examples (torch.utils.data.default_collate)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
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
    if isinstance(data, Mapping):
        return _mapping_like(data, lambda key: default_convert(data[key]))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, data, default_convert)
    return data


def _mapping_like(like: Mapping, entry: Callable[[Any], Any]) -> Any:
    """A mapping of the same type and keys, of the entry for each key: a copy where the mapping can
    be changed, which keeps its other attributes; a dict where its type cannot be made so."""
    try:
        if isinstance(like, MutableMapping):
            made = copy.copy(like)
            made.update({key: entry(key) for key in like})
            return made
        return type(like)({key: entry(key) for key in like})  # type: ignore[call-arg]
    except TypeError:
        return {key: entry(key) for key in like}


def _sequence_like(like: Sequence, values: Sequence, part: Callable[[Any], Any]) -> Any:
    """A sequence of the same type of the part for each of the values, as `_mapping_like`; for a
    tuple without names, and where the type cannot be made so, a list."""
    if isinstance(like, tuple):
        parts = [part(value) for value in values]
        return type(like)(*parts) if hasattr(like, "_fields") else parts
    try:
        if isinstance(like, MutableSequence):
            made = copy.copy(like)
            for place, value in enumerate(values):
                made[place] = part(value)
            return made
        return type(like)([part(value) for value in values])  # type: ignore[call-arg]
    except TypeError:
        return [part(value) for value in values]


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
        return _mapping_like(first, lambda key: default_collate([each[key] for each in batch]))
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _sequence_like(first, list(zip(*batch, strict=True)), default_collate)
    raise TypeError(_WRONG.format(type(first)))
