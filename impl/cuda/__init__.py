"""`torch.cuda` without CUDA: the queries and settings of programs that then use the CPU."""

from __future__ import annotations

from typing import Any

from impl.core.absent_devices import (
    SelectedDevice,
    StreamContext,
    device_count,
    dummies,
    get_arch_list,
    get_gencode_flags,
    index_of,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    refusal,
    refusals,
)
from impl.core.accelerator_errors import OutOfMemoryError
from impl.core.dtypes import ALL
from impl.core.named_types import NamedType
from impl.cuda import amp, memory, nvtx, random, streams
from impl.cuda.memory import *  # noqa: F403
from impl.cuda.random import *  # noqa: F403
from impl.cuda.streams import Event, ExternalStream, Stream

__all__ = [
    *(*memory.__all__, *memory.UNLINKED, *memory.REFUSED, *random.__all__, *random.REFUSED),
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "amp",
    "device",
    "device_count",
    "device_of",
    "get_arch_list",
    "get_gencode_flags",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "memory",
    "nvtx",
    "random",
    "set_device",
    "stream",
    "streams",
    "synchronize",
]

_initialized = False  # as reversible layers ask before they keep random states
_ABSENT = "Torch not compiled with CUDA enabled"
_REFUSED = refusals(
    "can_device_access_peer cudart current_blas_handle current_device current_solver_handle "
    "current_stream default_stream get_device_capability get_device_name get_device_properties "
    "get_stream_from_external get_sync_debug_mode init ipc_collect set_sync_debug_mode synchronize",
    AssertionError,
    _ABSENT,
)
_UNREAD = refusals(
    "clock_rate device_memory_used memory_usage power_draw temperature utilization",
    ModuleNotFoundError,
    "nvidia-ml-py does not seem to be installed or it can't be imported.",
)
_CAPTURE = "is_current_stream_capturing"
globals().update(memory.UNLINKED | memory.REFUSED | random.REFUSED | _REFUSED | _UNREAD)
globals().update(dummies(__name__, "CUDAGraph MemPool"))
globals()[_CAPTURE] = refusal(
    _CAPTURE,
    RuntimeError,
    "Tried to instantiate dummy base class _cuda_isCurrentStreamCapturing",
)
synchronize = _REFUSED["synchronize"]
default_generators: tuple = ()
has_half = True
has_magma = False


class CudaError(RuntimeError):
    """An error of the CUDA runtime (torch.cuda.CudaError)."""


class DeferredCudaCallError(Exception):
    """An error of a call that waited for CUDA (torch.cuda.DeferredCudaCallError)."""


class device(SelectedDevice):
    """A block in which a GPU is the current one; RuntimeError for an index (torch.cuda.device)."""

    kind = "cuda"
    refused = RuntimeError, "PyTorch was compiled without CUDA support"


class device_of(device):
    """A block in which the GPU of a tensor is the current one, without effect for a tensor of the
    CPU (torch.cuda.device_of)."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class _Constructor(NamedType):
    """The type of `torch.cuda.FloatTensor` and its relatives, which make no tensors."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
        )

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


for _name in (f"{each.legacy}Tensor" for each in ALL if each.legacy):
    globals()[_name] = _Constructor(
        _name, (), {"__module__": "torch.cuda", "__qualname__": _name}, module="torch.cuda"
    )


def set_device(device: Any) -> None:
    """Raise AttributeError, except for a negative index, which has no effect; ValueError for a
    device of another type (torch.cuda.set_device)."""
    if index_of(device, "cuda") >= 0:
        raise AttributeError("module 'torch._C' has no attribute '_cuda_setDevice'")


def set_stream(stream: Any) -> None:
    """No effect without a stream (torch.cuda.set_stream)."""


def stream(stream: Any) -> StreamContext:
    """A block in which a stream is the current one; no effect without one (torch.cuda.stream)."""
    return StreamContext(stream)
