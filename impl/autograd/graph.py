"""`torch.autograd.graph`."""

from impl.graph import Node

__all__ = ["Node"]
