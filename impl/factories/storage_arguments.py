"""Checks of the arguments of typed and legacy storages (torch/storage.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from impl.core.dtypes import dtype as _dtype
from impl.core.storage import Storage

_TYPED = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n"
    " * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
)
_LEGACY = (
    "{}.__new__ received an invalid combination of arguments. Expected one of:\n"
    " * no arguments\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n"
)


def is_size(value: Any) -> bool:
    """Whether an argument is the number of elements."""
    return isinstance(value, (int, np.integer))


def check_typed(args: tuple, wrap_storage: Any, dtype: Any, device: Any) -> None:
    """Check the arguments of `TypedStorage`. Raises RuntimeError for a combination that it does not
    take, TypeError for an argument of another type."""
    if wrap_storage is None:
        _check_values(_TYPED, args)
        return
    _check_alone(_TYPED, args)
    if dtype is None:
        raise RuntimeError(f"{_TYPED}Argument 'dtype' must be specified")
    if not isinstance(dtype, _dtype):
        raise TypeError(f"{_TYPED}Argument 'dtype' must be torch.dtype, not {type(dtype)}")
    if device is not None:
        raise RuntimeError(
            f"{_TYPED}Argument 'device' should not be specified when 'wrap_storage' is given"
        )
    _check_wrapped(_TYPED, wrap_storage)


def check_legacy(cls: type, args: tuple, wrap_storage: Any, dtype: Any, device: Any) -> None:
    """Check the arguments of a legacy class of one dtype. Raises as `check_typed`."""
    message = _LEGACY.format(cls)
    for name, value in (("device", device), ("dtype", dtype)):
        if value is not None:
            raise RuntimeError(f"{message}Keyword argument '{name}' cannot be specified")
    if wrap_storage is None:
        _check_values(message, args)
    else:
        _check_alone(message, args)
        _check_wrapped(message, wrap_storage)


def _check_values(message: str, args: tuple) -> None:
    if len(args) > 1:
        raise RuntimeError(f"{message}Too many positional arguments")
    for value in args:
        if not is_size(value) and not isinstance(value, Sequence):
            raise TypeError(f"{message}Argument type not recognized: {type(value)}")


def _check_alone(message: str, args: tuple) -> None:
    if args:
        raise RuntimeError(
            f"{message}No positional arguments should be given when using 'wrap_storage'"
        )


def _check_wrapped(message: str, wrap_storage: Any) -> None:
    if not isinstance(wrap_storage, Storage):
        raise TypeError(
            f"{message}Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
        )
