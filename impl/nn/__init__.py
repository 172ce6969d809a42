"""`torch.nn`: parameters, layers, functions and initial values."""

from impl.nn import attention, common_types, functional, grad, init, modules, parallel, utils
from impl.nn.modules import *  # noqa: F403
from impl.nn.parallel import DataParallel
from impl.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from impl.nn.qualified_names import qualify

qualify(modules)

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "common_types",
    "functional",
    "grad",
    "init",
    "parallel",
    "utils",
]
