"""`torch.nn.Parameter`: a leaf that requires grad."""

from __future__ import annotations

import numpy as np

from impl import inference
from impl.dtypes import FLOATING, get_default_dtype
from impl.operator import new
from impl.pending import Pending
from impl.tensor import PLAIN, Tensor, assume, blank


class Parameter(Tensor):
    """A detached alias of `data` that requires grad (torch.nn.Parameter).

    Raises RuntimeError for integers unless `requires_grad=False`.
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = new(np.empty(0, get_default_dtype().numpy))
        source = data.detach()
        if isinstance(source, Pending):
            raise NotImplementedError("a Parameter over memory that is conjugated when it is read")
        if requires_grad and source.dtype.category < FLOATING:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        if requires_grad:
            inference.check_flag(source)
        result = blank(cls)
        assume(result, source)
        result._requires_grad = bool(requires_grad)
        return result

    def __init__(self, data=None, requires_grad=True) -> None:
        pass

    def __deepcopy__(self, memo: dict) -> Parameter:
        """A parameter with a copy of the values; its gradient is not copied."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


PLAIN.add(Parameter)
