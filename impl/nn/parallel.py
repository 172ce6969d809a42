"""`torch.nn.parallel`: data parallelism, where there is no device beside the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from impl.core.torch_modules import place
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor

__all__ = ["DataParallel", "DistributedDataParallel", "scatter"]


class DataParallel(Module):
    """A module that calls another: without other devices torch's does the same
    (torch.nn.DataParallel)."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's own result."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """A module whose gradients are summed over processes; ValueError, as there are no groups of
    processes (torch.nn.parallel.DistributedDataParallel)."""

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        *args: Any,
        **options: Any,
    ) -> None:
        super().__init__()
        if options.get("process_group") and options.get("device_mesh") is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """The parts of tensors for several GPUs (torch.nn.parallel.scatter), in containers; any other
    object is repeated. Raises AttributeError for a tensor, as there are no GPUs."""
    if isinstance(inputs, Tensor):
        raise AttributeError("module 'torch._C' has no attribute '_scatter'")
    if not isinstance(inputs, tuple | list | dict) or not inputs:
        return [inputs for _ in target_gpus]
    entries = inputs.items() if isinstance(inputs, dict) else inputs
    parts = list(zip(*(scatter(entry, target_gpus, dim) for entry in entries), strict=False))
    if hasattr(inputs, "_fields"):
        return [type(inputs)(*part) for part in parts]
    if isinstance(inputs, tuple):
        return parts
    return [list(part) if isinstance(inputs, list) else type(inputs)(part) for part in parts]


place(f"{__name__}.data_parallel", DataParallel)
place(f"{__name__}.distributed", DistributedDataParallel)
place(f"{__name__}.scatter_gather", scatter)
