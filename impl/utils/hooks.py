"""`torch.utils.hooks`: handles of hooks."""

from impl.core.registry import name_home
from impl.graph.hooks import RemovableHandle

__all__ = ["RemovableHandle"]


name_home(globals())
