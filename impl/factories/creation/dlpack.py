"""DLPack: `torch.from_dlpack`, `Tensor.__dlpack__`; memory that libraries share."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from impl.core.named_types import type_name
from impl.core.registry import method_of
from impl.core.storage import Memory, address
from impl.factories.creation.from_data import from_numpy
from impl.factories.creation.options import check_place, publish
from impl.tensor.lazy_conj import conj_neg_bits
from impl.tensor.tensor import Tensor, requires_grad


class DLDeviceType(enum.IntEnum):
    """The kinds of devices of DLPack (torch.utils.dlpack.DLDeviceType)."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


@method_of(Tensor)
def __dlpack__(
    self, *, stream: Any = -1, max_version=None, dl_device=None, copy=None, read_only: bool = False
):
    """The tensor as a DLPack capsule. Raises BufferError for one that requires grad."""
    if requires_grad(self):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if conj_neg_bits(self)[0]:
        raise BufferError("Can't export tensors with the conjugate bit set")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream is not None and stream != -1:
        raise AssertionError("stream should be None on cpu.")
    return self._array().__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


@method_of(Tensor)
def __dlpack_device__(self) -> tuple[enum.IntEnum, int]:
    """The device for DLPack: the CPU."""
    return DLDeviceType.kDLCPU, 0


_USED_CAPSULE = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
    "once, so you might have already constructed a tensor from it once."
)


class _Exporter:
    """The object that a capsule is imported from."""

    def __init__(self, capsule) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options):
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLDeviceType.kDLCPU, 0


@publish
def from_dlpack(ext_tensor, *, device=None, copy=None) -> Tensor:
    """A tensor over the memory of another library's array, or of a capsule (torch.from_dlpack).

    Raises RuntimeError for anything else, and for a capsule that was used before.
    """
    check_place(device)
    if not hasattr(ext_tensor, "__dlpack__"):
        ext_tensor = _Exporter(ext_tensor)
    try:
        array = np.from_dlpack(ext_tensor, copy=copy)
    except ValueError as error:
        if not str(error).startswith("PyCapsule_GetPointer called with "):
            raise
        raise RuntimeError(_USED_CAPSULE) from None
    if not array.flags.writeable:  # as NumPy has it for a capsule of the first protocol
        array = np.asarray(Memory(array, address(array), array.shape, array.strides))
    return from_numpy(array)


def to_dlpack(data: Tensor):
    """A tensor as a DLPack capsule (torch.utils.dlpack.to_dlpack)."""
    if not isinstance(data, Tensor):
        raise TypeError(
            f"_to_dlpack(): argument 'data' (position 1) must be Tensor, not {type_name(data)}"
        )
    return data._array().__dlpack__()
