"""Factories: tensors from data, constants, ranges and random numbers."""

from impl.factories.creation import buffers, dlpack, drawn, ranges, windows
from impl.factories.creation.constants import empty, full, ones, zeros, zeros_like
from impl.factories.creation.from_data import from_numpy, tensor
from impl.factories.creation.legacy import (
    LEGACY_TYPES,
    legacy_constructor,
    set_default_tensor_type,
)
from impl.factories.creation.literals import array_of

__all__ = [
    "LEGACY_TYPES",
    "array_of",
    "buffers",
    "dlpack",
    "drawn",
    "empty",
    "from_numpy",
    "full",
    "legacy_constructor",
    "ones",
    "ranges",
    "set_default_tensor_type",
    "tensor",
    "windows",
    "zeros",
    "zeros_like",
]
