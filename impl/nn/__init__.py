"""`torch.nn`: parameters, layers, their functional form, and how weights begin."""

from impl.nn import functional, init, utils
from impl.nn.modules import *  # noqa: F403
from impl.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "init", "utils"]
