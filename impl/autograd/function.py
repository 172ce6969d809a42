"""`torch.autograd.function`."""

from impl.functions import (
    BackwardCFunction,
    Function,
    FunctionCtx,
    FunctionMeta,
)
from impl.once_differentiable import once_differentiable

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "once_differentiable"]
