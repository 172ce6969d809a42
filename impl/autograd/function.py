"""`torch.autograd.function`."""

from impl.functions import (
    BackwardCFunction,
    Function,
    FunctionCtx,
    FunctionMeta,
)
from impl.once_differentiable import once_differentiable

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]


class InplaceFunction(Function):
    """A Function with a flag, which old programs derive theirs from."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
