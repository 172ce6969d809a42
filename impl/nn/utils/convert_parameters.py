"""Conversion of parameters to one vector and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from impl.core.registry import C
from impl.tensor.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, concatenated and recorded."""
    parts = []
    for parameter in parameters:
        _check_device(parameter)
        parts.append(parameter.view(-1))
    return C.cat(parts)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters' data views of slices of the vector. TypeError unless given a tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {_type_name(vec)}")
    whole: Any = vec
    start = 0
    for parameter in parameters:
        _check_device(parameter)
        end = start + parameter.numel()
        parameter.data = whole[start:end].view_as(parameter).data
        start = end


def _check_device(parameter: Tensor) -> None:
    """PyTorch asks that all parameters are on one device, as all are here."""
    _ = parameter.device.type


def _type_name(value) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind}"
