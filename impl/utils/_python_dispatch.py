"""`torch.utils._python_dispatch`: modes that see the operators below autograd."""

from __future__ import annotations

from impl.dispatch.dispatch_modes import TorchDispatchMode

__all__ = ["TorchDispatchMode"]
