"""`torch.nn`: parameters, and the functional form of layers."""

from impl.nn import functional
from impl.nn.parameter import Parameter

__all__ = ["Parameter", "functional"]
