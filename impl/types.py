"""`torch.types`: names for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence

from impl.core.devices import device as _device
from impl.core.dtypes import dtype as _dtype
from impl.tensor.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

_bool, _float, _int, _complex = builtins.bool, builtins.float, builtins.int, builtins.complex
_size = Sequence[int]
_TensorOrTensors = Tensor | Sequence[Tensor]

Device = _device | str | int | None
DtypeLike = _dtype
FileLike = str | os.PathLike[str]
Number = _int | _float | _bool
_Number = (_int, _float, _bool)


class Storage:
    """The methods of storages, for annotations (torch.types.Storage)."""
