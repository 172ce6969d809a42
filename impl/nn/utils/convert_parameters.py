"""Conversion of parameters to one vector and back."""

from __future__ import annotations

from collections.abc import Iterable

from impl.core.registry import FUNCTIONS
from impl.tensor.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, concatenated and recorded."""
    return FUNCTIONS["cat"]([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters' data views of slices of the vector. TypeError unless given a tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {_type_name(vec)}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec.narrow(0, start, end - start).view_as(parameter).data
        start = end


def _type_name(value) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind}"
