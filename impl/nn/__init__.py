"""`torch.nn`: parameters, layers, functions and initial values."""

from impl.nn import attention, functional, init, parallel, utils
from impl.nn.modules import *  # noqa: F403
from impl.nn.parallel import DataParallel
from impl.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "init",
    "parallel",
    "utils",
]
