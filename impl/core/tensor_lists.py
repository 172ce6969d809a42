"""The check of lists of tensors (THPVariable's unpacking of a TensorList in C++)."""

from __future__ import annotations

from collections.abc import Iterable

from impl.core.tensor_impl import TensorBase


def require_tensors(values: Iterable, argument: int = 0) -> None:
    """Raise TypeError, in torch's words, for an element that is no tensor.

    `argument` is the place of the list among the arguments of the function in C++.
    """
    for i, value in enumerate(values):
        if not isinstance(value, TensorBase):
            raise TypeError(
                f"expected Tensor as element {i} in argument {argument}, but got "
                f"{type(value).__name__}"
            )
