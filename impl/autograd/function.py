"""`torch.autograd.function`: custom Functions."""

from impl.core.registry import name_home
from impl.tape.custom_function import BackwardCFunction, Function, FunctionCtx, FunctionMeta
from impl.tape.once_differentiable import once_differentiable

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]


class InplaceFunction(Function):
    """A Function with an `inplace` flag, a base class from old versions of torch."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


name_home(globals())
