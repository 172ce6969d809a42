"""The reductions of losses: names, numbers, and two deprecated flags (`torch.nn._reduction`)."""

from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction) -> int:
    """ATen's number of a reduction. Raises ValueError for an unknown name."""
    if isinstance(reduction, str):
        if reduction in _NUMBERS:
            return _NUMBERS[reduction]
        if reduction == "elementwise_mean":
            warnings.warn(
                "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
                stacklevel=2,
            )
            return _NUMBERS["mean"]
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_get_string(size_average, reduce, emit_warning: bool = True) -> str:
    """The name of the reduction that the two flags stand for, by default with a warning."""
    averages = size_average is None or bool(size_average)
    name = "none"
    if reduce is None or reduce:
        name = "mean" if averages else "sum"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{name}' instead.",
            stacklevel=2,
        )
    return name


def string_of(reduction, size_average, reduce):
    """The reduction, which the two deprecated flags override."""
    if size_average is not None or reduce is not None:
        return legacy_get_string(size_average, reduce)
    return reduction


def number_of(reduction, size_average=None, reduce=None) -> int:
    """ATen's number of a reduction, which the two deprecated flags override."""
    return get_enum(string_of(reduction, size_average, reduce))
