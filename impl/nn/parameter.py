"""`torch.nn.Parameter`: a leaf that requires grad."""

from __future__ import annotations

import numpy as np

from impl.dtypes import FLOATING, get_default_dtype
from impl.operator import new
from impl.tensor import PLAIN, Tensor


class Parameter(Tensor):
    """A detached alias of `data` that requires grad (torch.nn.Parameter).

    Raises RuntimeError for integers unless `requires_grad=False`.
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = new(np.empty(0, get_default_dtype().numpy))
        source = data.detach()
        if requires_grad and source.dtype.category < FLOATING:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        result = Tensor.__new__(cls)
        for name, value in vars(source).items():
            setattr(result, name, value)
        result._requires_grad = bool(requires_grad)
        return result

    def __init__(self, data=None, requires_grad=True) -> None:
        pass

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


PLAIN.add(Parameter)
