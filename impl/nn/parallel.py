"""`torch.nn.parallel`: data parallelism, where there is no device beside the CPU."""

from __future__ import annotations

from typing import Any

from impl.nn.modules.module import Module

__all__ = ["DataParallel"]


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
