"""`torch.nn`: parameters, layers, functions and initial values."""

from impl.nn import functional, init, utils
from impl.nn.modules import *  # noqa: F403
from impl.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "utils",
]
