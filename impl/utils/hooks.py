"""`torch.utils.hooks`: handles of hooks."""

from impl.graph.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
