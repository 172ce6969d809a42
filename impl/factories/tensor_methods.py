"""Tensor methods that need the factories: formatting, NumPy's results, the legacy constructor."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import get_default_dtype
from impl.core.registry import method_of
from impl.core.state import STATE
from impl.factories.creation.from_data import from_numpy
from impl.factories.creation.legacy import legacy_constructor
from impl.factories.printing import text
from impl.tensor.batched_tensor import BatchedTensor, shown
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import of_class


@method_of(Tensor)
def __repr__(self, *, tensor_contents=None) -> str:
    if STATE.transforms or isinstance(self, BatchedTensor):
        return shown(self, text)
    return text(self, tensor_contents)


@method_of(Tensor)
def __format__(self, spec: str) -> str:
    if self._raw.ndim == 0 and not self.is_meta and type(self).__name__ == Tensor.__name__:
        return format(self.detach().item(), spec)
    return object.__format__(self, spec)


@method_of(Tensor)
def __array_wrap__(self, array) -> Tensor:
    """The result of a NumPy function on the tensor, as a tensor; bool becomes uint8.

    NumPy 2 passes more arguments, and warns of torch's method, which takes no more than these.
    """
    return from_numpy(array.astype(np.uint8) if array.dtype == np.bool_ else array)


def _new(cls, *args, **named) -> Tensor:
    """`Tensor(...)`: a tensor of the default dtype, of a class derived from Tensor."""
    return of_class(legacy_constructor(get_default_dtype(), *args, any_dtype=True, **named), cls)


Tensor.__new__ = _new  # type: ignore[method-assign, assignment]
